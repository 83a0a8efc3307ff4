//! The per-worker lines: the claim word, the report, and the state of sleep.

use super::fault::{planted, Fault};
use super::gate::{Epoch, Word};
use crate::sync::{guess, AtomicBool, AtomicU32, AtomicU64, Line, Ordering, WaitWord};

/// Awake: polls its gate, or runs a slot.
const AWAKE: u32 = 0;
/// Parked, or about to: counted among the sleepers.
const PARKED: u32 = 1;
/// Woken (or not started yet, or back in a moment), but not seen to run so far.
const WAKING: u32 = 2;

/// What one worker shares with its caller, apart from the gate.
#[derive(Debug)]
pub(super) struct Slot {
    /// The epoch of the slot's last taking. Touched by its owner, and by a
    /// caller that finds the owner late.
    claim: Line<AtomicU64>,
    back: Line<Back>,
}

/// The line that the caller polls where the gate is shared; the state of sleep
/// changes rarely and costs the poller nothing.
#[derive(Debug)]
struct Back {
    report: AtomicU64,
    sleep: WaitWord,
    /// The number of wakes when the owner lay down.
    wave: AtomicU32,
    /// Whether a caller has waited long for a slot that the owner had begun.
    stalled: AtomicBool,
}

// S34: no two of these words share a pair of lines, nor does a neighbour's.
const _: () =
    assert!(std::mem::offset_of!(Slot, back).abs_diff(std::mem::offset_of!(Slot, claim)) >= 128);
const _: () = assert!(std::mem::align_of::<Slot>() >= 128 && std::mem::size_of::<Slot>() >= 256);
const _: () = assert!(std::mem::align_of::<super::gate::Gate>() >= 128);

impl Slot {
    /// A slot whose owner has not started.
    pub(super) fn new() -> Self {
        let blank = Word::BLANK.epoch().0;
        Slot {
            claim: Line::new(AtomicU64::new(blank)),
            back: Line::new(Back {
                report: AtomicU64::new(blank),
                sleep: WaitWord::new(WAKING),
                wave: AtomicU32::new(0),
                stalled: AtomicBool::new(false),
            }),
        }
    }

    /// Takes this slot of region `epoch`: true for exactly one of the owner
    /// and a relieving caller. From an *older* epoch only: a worker that slept
    /// through `epoch` may find a later one here and must not take it back.
    #[inline(always)]
    pub(super) fn take(&self, epoch: Epoch) -> bool {
        // Relaxed, all of them: the word gives atomicity only; the job comes
        // with the gate's Acquire, the rows go with the report's Release.
        let mut held = Epoch(self.claim.load(Ordering::Relaxed));
        loop {
            let open =
                if planted(Fault::TakeDifferent) { epoch != held } else { epoch.newer_than(held) };
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

    /// Where the owner reports if it shares its gate.
    #[inline(always)]
    pub(super) fn report(&self) -> &AtomicU64 {
        &self.back.report
    }

    /// Whether the owner sleeps, wakes up or has not started: it cannot take
    /// its slot in the next microseconds.
    #[inline(always)]
    pub(super) fn away(&self) -> bool {
        // Relaxed: a guess; taking the slot decides.
        guess(|| self.back.sleep.word.load(Ordering::Relaxed)) != AWAKE
    }

    /// Whether the owner sleeps and nobody has woken it.
    pub(super) fn parked(&self) -> bool {
        // Relaxed: as in `away`.
        guess(|| self.back.sleep.word.load(Ordering::Relaxed)) == PARKED
    }

    /// Whether a caller has waited long for a slot that the owner had begun.
    #[inline(always)]
    pub(super) fn stalled(&self) -> bool {
        // Relaxed: a hint.
        guess(|| self.back.stalled.load(Ordering::Relaxed))
    }

    /// Says so, or takes it back.
    pub(super) fn stall(&self, stalled: bool) {
        // Relaxed: as in `stalled`.
        self.back.stalled.store(stalled, Ordering::Relaxed);
    }

    /// The owner runs.
    pub(super) fn arrive(&self) {
        // Relaxed: a hint for `away`.
        self.back.sleep.word.store(AWAKE, Ordering::Relaxed);
    }

    /// The owner gives its CPU away for a moment, and will come back by itself.
    pub(super) fn leave(&self) {
        // Relaxed: as in `arrive`.
        self.back.sleep.word.store(WAKING, Ordering::Relaxed);
    }

    /// The owner is about to sleep, after `wakes` wakes, and has to look once
    /// more.
    pub(super) fn lie_down(&self, wakes: u32) {
        // Relaxed: a waker that reads an older one wakes in vain, once.
        self.back.wave.store(wakes, Ordering::Relaxed);
        // Relaxed: the fence in `Sleepers::park` follows.
        self.back.sleep.word.store(PARKED, Ordering::Relaxed);
    }

    /// The number of wakes when the owner lay down last.
    pub(super) fn lay_down(&self) -> u32 {
        // Relaxed: as in `lie_down`.
        self.back.wave.load(Ordering::Relaxed)
    }

    /// Ends the sleep, for the owner itself or a waker; true for one of them.
    pub(super) fn rouse(&self) -> bool {
        let sleep = &self.back.sleep.word;
        // Release, to the woken (here where it loses, or in `sleep`): the count
        // of wakes and the reach, by which it passes the wake on.
        sleep.load(Ordering::Acquire) == PARKED
            && sleep.compare_exchange(PARKED, WAKING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sleeps until roused.
    pub(super) fn sleep(&self) {
        // Acquire, from `rouse`.
        while self.back.sleep.word.load(Ordering::Acquire) == PARKED {
            self.back.sleep.wait_while(PARKED);
        }
    }

    /// Rings for the owner after `rouse`.
    pub(super) fn ring(&self) {
        self.back.sleep.wake();
    }
}
