//! The caller's side of a region, C1 to C8: publish, own slot, help the late,
//! sweep, raise.

use super::backoff::JoinBackoff;
use super::caller_lock::CallerGuard;
use super::caller_state::CallerState;
use super::context::Inside;
use super::gate::Epoch;
use super::job::{ErasedJob, JobHeader};
use super::panics::{abort, AbortOnDrop, Payload};
use super::team::Team;
use super::worker_state::WorkerState;
use crate::policy::Policy;
use crate::sync::Instant;
use std::time::Duration;

/// Empty regions of one measurement.
const SAMPLES: usize = 15;
/// How a join went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JoinStats {
    /// Looks at the done epochs until all were in, within the grace.
    looks: u32,
    /// Whether every owner ran its own slot.
    quiet: bool,
}

impl Team {
    /// Runs the slots `0..width` of `job`, each once, on the caller and the
    /// owners of the slots; returns when all have ended. `work` says how long
    /// all of it would take serially. False, with nothing run, where the caller
    /// lock cannot be had.
    ///
    /// # Safety
    /// What the job borrows lives until this returns, and none of its slots has
    /// been run.
    pub(crate) unsafe fn region(
        &self,
        width: usize,
        work: Option<Duration>,
        job: &ErasedJob<'_>,
    ) -> bool {
        assert!(1 < width && width <= self.workers.len() + 1, "a region has slots for threads");
        // I5: from here to the join nothing allocates, blocks or calls the system
        // while everybody is hot.
        self.prepare(width, job);
        // C1.
        let Some(guard) = self.caller_lock.acquire(|holder| self.blocked(holder)) else {
            return false;
        };
        // SAFETY: the width was checked; the rest is the contract.
        unsafe { self.run_region(guard, width, work, job, drop) };
        true
    }

    /// A region from its publication to the end of its join, after which `give`
    /// gets the caller lock; raises what a slot raised.
    ///
    /// # Safety
    /// `2 <= width <= workers.len() + 1`; the rest as for `region`.
    #[inline(always)]
    pub(super) unsafe fn run_region<'a>(
        &'a self,
        mut guard: CallerGuard<'a, CallerState>,
        width: usize,
        work: Option<Duration>,
        job: &ErasedJob<'_>,
        give: impl FnOnce(CallerGuard<'a, CallerState>),
    ) {
        let inside = Inside::enter();
        let armed = AbortOnDrop::armed("a region was left before its join");
        // SAFETY: we hold the lock; the rest is the contract.
        let payload = guard.state(|caller| unsafe { self.fork_and_join(width, work, job, caller) });
        armed.disarm();
        drop(inside);
        // C7. The lock is given before the panic goes on: the pool stays usable.
        give(guard);
        if let Some(payload) = payload {
            std::panic::resume_unwind(payload);
        }
    }

    /// # Safety
    /// The caller holds the caller lock, whose state is `caller`, and the region
    /// before has been joined; the rest as for `run_region`.
    #[inline(always)]
    unsafe fn fork_and_join(
        &self,
        width: usize,
        work: Option<Duration>,
        job: &ErasedJob<'_>,
        caller: &mut CallerState,
    ) -> Option<Payload> {
        // C2.
        // SAFETY: we hold the lock, and each region is joined (below) before
        // this returns; the job is good by contract.
        let epoch = unsafe { self.publish(width, job) };
        self.others.opened();
        self.caller_lock.name_holder(self.process.thread_number());
        // C3. After the publication: what stands before it delays everybody.
        if self.asleep() && caller.wake.is_due(work, Instant::now()) {
            self.wake_for(width, caller);
        }
        let header = job.header();
        // C4.
        // SAFETY: the region is open; slot 0 is ours (I3).
        unsafe { self.run_caught(header, 0, width) };
        let stats = self.join(epoch, width, header, caller);
        // C7.
        // SAFETY: it was stored by `publish`, and the region is joined (I2).
        unsafe { self.buffer().take_back(job) };
        if caller.count() && stats.quiet {
            self.calibrate(width, caller);
        }
        if !self.panics.raised() {
            return None;
        }
        // SAFETY: we hold the lock and the region has been joined.
        unsafe { self.panics.take() }
    }

    /// Runs a slot and keeps its panic (I7).
    ///
    /// # Safety
    /// As for [`run_slot`](Self::run_slot).
    #[inline(always)]
    pub(super) unsafe fn run_caught(&self, header: JobHeader, slot: usize, width: usize) {
        // SAFETY: the contract.
        self.panics.guard(|| unsafe { self.run_slot(header, slot, width) });
        if self.orphaned() {
            abort("a fork() child returned from inside a region");
        }
    }

    /// Whether a worker that regions would use may sleep; a guess.
    #[inline(always)]
    fn asleep(&self) -> bool {
        // Those outside the active width always sleep.
        crate::sync::guess(|| self.sleepers.count()) + self.active() > self.workers.len() + 1
    }

