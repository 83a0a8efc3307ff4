//! Scheduler slices: how a worker whose CPU is shared keeps from being
//! preempted inside a slot, where nobody could take its rows.
//!
//! A slot that is preempted stalls its region until the scheduler comes round,
//! one slice of some ms later: the pool then runs at twice the serial speed for
//! a slice and not at all for the next. So a worker that this has happened to
//! gives the CPU away by itself, between two slots, before its slice is over.
//! Meanwhile the caller runs its slots, and on waking it preempts the
//! neighbour, who has had his turn. The pool runs at serial speed or twice that.
//!
//! Measured on a 2-vCPU Xeon with Linux 6.18 (base slice 1.4 ms, tick 4 ms), an
//! int8 token beside a busy loop on the worker's CPU, times serial: 1.05 without
//! this; a yield after 0.5 ms 0.85, after 1.5 ms 1.03; a sleep of 100 µs after
//! 0.2 to 0.5 ms 0.77 to 0.79, after 1 ms 1.03.
//!
//! With a neighbour on the caller's CPU too it does not pay (two busy loops:
//! 0.60 without, 0.65 with it), so a caller that has been preempted turns it
//! off. Linux and Android only: elsewhere nothing has been measured.

use super::park::Sleepers;
use super::slot::Slot;
use crate::sync::{sleep, Instant};
use std::time::Duration;

/// The CPU is given away after running for so long: less than a slice, which is
/// 0.7 ms at the least where nobody has tuned it.
const TURN: Duration = Duration::from_micros(300);
/// For so long. The neighbour may keep it for the rest of a slice of its own.
const AWAY: Duration = Duration::from_micros(100);
/// Stalls before that is done: one may be a coincidence.
const STALLS: u32 = 2;
/// A neighbour who stays makes some a second.
const FORGET: Duration = Duration::from_millis(500);
/// Then it is done for so long, and again after one more stall, twice as long
/// each time: nothing else tells whether the neighbour is still there.
const HOLD: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(2);

/// A worker's view of its slices.
#[derive(Debug)]
pub(super) struct Slice {
    /// How often this thread has been preempted, when it looked last.
    preempted: u64,
    /// Stalls of late, and when the last one was.
    stalls: u32,
    stalled: Option<Instant>,
    shared: Option<Shared>,
    /// When sharing ended last, and how long it lasted.
    last: Option<(Instant, Duration)>,
}

/// While the CPU is shared.
#[derive(Debug)]
struct Shared {
    /// Since when the worker has the CPU.
    since: Instant,
    begun: Instant,
    hold: Duration,
}

impl Slice {
    pub(super) fn new() -> Self {
        Slice {
            preempted: crate::sys::preemptions(),
            stalls: 0,
            stalled: None,
            shared: None,
            last: None,
        }
    }

    /// Between two slots.
    #[inline(always)]
    pub(super) fn between(&mut self, slot: &Slot, sleepers: &Sleepers) {
        if self.shared.is_some() {
            self.share(slot, sleepers);
        } else if slot.stalled() {
            self.suspect(slot, sleepers);
        }
    }

    #[cold]
    fn suspect(&mut self, slot: &Slot, sleepers: &Sleepers) {
        slot.stall(false);
        // A long slot is not a preempted one.
        let preempted = crate::sys::preemptions();
        if preempted == self.preempted {
            return;
        }
        self.preempted = preempted;
        let now = Instant::now();
        if self.stalled.is_none_or(|last| now - last > FORGET) {
            self.stalls = 0;
        }
        self.stalled = Some(now);
        self.stalls += 1;
        if self.stalls < STALLS {
            return;
        }
        let hold = match self.last {
            Some((ended, hold)) if now - ended < LONGEST => (hold * 2).min(LONGEST),
            _ => HOLD,
        };
        // Who is right in that says it again when sleepers are woken next.
        sleepers.set_crowded(false);
        self.shared = Some(Shared { since: now, begun: now, hold });
    }

    #[cold]
    fn share(&mut self, slot: &Slot, sleepers: &Sleepers) {
        let now = Instant::now();
        let Some(shared) = &mut self.shared else { return };
        if now - shared.begun > shared.hold || sleepers.crowded() {
            self.last = Some((now, shared.hold));
            // One more is enough; one that was noted meanwhile counts (taking it
            // back costs 5% beside one busy loop).
            self.stalls = STALLS - 1;
            self.stalled = Some(now);
            self.shared = None;
        } else if now - shared.since > TURN {
            // As a worker that has not started: its slots are run by the caller
            // at once, and nobody rings for it.
            sleepers.leave(slot);
            sleep(AWAY);
            sleepers.arrive(slot);
            shared.since = Instant::now();
        }
    }
}
