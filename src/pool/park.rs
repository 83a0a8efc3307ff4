//! Sleeping and waking with no lost wake-up and no timer; and the one way in
//! which a worker goes away and comes back by itself.
//!
//! A worker goes to sleep in four steps: P1 it marks its state `PARKED` and
//! counts itself, P2 fence, P3 it looks at its gate and at the count of wakes
//! once more, P4 it sleeps while its state is `PARKED`. A waker P5 has published
//! or counted a wake, P6 fence, P7 reads the count of sleepers, P8 turns `PARKED`
//! into `AWAY` and notifies. Of two threads that pass a SeqCst fence each, at
//! least one sees what the other did before its own: no wake is lost. A region
//! that meets a worker between P1 and P4 helps it like any late owner, so only
//! wakes need the fence, regions on a hot pool do not.

use super::failpoint::{planted, Fault};
use super::worker_state::WorkerState;
use crate::sync::{fence, AtomicU32, AtomicUsize, Line, Ordering};

/// How many sleepers one woken worker wakes in turn.
const PASS_ON: usize = 2;

/// Who sleeps in one pool.
#[derive(Debug)]
pub(super) struct Sleepers {
    state: Line<State>,
}

#[derive(Debug)]
struct State {
    /// Workers that are not up: from P1, `go_away` or their creation until they
    /// run again. Who is woken already is told apart by its state and not
    /// notified twice, or each region until it runs would pay a system call.
    count: AtomicUsize,
    /// Calls of `wake_up`, wrapping: what a worker that is about to park compares.
    wakes: AtomicU32,
    /// Workers `0..reach` are to be woken, for those who pass the wake on.
    reach: AtomicUsize,
}

impl Sleepers {
    /// `workers` that have not started.
    pub(super) fn new(workers: usize) -> Self {
        Sleepers {
            state: Line::new(State {
                count: AtomicUsize::new(workers),
                wakes: AtomicU32::new(0),
                reach: AtomicUsize::new(0),
            }),
        }
    }

    /// How many are not up; may be stale.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        // Relaxed: a hint on the hot path; `wake_up` fences before it counts.
        self.state.count.load(Ordering::Relaxed)
    }

    /// The number of wakes so far, to compare in `park`.
    pub(super) fn wakes(&self) -> u32 {
        // Acquire, from P5: who counts a wake sees its news, and prepares to park
        // as one whom that wake need not reach.
        self.state.wakes.load(Ordering::Acquire)
    }

    /// Sleeps, unless `changed` says that there is news or a wake came since
    /// `wakes` were counted. True if somebody else ended the sleep: then the
    /// wake must be passed on.
    pub(super) fn park(
        &self,
        worker: &WorkerState,
        wakes: u32,
        changed: impl Fn() -> bool,
    ) -> bool {
        // P1.
        worker.prepare_park(wakes);
        // Relaxed: the fence follows.
        self.state.count.fetch_add(1, Ordering::Relaxed);
        if !planted(Fault::NoSleepFence) {
            // P2. SeqCst: pairs with P6 (store buffering).
            fence(Ordering::SeqCst);
        }
        // P3.
        let woken = if changed() || self.wakes() != wakes {
            !worker.unpark()
        } else {
            worker.sleep();
            true
        };
        self.arrive(worker);
        woken
    }

    /// W6: a worker goes away; until `arrive` the caller runs its slots at once,
    /// and nobody wakes it.
    pub(super) fn go_away(&self, worker: &WorkerState) {
        worker.mark_away();
        if !planted(Fault::AwayUncounted) {
            // Relaxed: a count.
            self.state.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// W7: a worker is up: it starts, is back, or its sleep is over.
    pub(super) fn arrive(&self, worker: &WorkerState) {
        worker.mark_awake();
        // Relaxed: a count.
        self.state.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes one of workers `0..reach`, who wakes two more, and so on; who is
    /// about to park stays up. True if one was there to be woken.
    pub(super) fn wake_up(&self, workers: &[WorkerState], reach: usize) -> bool {
        // P5. Release, to `wakes`: the news of this wake.
        let generation = self.state.wakes.fetch_add(1, Ordering::Release).wrapping_add(1);
        if !planted(Fault::NoWakeFence) {
            // P6. SeqCst: pairs with P2.
            fence(Ordering::SeqCst);
        }
        // P7.
        if self.count() == 0 {
            return false;
        }
        // Relaxed: a worker that misses it wakes by an older reach; who is
        // left asleep then is helped, and woken by the next wake.
        self.state.reach.store(reach, Ordering::Relaxed);
        self.unpark(workers, reach, generation, 1)
    }

    /// P9: what a woken worker owes to others.
    pub(super) fn pass_on(&self, workers: &[WorkerState]) {
        if self.count() != 0 && !planted(Fault::WakeNotPassedOn) {
            // Relaxed: as in `wake_up`.
            let reach = self.state.reach.load(Ordering::Relaxed);
            self.unpark(workers, reach.min(workers.len()), self.wakes(), PASS_ON);
        }
    }

    /// Wakes this worker, after news that it looks for in P3.
    pub(super) fn rouse(&self, worker: &WorkerState) {
        if !planted(Fault::NoWakeFence) {
            // P6. SeqCst: pairs with P2.
            fence(Ordering::SeqCst);
        }
        // P8.
        if worker.unpark() {
            worker.notify();
        }
    }

    /// Wakes everybody, by the caller itself: the pool ends, so that nobody parks any
    /// more, and nobody is spared.
    pub(super) fn wake_all(&self, workers: &[WorkerState]) {
        workers.iter().for_each(|worker| self.rouse(worker));
    }

    /// P8: wakes at most `most` of those who prepared to park before wake
    /// `generation`: who has been up since and parks again is left alone, or
    /// woken workers without work would wake each other for ever.
    fn unpark(&self, workers: &[WorkerState], reach: usize, generation: u32, most: usize) -> bool {
        let mut left = most;
        for worker in &workers[..reach] {
            if left == 0 {
                break;
            }
            if planted(Fault::WakeInPlace) {
                worker.notify();
            } else if worker.wake_generation() != generation && worker.unpark() {
                worker.notify();
                left -= 1;
            }
        }
        left < most
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_park.rs"]
mod tests;
