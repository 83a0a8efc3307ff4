//! What the callers and the workers of one pool share.

use super::duty::Duty;
use super::gate::{Epoch, Gate, MAX_WIDTH};
use super::job::{Head, Job};
use super::ledger::Ledger;
use super::panics::Panics;
use super::park::Sleepers;
use super::rivals::Rival;
use super::slot::Slot;
use super::turn::Turn;
use super::wait::{Pause, Window};
use crate::partition::{Split, Weights};
use crate::sync::{AtomicU64, AtomicUsize, Line, Ordering};

/// Up to this many workers each have a gate of their own and report on it;
/// more are served in groups, so that publishing stays cheap.
const OWN_GATES: usize = 8;
/// Workers that poll one gate, beyond that.
const GROUP: usize = 16;

/// One team of workers and everything they share with their callers.
#[derive(Debug)]
pub(crate) struct Team {
    gates: Box<[Gate]>,
    /// The gate that regions lie in: that of the worker, if there is one; else
    /// one that nobody polls, or they would fight for the line.
    home: usize,
    /// Workers per gate.
    group: usize,
    /// Worker `i` owns slot `i + 1`; slot 0 is the caller's.
    pub(super) slots: Box<[Slot]>,
    pub(super) sleepers: Sleepers,
    pub(super) panics: Panics,
    pub(super) turn: Turn<Ledger>,
    pub(super) rival: Rival,
    facts: Line<Facts>,
    /// Sizes of the slots where the CPUs differ.
    weights: Option<Weights>,
    /// Who works for a part of the time.
    pub(super) duty: Option<Duty>,
    /// How long a worker spins before it parks.
    pub(super) window: Window,
    /// How long everybody waits between two looks.
    pub(super) pause: Pause,
    /// The process that the threads live in.
    generation: u32,
}

/// Read by every region, written rarely.
#[derive(Debug)]
struct Facts {
    /// Slots that a region uses at most.
    active: AtomicUsize,
    /// Measured cost of an empty region in ns.
    fork_ns: AtomicU64,
}

/// Cost of a fork until it has been measured, in ns.
const FORK_NS: u64 = 300;

// SAFETY: only heads and homes of the gates are not `Sync` by themselves. They
// are written by the holder of the turn and read by workers that have taken a
// slot of that region (see `Gate`), and regions are `Sync`.
unsafe impl Sync for Team {}
// SAFETY: as above; nothing in a team belongs to a thread.
unsafe impl Send for Team {}

impl Team {
    pub(crate) fn new(workers: usize, window: Window) -> Self {
        assert!(workers < MAX_WIDTH, "checked by the builder");
        let group = if workers <= OWN_GATES { 1 } else { GROUP };
        Team::with(workers, window, group, Ledger::new())
    }

    /// A team with `group` workers to a gate.
    pub(super) fn with(workers: usize, window: Window, group: usize, ledger: Ledger) -> Self {
        let gates = workers.div_ceil(group);
        let home = if workers > 1 { gates } else { 0 };
        let team = Team {
            gates: (0..gates.max(home + 1)).map(|_| Gate::new()).collect(),
            home,
            group,
            slots: (0..workers).map(|_| Slot::new()).collect(),
            sleepers: Sleepers::new(workers),
            panics: Panics::new(),
            turn: Turn::new(ledger),
            rival: Rival::new(),
            facts: Line::new(Facts {
                active: AtomicUsize::new(1),
                fork_ns: AtomicU64::new(FORK_NS),
            }),
            weights: None,
            duty: None,
            window,
            pause: Pause::measured(),
            generation: crate::sys::fork_generation(),
        };
        team.set_active(workers + 1);
        team
    }

    /// Gives the slots their sizes, before the team is shared.
    ///
    /// # Panics
    /// If there is not one weight for each slot.
    pub(crate) fn with_weights(mut self, weights: Option<Weights>) -> Self {
        assert!(weights.as_ref().is_none_or(|weights| weights.slots() == self.slots.len() + 1));
        self.weights = weights;
        self
    }

    /// Lets one worker work for a part of the time, before the team is shared.
    pub(crate) fn with_duty(mut self, duty: Option<Duty>) -> Self {
        self.duty = duty;
        self
    }

    /// Who works for a part of the time.
    pub(crate) fn duty(&self) -> Option<Duty> {
        self.duty
    }

    /// Slots that a region uses at most: the caller and the active workers.
    #[inline(always)]
    pub(crate) fn active(&self) -> usize {
        // Relaxed: a setting; the width in the gate's word is what counts.
        self.facts.active.load(Ordering::Relaxed)
    }

    /// The same without who works for a part of the time.
    pub(crate) fn active_always(&self) -> usize {
        self.duty.map_or(self.active(), |duty| duty.without(self.active()))
    }

    /// Changes the number of slots, if nobody else has changed it.
    pub(super) fn change_active(&self, from: usize, to: usize) {
        // Relaxed: as in `active`.
        let order = Ordering::Relaxed;
        if self.facts.active.compare_exchange(from, to, order, order).is_ok() {
            self.rival.count(from - 1, to - 1);
        }
    }

