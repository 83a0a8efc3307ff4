//! What one worker shares with its callers, apart from the gate: the claim
//! word, the done epoch, and its state of sleep. Worker `i` owns slot `i + 1`.
//!
//! | state | meaning | next |
//! |---|---|---|
//! | `AWAKE` | looks at its gate, or runs a slot | `PARKED`, `AWAY` by itself |
//! | `PARKED` | sleeps, or is about to | `AWAY` by a waker or by itself |
//! | `AWAY` | woken, not started yet, or back in a moment; not seen to run so far | `AWAKE` by itself |

use super::failpoint::{planted, Fault};
use super::gate::{Epoch, Gate, Word};
use super::wait_word::WaitWord;
use crate::sync::{guess, AtomicBool, AtomicU32, AtomicU64, Line, Ordering};
use std::time::Duration;

const AWAKE: u32 = 0;
const PARKED: u32 = 1;
const AWAY: u32 = 2;

/// The lines of one worker.
#[derive(Debug)]
pub(super) struct WorkerState {
    /// The epoch of the last claim on the worker's slot. Touched by the worker,
    /// and by a caller that finds it late.
    claim: Line<AtomicU64>,
    done: Line<DoneLine>,
}

/// The line that the caller polls where the gate is shared; the state of sleep
/// changes rarely and costs the poller nothing.
#[derive(Debug)]
struct DoneLine {
    epoch: AtomicU64,
    sleep: WaitWord,
    /// The number of wakes when the worker prepared to park.
    wake_generation: AtomicU32,
    /// Whether a caller has waited long for a slot that the worker had begun.
    stalled: AtomicBool,
    /// The system's number of the thread; 0 until it has started.
    thread: AtomicU32,
}

// S34: no two of these words share a pair of lines, nor does a neighbour's.
const _: () = assert!(
    std::mem::offset_of!(WorkerState, done).abs_diff(std::mem::offset_of!(WorkerState, claim))
        >= 128
);
const _: () = assert!(align_of::<WorkerState>() >= 128 && size_of::<WorkerState>() >= 256);
const _: () = assert!(align_of::<Gate>() >= 128);

impl WorkerState {
    /// A worker that has not started.
    pub(super) fn new() -> Self {
        let blank = Word::BLANK.epoch().0;
        WorkerState {
            claim: Line::new(AtomicU64::new(blank)),
            done: Line::new(DoneLine {
                epoch: AtomicU64::new(blank),
                sleep: WaitWord::new(AWAY),
                wake_generation: AtomicU32::new(0),
                stalled: AtomicBool::new(false),
                thread: AtomicU32::new(0),
            }),
        }
    }

    /// W2, C6: claims the slot in region `epoch`; true for exactly one of its
    /// owner and a helping caller (I3). From an *older* epoch only: a worker that
    /// slept through `epoch` may find a later one here and must not take it back.
    #[inline(always)]
    pub(super) fn claim(&self, epoch: Epoch) -> bool {
        // Relaxed, all of them: the word gives atomicity only; the job comes
        // with the gate's Acquire, the rows go with the done epoch's Release.
        let mut held = Epoch(self.claim.load(Ordering::Relaxed));
        loop {
            let open =
                if planted(Fault::ClaimDifferent) { epoch != held } else { epoch.newer_than(held) };
            if !open {
                return false;
            }
            // The strong form: a spurious failure read as "the owner has it"
            // would wait for an owner that never comes.
            match self.claim.compare_exchange(held.0, epoch.0, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => held = Epoch(now),
            }
        }
    }

    /// Where the end of the slot is published if the worker shares its gate.
    #[inline(always)]
    pub(super) fn done(&self) -> &AtomicU64 {
        &self.done.epoch
    }

    /// Whether the slot of region `epoch` has been claimed. For a look from
    /// outside the region: any answer is good.
    pub(super) fn claimed(&self, epoch: Epoch) -> bool {
        // Relaxed: a look.
        guess(|| self.claim.load(Ordering::Relaxed)) == epoch.0
    }

    #[inline(always)]
    fn sleep_state(&self) -> u32 {
        // Relaxed: a guess; claiming the slot decides.
        guess(|| self.done.sleep.word.load(Ordering::Relaxed))
    }

    /// Whether the worker sleeps, wakes up, is away or has not started: it
    /// cannot claim its slot in the next microseconds.
    #[inline(always)]
    pub(super) fn away(&self) -> bool {
        self.sleep_state() != AWAKE
    }

    /// Whether the worker sleeps and nobody has woken it.
    pub(super) fn parked(&self) -> bool {
        self.sleep_state() == PARKED
    }

    /// Whether a caller has waited long for a slot that the worker had begun.
    #[inline(always)]
    pub(super) fn stalled(&self) -> bool {
        // Relaxed: a hint.
        guess(|| self.done.stalled.load(Ordering::Relaxed))
    }

    /// Says so, or takes it back.
    pub(super) fn set_stalled(&self, stalled: bool) {
        // Relaxed: as in `stalled`.
        self.done.stalled.store(stalled, Ordering::Relaxed);
    }

    /// The system's number of the worker's thread, if it has started.
    pub(super) fn thread(&self) -> u32 {
        // Relaxed: a number to ask the system with.
        self.done.thread.load(Ordering::Relaxed)
    }

    /// The calling thread is this worker.
    pub(super) fn set_thread(&self) {
        // Relaxed: as in `thread`.
        self.done.thread.store(crate::sys::thread_number(), Ordering::Relaxed);
    }

    /// The worker runs.
    pub(super) fn mark_awake(&self) {
        // Relaxed: a hint for `away`.
        self.done.sleep.word.store(AWAKE, Ordering::Relaxed);
    }

    /// The worker goes away for a moment, and comes back by itself.
    pub(super) fn mark_away(&self) {
        // Relaxed: as in `mark_awake`.
        self.done.sleep.word.store(AWAY, Ordering::Relaxed);
    }

    /// P1: the worker is about to sleep, after `wakes` wakes, and has to look
    /// once more.
    pub(super) fn prepare_park(&self, wakes: u32) {
        // Relaxed: a waker that reads an older one wakes in vain, once.
        self.done.wake_generation.store(wakes, Ordering::Relaxed);
        // Relaxed: the fence in `Sleepers::park` follows.
        self.done.sleep.word.store(PARKED, Ordering::Relaxed);
    }

    /// The number of wakes when the worker prepared to park last.
    pub(super) fn wake_generation(&self) -> u32 {
        // Relaxed: as in `prepare_park`.
        self.done.wake_generation.load(Ordering::Relaxed)
    }

    /// P8: ends the sleep, for the worker itself or a waker; true for one of them.
    pub(super) fn unpark(&self) -> bool {
        let sleep = &self.done.sleep.word;
        // Release, to the woken (here where it loses, or in `sleep`): the count
        // of wakes and the reach, by which it passes the wake on.
        sleep.load(Ordering::Acquire) == PARKED
            && sleep.compare_exchange(PARKED, AWAY, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// P4: sleeps until unparked.
    pub(super) fn sleep(&self) {
        // Acquire, from `unpark`.
        while self.done.sleep.word.load(Ordering::Acquire) == PARKED {
            self.done.sleep.wait_while(PARKED, None);
        }
    }

    /// The first part of a sleep; false if somebody ended it.
    pub(super) fn nap(&self, most: Duration) -> bool {
        self.done.sleep.wait_while(PARKED, Some(most));
        self.parked()
    }

    /// P8: wakes the thread after `unpark`.
    pub(super) fn notify(&self) {
        self.done.sleep.wake();
    }
}
