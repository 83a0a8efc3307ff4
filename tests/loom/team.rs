//! How `tests/loom` reaches the real team, its sleepers and its caller lock.
//! Under loom only.
#![allow(missing_docs, reason = "not part of the library")]

use super::caller_lock::CallerLock;
use super::caller_state::CallerState;
use super::job::{OwnedJob, Region};
use super::park::Sleepers;
use super::team::Team;
use super::worker_state::WorkerState;
use crate::partition::Split;
use crate::policy::spin::SpinWindow;
use crate::policy::{Absence, Policies};
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
    /// Workers to a gate; one has its done epoch on the gate's own line.
    pub group: usize,
    pub wait: Wait,
    /// Looks that a fork takes: the grace of late owners follows it. 0: they
    /// are helped as soon as the caller's own slot is done.
    pub looks: u32,
    /// What each reading of a clock adds.
    pub tick: Duration,
    /// Whether workers go away once after each of their slots, and the width
    /// that regions are to have meanwhile, if another one.
    pub away: Option<Option<usize>>,
}

/// A real team whose threads are the model's.
#[derive(Clone, Debug)]
pub struct ModelTeam(Arc<Team>);

/// Calls the closure with the slot and the width.
struct Slots<F>(F);

// SAFETY: touches no data.
unsafe impl<F: Fn(usize, usize) + Sync> Region for Slots<F> {
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        (self.0)(slot, split.width);
    }
}

impl ModelTeam {
    pub fn new(setup: Setup) -> ModelTeam {
        let Setup { workers, group, wait, looks, tick, away } = setup;
        crate::sync::model::reset(tick);
        let window = SpinWindow::fixed(match wait {
            Wait::Spin => Duration::MAX,
            Wait::Park => Duration::ZERO,
        });
        let policies = Policies::ALL;
        let setup = super::team::Setup {
            workers,
            window,
            policies,
            weights: None,
            quota: None,
            plan: None,
        };
        let mut team = Team::with(setup, group, CallerState::with_looks(looks));
        team.absence = away.map(|width| Absence { time: Duration::ZERO, width });
        ModelTeam(Arc::new(team))
    }

    /// The life of worker `worker`.
    pub fn work(&self, worker: usize) {
        super::context::mark_worker(Arc::as_ptr(&self.0) as usize);
        self.0.work(worker);
    }

    /// A region of `width` slots, or of the active ones if that is `None`; a step
    /// inside of `steps`; false where the caller lock could not be had. `large`
    /// wakes sleepers.
    pub fn region(
        &self,
        width: impl Into<Option<usize>>,
        large: bool,
        f: impl Fn(usize, usize) + Sync,
    ) -> bool {
        let width = width.into().unwrap_or_else(|| self.0.active());
        let work = large.then_some(Duration::from_secs(1));
        let mut owned = OwnedJob::new(Slots(f));
        if width < 2 {
            (owned.region().0)(0, width);
            return true;
        }
        if self.0.between_steps() {
            // SAFETY: the region is borrowed until the call returns, and new.
            return unsafe { self.0.step(width, work, &owned.lend()) };
        }
        // SAFETY: as above.
        unsafe { self.0.region(width, work, &owned.lend()) }
    }

    /// Keeps the caller lock for the regions that `f` opens.
    pub fn steps<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.steps(f)
    }

    /// Workers that are not up, as far as the caller sees.
    pub fn asleep(&self) -> usize {
        self.0.sleepers.count()
    }

    /// Workers that sleep and have not been woken, as far as the caller sees.
    pub fn parked(&self) -> usize {
        self.0.workers.iter().filter(|worker| worker.parked()).count()
    }

    /// Slots that a region would have.
    pub fn active(&self) -> usize {
        self.0.active()
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
pub struct ModelSleepers {
    sleepers: Sleepers,
    workers: Box<[WorkerState]>,
}

impl ModelSleepers {
    pub fn new(workers: usize) -> ModelSleepers {
        crate::sync::model::reset(Duration::ZERO);
        ModelSleepers {
            sleepers: Sleepers::new(workers),
            workers: (0..workers).map(|_| WorkerState::new()).collect(),
        }
    }

    /// Worker `worker` starts, goes away and comes back if it is to, sleeps once
    /// unless `changed`, and passes the wake on if there was one. It stays up for
    /// wakes after number `since`; `None`: after those that it sees, as after a
    /// region.
    pub fn sleep_once(
        &self,
        worker: usize,
        away: bool,
        since: Option<u32>,
        changed: impl Fn() -> bool,
    ) {
        let state = &self.workers[worker];
        self.sleepers.arrive(state);
        if away {
            self.sleepers.go_away(state);
            self.sleepers.arrive(state);
        }
        let wakes = since.unwrap_or_else(|| self.sleepers.wakes());
        if self.sleepers.park(state, wakes, changed) {
            self.sleepers.pass_on(&self.workers);
        }
    }

    /// Wakes all of them.
    pub fn wake(&self) {
        self.sleepers.wake_up(&self.workers, self.workers.len());
    }

    /// Wakes one, after news.
    pub fn rouse(&self, worker: usize) {
        self.sleepers.rouse(&self.workers[worker]);
    }

    /// As `Team::stop`, after the news.
    pub fn wake_all(&self) {
        self.sleepers.wake_all(&self.workers);
    }

    /// How many are not up.
    pub fn count(&self) -> usize {
        self.sleepers.count()
    }
}

/// The caller lock by itself, with a number as its state.
#[derive(Debug)]
pub struct ModelLock {
    lock: CallerLock<u32>,
    blocked: bool,
}

impl ModelLock {
    /// `blocked`: who waits for long finds that no holder runs, and gives up.
    pub fn new(tick: Duration, blocked: bool) -> ModelLock {
        crate::sync::model::reset(tick);
        ModelLock { lock: CallerLock::new(0), blocked }
    }

    /// Takes the lock and runs `f` on its state; false if it could not be had.
    pub fn call(&self, f: impl FnOnce(&mut u32)) -> bool {
        match self.lock.acquire(|_| self.blocked) {
            Some(mut guard) => {
                guard.state(f);
                true
            }
            None => false,
        }
    }

    /// Keeps the lock for so many steps, each of which runs `f` on its state; how
    /// many could be had.
    pub fn steps(&self, steps: usize, f: impl Fn(&mut u32)) -> usize {
        let Some(guard) = self.lock.acquire(|_| self.blocked) else { return 0 };
        let scope = guard.begin_scope();
        let had = (0..steps).filter(|_| match self.lock.retake(scope, |_| self.blocked) {
            Some(mut guard) => {
                guard.state(&f);
                guard.keep(scope);
                true
            }
            None => false,
        });
        let had = had.count();
        self.lock.end_scope(scope);
        had
    }
}
