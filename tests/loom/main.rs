//! The fork protocol under loom: the real team, its sleepers and its caller lock, in
//! every interleaving up to a number of preemptions, under the C11 memory
//! model. Steps (C1 .. W5) and invariants (I1 ..) are those of PROTOCOL.md.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom` runs the models;
//! `ROWPOOL_FAULT=<name>` plants a fault (`src/pool/failpoint.rs`), which at least
//! one of them must find; the first that does ends the process.
//! `LOOM_MAX_PREEMPTIONS` caps every bound, `LOOM_MORE_PREEMPTIONS` adds to it.
#![cfg(loom)]

mod away;
mod callers;
mod regions;
mod sleep;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use rowpool::model::{pause, resume, ModelLock, ModelSleepers, ModelTeam, Setup, Wait};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Explores `model` with at most so many preemptions; `None`: all of them.
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let more = std::env::var("LOOM_MORE_PREEMPTIONS").map_or(0, |n| n.parse().unwrap());
    let mut builder = loom::model::Builder::new();
    let bounds = [builder.preemption_bound, preemptions.map(|most| most + more)];
    builder.preemption_bound = bounds.into_iter().flatten().min();
    builder.max_branches = 10_000;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (count, begun) = (Arc::clone(&runs), Instant::now());
    let bound = builder.preemption_bound.map_or("all".to_owned(), |most| format!("up to {most}"));
    let check = || {
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            model();
        });
    };
    let outcome = catch_unwind(AssertUnwindSafe(check));
    println!("{} runs, {bound} preemptions, {:.1?}", runs.load(Ordering::Relaxed), begun.elapsed());
    if let Err(found) = outcome {
        if let Ok(fault) = std::env::var("ROWPOOL_FAULT") {
            eprintln!("{fault} is found by {}", std::thread::current().name().unwrap_or("a model"));
            std::process::exit(101);
        }
        resume_unwind(found);
    }
}

/// A value whose every access is checked for races.
struct Watched<T>(UnsafeCell<T>);

// SAFETY: loom fails the model where two accesses race.
unsafe impl<T> Sync for Watched<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Watched<T> {}

impl<T: Copy> Watched<T> {
    fn new(value: T) -> Self {
        Watched(UnsafeCell::new(value))
    }
    fn get(&self) -> T {
        // SAFETY: loom checks.
        self.0.with(|value| unsafe { *value })
    }
    fn set(&self, value: T) {
        // SAFETY: loom checks.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }
}

/// What the slots write: one row each, the number of regions that it saw.
#[derive(Clone)]
struct Rows(Arc<[Watched<usize>]>);

impl Rows {
    fn new(slots: usize) -> Self {
        Rows((0..slots).map(|_| Watched::new(0)).collect())
    }

    fn bump(&self, slot: usize) {
        self.0[slot].set(self.0[slot].get() + 1);
    }

    fn seen(&self) -> Vec<usize> {
        self.0.iter().map(Watched::get).collect()
    }

    /// Opens a region whose slots bump their rows; false if it got no turn.
    fn region(&self, team: &ModelTeam, width: usize, large: bool) -> bool {
        let frame = Watched::new(width);
        let opened = team.region(width, large, |slot, of| {
            assert_eq!(of, frame.get(), "a dead frame was read");
            assert!(slot < of, "slot {slot} of {of}");
            self.bump(slot);
        });
        // I2: no worker looks at the frame any more.
        frame.set(0);
        opened
    }

    /// One region after another: each slot of each runs once (I3).
    fn regions(&self, team: &ModelTeam, widths: &[usize], large: bool) {
        let mut expected = self.seen();
        for &width in widths {
            expected[..width].iter_mut().for_each(|row| *row += 1);
            assert!(self.region(team, width, large));
            assert_eq!(self.seen(), expected);
        }
    }
}

const ZERO: Duration = Duration::ZERO;
const PARKING: Setup =
    Setup { workers: 1, group: 1, wait: Wait::Park, looks: 0, tick: ZERO, away: None };
const SPINNING: Setup = Setup { wait: Wait::Spin, ..PARKING };

/// Two workers that share a gate where `PARKING` ones have one each.
const fn shared(setup: Setup) -> Setup {
    Setup { group: 2, ..setup }
}

const fn two(setup: Setup) -> Setup {
    Setup { workers: 2, ..setup }
}

/// What of a team's life is explored besides the body of a model.
#[derive(Clone, Copy, PartialEq)]
enum Life {
    /// Nothing: the workers spin or are parked when the body begins.
    Body,
    /// Its start: no worker has run when the body begins.
    Start,
    /// Its end.
    End,
    /// All of it.
    Whole,
}

/// A team whose threads run while `body` does, and end.
fn with_team(setup: Setup, life: Life, body: impl FnOnce(&ModelTeam)) {
    let team = ModelTeam::new(setup);
    let work = |worker| {
        let team = team.clone();
        thread::spawn(move || team.work(worker))
    };
    pause();
    let workers: Vec<_> = (0..setup.workers).map(work).collect();
    if matches!(life, Life::Body | Life::End) {
        let asleep = if setup.wait == Wait::Park { setup.workers } else { 0 };
        while team.parked() != asleep || team.asleep() != asleep {
            thread::yield_now();
        }
    }
    resume();
    body(&team);
    let end_is_explored = matches!(life, Life::End | Life::Whole);
    if !end_is_explored {
        pause();
    }
    team.stop();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

/// Regions of `widths` on a team.
fn regions(preemptions: Option<usize>, setup: Setup, life: Life, widths: &'static [usize]) {
    explore(preemptions, move || {
        with_team(setup, life, |team| {
            Rows::new(setup.workers + 1).regions(team, widths, false);
        });
    });
}

/// Raises the slot's number, without the hook's message.
fn panic_in(slot: usize) {
    resume_unwind(Box::new(slot));
}