    /// Sets the number of slots, at most those that exist.
    pub(crate) fn set_active(&self, width: usize) {
        let width = width.clamp(1, self.slots.len() + 1);
        // Relaxed: as in `active`.
        let before = self.facts.active.swap(width, Ordering::Relaxed);
        self.rival.count(before - 1, width - 1);
    }

    /// Measured cost of an empty region in ns.
    #[inline(always)]
    pub(crate) fn fork_ns(&self) -> u64 {
        // Relaxed: an estimate.
        self.facts.fork_ns.load(Ordering::Relaxed)
    }

    pub(super) fn set_fork_ns(&self, ns: u64) {
        // Relaxed: as in `fork_ns`.
        self.facts.fork_ns.store(ns, Ordering::Relaxed);
    }

    /// Whether this process is a `fork()` child of the pool's: it has none of
    /// the threads.
    #[inline(always)]
    pub(crate) fn orphaned(&self) -> bool {
        self.generation != crate::sys::fork_generation()
    }

    /// Whether a region was ever published.
    pub(crate) fn has_run(&self) -> bool {
        self.gates[0].last() != super::gate::Word::BLANK.epoch()
    }

    pub(super) fn gate(&self, worker: usize) -> &Gate {
        &self.gates[worker / self.group]
    }

    /// Whether a worker has its gate to itself, and reports there.
    #[inline(always)]
    pub(super) fn reports_on_gate(&self) -> bool {
        self.group == 1
    }

    /// Where worker `worker` reports the end of its slot.
    #[inline(always)]
    pub(super) fn report(&self, worker: usize) -> &AtomicU64 {
        if self.reports_on_gate() {
            &self.gates[worker].report
        } else {
            self.slots[worker].report()
        }
    }

    /// The gate that regions lie in.
    #[inline(always)]
    pub(super) fn home(&self) -> &Gate {
        &self.gates[self.home]
    }

    /// Those who serve a region of `width` slots.
    #[inline(always)]
    fn gates_of(&self, width: usize) -> &[Gate] {
        let workers = width - 1;
        &self.gates[..if self.group == 1 { workers } else { workers.div_ceil(self.group) }]
    }

    /// Starts fetching what `publish` will write.
    #[inline(always)]
    pub(super) fn prepare(&self, width: usize, job: &Job<'_>) {
        self.gates_of(width).iter().for_each(Gate::prepare);
        if self.home != 0 {
            self.home().prepare();
        }
        if job.is_large() {
            self.home().prepare_second();
        }
    }

    /// Starts fetching what a worker will read of the next region.
    #[inline(always)]
    pub(super) fn expect(&self) {
        if self.home == 0 {
            self.home().expect_second();
        } else {
            self.home().expect();
        }
    }

    /// Opens a region of `width` slots; the only store that workers poll.
    ///
    /// # Safety
    /// The caller holds the turn, `2 <= width <= slots.len() + 1`, the region
    /// before has been joined, and what the job borrows lives until this one is.
    #[inline(always)]
    pub(super) unsafe fn publish(&self, width: usize, job: &Job<'_>) -> Epoch {
        let epoch = self.gates[0].last().next();
        // SAFETY: the turn is ours (contract), and after the join of the region
        // before no slot is taken and unreported.
        unsafe { self.home().settle(job) };
        for gate in self.gates_of(width) {
            // SAFETY: as above.
            unsafe { gate.publish(epoch, width, job.head()) };
        }
        epoch
    }

    /// Runs slot `slot` of the region that is open.
    ///
    /// # Safety
    /// The calling thread has taken that slot of the region of `head`, which is
    /// not joined yet, `width` wide.
    #[inline(always)]
    pub(super) unsafe fn run_slot(&self, head: Head, slot: usize, width: usize) {
        let split = Split { width, weights: self.weights.as_ref() };
        // SAFETY: the region stays in its home until it is joined.
        self.home().home(|home| unsafe { head.run(home, slot, split) });
    }

    /// Reads the reports of workers `from..width - 1` in one pass, so that the
    /// misses overlap; gives the first that is missing.
    #[inline(always)]
    pub(super) fn sweep(&self, epoch: Epoch, from: usize, width: usize) -> usize {
        let mut first = width - 1;
        for worker in (from..width - 1).rev() {
            // Acquire, from `finish`: the rows of that slot, and that its
            // owner has left the job.
            if self.report(worker).load(Ordering::Acquire) != epoch.0 {
                first = worker;
            }
        }
        first
    }

    /// Hint: nothing is coming, park now.
    pub(crate) fn rest(&self) {
        self.gates.iter().for_each(Gate::rest);
    }

    /// Hint: work is coming, be up and spinning.
    pub(crate) fn wake(&self) {
        self.gates.iter().for_each(Gate::stir);
        self.sleepers.wake_up(&self.slots, self.active() - 1);
    }

    /// Sends the workers home; the threads end soon after.
    pub(crate) fn stop(&self) {
        self.set_active(1);
        self.gates.iter().for_each(Gate::stop);
        self.sleepers.wake_all(&self.slots);
    }
}