    #[cold]
    fn wake_for(&self, width: usize, caller: &mut CallerState) {
        let begun = Instant::now();
        self.caller_cpu().note();
        if self.sleepers.wake_up(&self.workers, width - 1) {
            caller.wake.woke(begun.elapsed());
        }
    }

    /// C5, C6: all slots have ended when this returns (I4).
    #[inline(always)]
    fn join(
        &self,
        epoch: Epoch,
        width: usize,
        header: JobHeader,
        caller: &mut CallerState,
    ) -> JoinStats {
        let mut from = self.sweep(epoch, 0, width);
        let mut looks = 0;
        let mut quiet = true;
        if from < width - 1 && self.asleep() {
            quiet &= !self.help(epoch, from..width - 1, header, caller, WorkerState::away);
        }
        let grace = caller.grace();
        caller.absent = false;
        while from < width - 1 {
            if looks == grace {
                // Who is up and has not come may be on this CPU.
                self.caller_cpu().note();
                caller.absent = self.help(epoch, from..width - 1, header, caller, |_| true);
                quiet &= !caller.absent;
                self.wait(epoch, from, width, caller);
                break;
            }
            self.relax.relax();
            looks += 1;
            from = self.sweep(epoch, from, width);
        }
        JoinStats { looks, quiet }
    }

    /// C6: claims and runs the slots of late owners for whom `late` holds; true
    /// if there was one. Rows do not move: the caller keeps its promise to return.
    #[cold]
    fn help(
        &self,
        epoch: Epoch,
        workers: std::ops::Range<usize>,
        header: JobHeader,
        caller: &mut CallerState,
        late: impl Fn(&WorkerState) -> bool,
    ) -> bool {
        let mut begun = Instant::now();
        let mut helped = false;
        let width = workers.end + 1;
        for worker in workers {
            let state = &self.workers[worker];
            let asleep = state.parked();
            if !late(state) || !state.claim(epoch) {
                continue;
            }
            helped = true;
            if !self.panics.raised() {
                // I8: after slot 0, which therefore may not wait for it.
                // SAFETY: the region is not joined yet; the slot was claimed above.
                unsafe { self.run_caught(header, worker + 1, width) };
            }
            // For the sweep. Relaxed: read back by this thread only; the owner,
            // who has not claimed the slot, does not write it in this region.
            self.done(worker).store(epoch.0, crate::sync::Ordering::Relaxed);
            if asleep {
                let now = Instant::now();
                caller.wake.book(now.saturating_duration_since(begun), now);
                begun = now;
                if caller.wake.owes() && worker + 2 < width {
                    self.wake_for(width, caller);
                    begun = Instant::now();
                }
            }
        }
        helped
    }

    /// C5: waits for owners that have begun.
    #[cold]
    fn wait(&self, epoch: Epoch, mut from: usize, width: usize, caller: &mut CallerState) {
        let mut backoff = JoinBackoff::new();
        loop {
            from = self.sweep(epoch, from, width);
            if from == width - 1 {
                return;
            }
            if backoff.step() {
                self.caller_cpu().note();
                self.workers[from].set_stalled(true);
                self.observe_own_cpu(caller);
            }
        }
    }

    /// Whether the calling thread, which waits for a stalled slot, lacks a CPU
    /// too: workers want to know.
    #[cold]
    fn observe_own_cpu(&self, caller: &mut CallerState) {
        if !self.policies.has(Policy::Timeslice) {
            return;
        }
        let thread = crate::sync::context::id();
        let delay = crate::sys::run_delay();
        let lacks = delay.and_then(|delay| caller.lacks_cpu(thread, Instant::now(), delay));
        lacks.into_iter().for_each(|lacks| self.caller_cpu().set_shared(lacks));
    }

    /// C8: now and then measures the empty fork, by some that run while everybody
    /// is hot: the grace and the break-even of small regions follow it.
    #[cold]
    fn calibrate(&self, width: usize, caller: &mut CallerState) {
        let mut times = [(Duration::ZERO, 0); SAMPLES];
        let job = ErasedJob::empty();
        for time in &mut times {
            let begun = Instant::now();
            // SAFETY: we hold the lock (`caller` is its state), the region
            // before was joined, and the empty job borrows nothing.
            let epoch = unsafe { self.publish(width, &job) };
            let stats = self.join(epoch, width, job.header(), caller);
            *time = (begun.elapsed(), stats.looks);
            if !stats.quiet {
                return;
            }
        }
        times.sort_unstable();
        let (fork, looks) = times[SAMPLES / 2];
        self.set_fork_ns(fork.as_nanos() as u64);
        caller.measured(looks);
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_join.rs"]
mod tests;
