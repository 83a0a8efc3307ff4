//! Scheduler slices: how a worker whose CPU is shared with a busy neighbour
//! keeps from being preempted inside a slot, where nobody could take its rows.
//!
//! A slot that is preempted stalls its region until the scheduler comes round,
//! one slice of some ms later: the pool then runs at twice the serial speed for
//! a slice and not at all for the next. So a worker that this happens to gives
//! the CPU away by itself, between two slots, before its slice is over.
//! Meanwhile the caller runs its slots, and on waking it preempts the neighbour,
//! who has had his turn (MEASUREMENTS, "one busy loop").
//!
//! It costs a quarter of the worker's time, so light neighbours (timers, kernel
//! threads, short bursts), who take less than that, must not bring it about. A
//! stall only says where to look. What counts is the part of the time in which
//! the thread wanted a CPU and had none, by the kernel's own account: half
//! beside one busy loop, below a fifth beside what computers do at rest.
//!
//! With a neighbour on the caller's CPU too it does not pay, so it is not done
//! where the caller finds the same of itself. Linux and Android only: elsewhere
//! the system keeps no such account.

use super::Absence;
use crate::sync::Instant;
use std::time::Duration;

/// The CPU is given away after running for so long: less than the shortest slice
/// (MEASUREMENTS, "slice").
const TURN: Duration = Duration::from_micros(300);
/// For so long. The neighbour may keep it for the rest of a slice of its own.
const AWAY: Duration = Duration::from_micros(100);
/// It is done for so long, then tried without, and done again for twice as long
/// each time that the neighbour is still there: nothing else would tell.
const HOLD: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// How much of its time a thread lacks a CPU.
#[derive(Debug, Default)]
pub(crate) struct Lack {
    /// Since when it is watched, and its account by then.
    watch: Option<(Instant, Duration)>,
}

impl Lack {
    /// A shorter time says nothing: a slice and some.
    const LEAST: Duration = Duration::from_millis(6);
    /// A neighbour who stays stalls slots more often than that.
    const FORGET: Duration = Duration::from_millis(500);
    /// From this part on a neighbour is busy: one in so many.
    const PART: u32 = 3;

    /// The thread was found to lack a CPU; `delay` is its account. Whether it
    /// does so often; `None` where that cannot be said yet.
    pub(crate) fn observe(&mut self, now: Instant, delay: Duration) -> Option<bool> {
        let watched =
            |(begun, _): &(Instant, _)| now.saturating_duration_since(*begun) <= Self::FORGET;
        let Some((begun, before)) = self.watch.filter(watched) else {
            self.watch = Some((now, delay));
            return None;
        };
        let time = now.saturating_duration_since(begun);
        if time < Self::LEAST {
            return None;
        }
        self.watch = Some((now, delay));
        Some(delay.saturating_sub(before) * Self::PART >= time)
    }
}

/// A worker's view of its CPU.
#[derive(Debug)]
pub(crate) struct Timeslice {
    lack: Lack,
    shared: Option<Shared>,
    /// When sharing ended last, and how long it lasted.
    last: Option<(Instant, Duration)>,
}

/// While the CPU is given away now and then.
#[derive(Debug)]
struct Shared {
    /// Since when the worker has the CPU.
    since: Instant,
    begun: Instant,
    hold: Duration,
}

impl Timeslice {
    pub(crate) fn new() -> Self {
        Timeslice { lack: Lack::default(), shared: None, last: None }
    }

    /// Whether the CPU is given away now and then.
    #[inline(always)]
    pub(crate) fn sharing(&self) -> bool {
        self.shared.is_some()
    }

    /// A caller has waited long for a slot of this worker.
    pub(crate) fn stalled(&mut self, now: Instant, delay: Duration, caller_shares: bool) {
        let busy = self.lack.observe(now, delay) == Some(true);
        if !busy || caller_shares || self.sharing() {
            return;
        }
        let hold = match self.last {
            Some((ended, hold)) if now.saturating_duration_since(ended) < LONGEST => {
                (hold * 2).min(LONGEST)
            }
            _ => HOLD,
        };
        self.shared = Some(Shared { since: now, begun: now, hold });
    }

    /// Between two slots: an absence, where the time has come.
    pub(crate) fn between_slots(&mut self, now: Instant, caller_shares: bool) -> Option<Absence> {
        let shared = self.shared.as_ref()?;
        if now.saturating_duration_since(shared.begun) > shared.hold || caller_shares {
            self.last = Some((now, shared.hold));
            self.shared = None;
            return None;
        }
        let long = now.saturating_duration_since(shared.since) > TURN;
        long.then_some(Absence { time: AWAY, width: None })
    }

    /// The worker has the CPU again.
    pub(crate) fn returned(&mut self, now: Instant) {
        if let Some(shared) = &mut self.shared {
            shared.since = now;
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/policy_timeslice.rs"]
mod tests;
