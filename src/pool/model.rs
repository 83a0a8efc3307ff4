//! The door through which `tests/loom` reaches the real team, its sleepers
//! and its turn. Under loom only.
#![allow(missing_docs, reason = "not part of the library")]

use super::job::{Parcel, Region};
use super::ledger::Ledger;
use super::park::Sleepers;
use super::slot::Slot;
use super::team::Team;
use super::turn::Turn;
use super::wait::Window;
use crate::partition::Split;
pub use crate::sync::model::{pause, resume};
use std::sync::Arc;
use std::time::Duration;

/// How workers wait for the next region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// For ever, looking.
    Spin,
    /// Parked after the first look that finds nothing.
    Park,
}

/// What a model is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub workers: usize,
    /// Workers to a gate; one reports on the gate's own line.
    pub group: usize,
    pub wait: Wait,
    /// Looks that a fork takes: the grace of late owners follows it. 0: they
    /// are relieved as soon as the caller's own slot is done.
    pub looks: u32,
    /// What each reading of a clock adds.
    pub tick: Duration,
}

/// A real team whose threads are the model's.
#[derive(Clone, Debug)]
pub struct Crew(Arc<Team>);

/// Calls the closure with the slot and the width.
struct Slots<F>(F);

// SAFETY: touches no data.
unsafe impl<F: Fn(usize, usize) + Sync> Region for Slots<F> {
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        (self.0)(slot, split.width);
    }
}

impl Crew {
    pub fn new(setup: Setup) -> Crew {
        let Setup { workers, group, wait, looks, tick } = setup;
        crate::sync::model::reset(tick);
        let window = match wait {
            Wait::Spin => Window::fixed(Duration::MAX),
            Wait::Park => Window::fixed(Duration::ZERO),
        };
        Crew(Arc::new(Team::with(workers, window, group, Ledger::with_looks(looks))))
    }

    /// The life of worker `worker`.
    pub fn work(&self, worker: usize) {
        super::nested::mark_worker(Arc::as_ptr(&self.0) as usize);
        self.0.work(worker);
    }

    /// A region, or a step inside of `steps`; false where the turn could not be
    /// had. `large` wakes sleepers.
    pub fn region(&self, width: usize, large: bool, f: impl Fn(usize, usize) + Sync) -> bool {
        let hint = large.then_some(Duration::from_secs(1));
        let mut parcel = Parcel::new(Slots(f));
        if self.0.between_steps() {
            // SAFETY: the region is borrowed until the call returns, and new.
            unsafe { self.0.step(width, hint, &parcel.job()) };
            return true;
        }
        // SAFETY: as above.
        unsafe { self.0.region(width, hint, &parcel.job()) }
    }

    /// Keeps the turn for the regions that `f` opens.
    pub fn steps<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.steps(f)
    }

    /// Workers that are not up, as far as the caller sees.
    pub fn asleep(&self) -> usize {
        self.0.sleepers.count()
    }

    /// Workers that sleep and have not been woken, as far as the caller sees.
    pub fn parked(&self) -> usize {
        self.0.slots.iter().filter(|slot| slot.parked()).count()
    }

    pub fn wake(&self) {
        self.0.wake();
    }

    pub fn rest(&self) {
        self.0.rest();
    }

    pub fn stop(&self) {
        self.0.stop();
    }
}

/// The sleepers of a team without its regions.
#[derive(Debug)]
pub struct Dormitory {
    sleepers: Sleepers,
    slots: Box<[Slot]>,
}

impl Dormitory {
    pub fn new(workers: usize) -> Dormitory {
        crate::sync::model::reset(Duration::ZERO);
        Dormitory {
            sleepers: Sleepers::new(workers),
            slots: (0..workers).map(|_| Slot::new()).collect(),
        }
    }

    /// Worker `worker` starts, sleeps once unless `changed`, and passes the
    /// wake on if there was one. It stays up for wakes after number `since`;
    /// `None`: after those that it sees, as after a region.
    pub fn night(&self, worker: usize, since: Option<u32>, changed: impl Fn() -> bool) {
        let slot = &self.slots[worker];
        self.sleepers.arrive(slot);
        let wakes = since.unwrap_or_else(|| self.sleepers.wakes());
        if self.sleepers.park(slot, wakes, changed) {
            self.sleepers.pass_on(&self.slots);
        }
    }

    /// Wakes all of them.
    pub fn wake(&self) {
        self.sleepers.wake_up(&self.slots, self.slots.len());
    }

    /// As `Team::stop`, after the news.
    pub fn wake_all(&self) {
        self.sleepers.wake_all(&self.slots);
    }
}

/// The turn by itself, with a number as its state.
#[derive(Debug)]
pub struct Callers(Turn<u32>);

impl Callers {
    pub fn new(tick: Duration) -> Callers {
        crate::sync::model::reset(tick);
        Callers(Turn::new(0))
    }

    /// Takes the turn and runs `f` on its state; false if the turn could not
    /// be had.
    pub fn call(&self, f: impl FnOnce(&mut u32)) -> bool {
        match self.0.take() {
            Some(mut turn) => {
                turn.state(f);
                true
            }
            None => false,
        }
    }
}
