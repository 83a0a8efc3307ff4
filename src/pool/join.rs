//! The caller's side: publish, own slot, relieve the late, sweep, raise.

use super::gate::Epoch;
use super::job::{Head, Job};
use super::ledger::Ledger;
use super::nested::Inside;
use super::panics::{Bomb, Payload};
use super::slot::Slot;
use super::team::Team;
use super::turn::Guard;
use super::wait::Patience;
use crate::sync::Instant;
use std::time::Duration;

/// Empty regions of one measurement.
const SAMPLES: usize = 15;

/// How a region went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    /// Looks at the reports until all were in, within the grace.
    looks: u32,
    /// Whether every owner ran its own slot.
    quiet: bool,
}

impl Team {
    /// Runs the slots `0..width` of `job`, each once, on the caller and the
    /// owners of the slots; returns when all have ended. `hint` says how long
    /// all of it would take serially. False, with nothing run, where the turn
    /// cannot be had.
    ///
    /// # Safety
    /// What the job borrows lives until this returns, and none of its slots has
    /// been run.
    pub(crate) unsafe fn region(
        &self,
        width: usize,
        hint: Option<Duration>,
        job: &Job<'_>,
    ) -> bool {
        assert!(1 < width && width <= self.slots.len() + 1, "a region has slots for threads");
        self.prepare(width, job);
        let Some(turn) = self.turn.take() else {
            return false;
        };
        // SAFETY: the width was checked; the rest is the contract.
        unsafe { self.run(turn, width, hint, job) };
        true
    }

    /// # Safety
    /// `2 <= width <= slots.len() + 1`; the rest as for `region`.
    #[inline(always)]
    unsafe fn run(
        &self,
        mut turn: Guard<'_, Ledger>,
        width: usize,
        hint: Option<Duration>,
        job: &Job<'_>,
    ) {
        let inside = Inside::enter();
        let bomb = Bomb::armed("a region was left before its join");
        // SAFETY: we hold the turn; the rest is the contract.
        let payload = turn.state(|ledger| unsafe { self.course(width, hint, job, ledger) });
        bomb.defuse();
        drop(inside);
        // The turn is given before the panic goes on: the pool stays usable.
        drop(turn);
        if let Some(payload) = payload {
            std::panic::resume_unwind(payload);
        }
    }

    /// A region from its publication to the end of its join; what a slot raised.
    ///
    /// # Safety
    /// The caller holds the turn, whose state is the ledger, and the region
    /// before has been joined; the rest as for `run`.
    #[inline(always)]
    pub(super) unsafe fn course(
        &self,
        width: usize,
        hint: Option<Duration>,
        job: &Job<'_>,
        ledger: &mut Ledger,
    ) -> Option<Payload> {
        // SAFETY: we hold the turn, and each region is joined (below) before
        // this returns; the job is good by contract.
        let epoch = unsafe { self.publish(width, job) };
        // After the publication: what stands before it delays everybody.
        self.rival.opened();
        if self.asleep() && ledger.wake_is_due(hint) {
            self.wake_for(width, ledger);
        }
        let head = job.head();
        // SAFETY: the region is open; slot 0 is ours.
        self.panics.guard(|| unsafe { self.run_slot(head, 0, width) });
        if self.orphaned() {
            drop(Bomb::armed("a fork() child returned from inside a region"));
        }
        let course = self.join(epoch, width, head, ledger);
        // SAFETY: it was moved in by `publish`, and the region is joined.
        unsafe { self.home().leave(job) };
        if ledger.count() && course.quiet {
            self.calibrate(width, ledger);
        }
        if !self.panics.raised() {
            return None;
        }
        // SAFETY: we hold the turn and the region has been joined.
        unsafe { self.panics.take() }
    }

    /// Whether a worker that regions would use may sleep; a guess.
    #[inline(always)]
    fn asleep(&self) -> bool {
        // Those outside the active width always sleep.
        crate::sync::guess(|| self.sleepers.count()) + self.active() > self.slots.len() + 1
    }

    #[cold]
    fn wake_for(&self, width: usize, ledger: &mut Ledger) {
        let begun = Instant::now();
        if self.sleepers.wake_up(&self.slots, width - 1) {
            ledger.woke(begun.elapsed());
            self.sleepers.set_crowded(ledger.preempted());
        }
    }

    /// Ends the region: all slots have ended when this returns.
    #[inline(always)]
    fn join(&self, epoch: Epoch, width: usize, head: Head, ledger: &mut Ledger) -> Course {
        let mut from = self.sweep(epoch, 0, width);
        let mut looks = 0;
        let mut quiet = true;
        if from < width - 1 && self.asleep() {
            quiet &= !self.relieve(epoch, from..width - 1, head, ledger, Slot::away);
        }
        let grace = ledger.grace();
        let mut absent = false;
        while from < width - 1 {
            if looks == grace {
                absent = self.relieve(epoch, from..width - 1, head, ledger, |_| true);
                quiet &= !absent;
                self.wait(epoch, from, width);
                break;
            }
            self.pause.pause();
            looks += 1;
            from = self.sweep(epoch, from, width);
        }
        ledger.joined(absent, quiet);
        Course { looks, quiet }
    }

    /// Runs the slots of late owners for whom `late` holds; true if there was
    /// one. Nobody moves rows about: the caller keeps its promise to return.
    #[cold]
    fn relieve(
        &self,
        epoch: Epoch,
        workers: std::ops::Range<usize>,
        head: Head,
        ledger: &mut Ledger,
        late: impl Fn(&Slot) -> bool,
    ) -> bool {
        let mut begun = Instant::now();
        let mut relieved = false;
        let width = workers.end + 1;
        for worker in workers {
            let slot = &self.slots[worker];
            let asleep = slot.parked();
            if !late(slot) || !slot.take(epoch) {
                continue;
            }
            relieved = true;
            if !self.panics.raised() {
                // SAFETY: the region is not joined yet; the slot was taken above.
                self.panics.guard(|| unsafe { self.run_slot(head, worker + 1, width) });
                if self.orphaned() {
                    drop(Bomb::armed("a fork() child returned from inside a region"));
                }
            }
            // For the sweep. Relaxed: read back by this thread only; the owner,
            // who has not taken the slot, does not write it in this region.
            self.report(worker).store(epoch.0, crate::sync::Ordering::Relaxed);
            if asleep {
                let now = Instant::now();
                ledger.book(now - begun, now);
                begun = now;
                if ledger.owed() && worker + 2 < width {
                    self.wake_for(width, ledger);
                    begun = Instant::now();
                }
            }
        }
        relieved
    }

    /// Waits for owners that have begun.
    #[cold]
    fn wait(&self, epoch: Epoch, mut from: usize, width: usize) {
        let mut patience = Patience::new();
        loop {
            from = self.sweep(epoch, from, width);
            if from == width - 1 {
                return;
            }
            if patience.step() {
                self.slots[from].stall(true);
            }
        }
    }

    /// Measures the empty fork, by some that run while everybody is hot: the
    /// grace and the break-even of small regions follow it.
    #[cold]
    fn calibrate(&self, width: usize, ledger: &mut Ledger) {
        let mut times = [(Duration::ZERO, 0); SAMPLES];
        let job = Job::empty();
        for time in &mut times {
            let begun = Instant::now();
            // SAFETY: we hold the turn (the ledger is its state), the region
            // before was joined, and the empty job borrows nothing.
            let epoch = unsafe { self.publish(width, &job) };
            let course = self.join(epoch, width, job.head(), ledger);
            *time = (begun.elapsed(), course.looks);
            if !course.quiet {
                return;
            }
        }
        times.sort_unstable();
        let (fork, looks) = times[SAMPLES / 2];
        self.set_fork_ns(fork.as_nanos() as u64);
        ledger.measured(looks);
    }
}
