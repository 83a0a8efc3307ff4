//! What callers know of their pool, handed on with the caller lock.

use crate::policy::timeslice::Lack;
use crate::policy::wake::WakePolicy;
use crate::sync::Instant;
use std::time::Duration;

/// Regions between two measurements of the fork; the first comes early, and
/// one that was disturbed is tried again as early.
const MEASURE_EVERY: u32 = 1 << 16;
const MEASURE_FIRST: u32 = 64;
/// Looks that a fork takes, until it has been measured.
const LOOKS: u32 = 3;
/// How many forks an owner may be late, hot; and when one was absent just now,
/// for some ms probably. Less than that would never let a worker come back that
/// looks, yields or reads a clock in the wrong moment.
const GRACE: u32 = 8;
const GRACE_ABSENT: u32 = 4;

/// The state of the caller lock.
#[derive(Debug)]
pub(crate) struct CallerState {
    pub(super) wake: WakePolicy,
    /// Whether the thread that had to wait long lacks a CPU itself.
    lack: (usize, Lack),
    /// Looks at the done epochs that a measured fork takes.
    looks: u32,
    /// Whether an owner was late in the last region without being asleep.
    pub(super) absent: bool,
    /// Regions until the fork is measured.
    until_measured: u32,
}

impl CallerState {
    pub(super) fn new(wake: bool) -> Self {
        CallerState {
            wake: WakePolicy::new(wake),
            lack: (0, Lack::default()),
            looks: LOOKS,
            absent: false,
            until_measured: MEASURE_FIRST,
        }
    }

    /// One that takes a fork for `looks` looks.
    #[cfg(loom)]
    pub(super) fn with_looks(looks: u32) -> Self {
        CallerState { looks, ..CallerState::new(true) }
    }

    /// Counts a region that has ended; true when it is time to measure the fork.
    #[inline(always)]
    pub(super) fn count(&mut self) -> bool {
        self.until_measured -= 1;
        if self.until_measured == 0 {
            self.until_measured = MEASURE_FIRST;
        }
        self.until_measured == MEASURE_FIRST
    }

    /// Looks at the done epochs before an owner that is not asleep counts as late.
    #[inline(always)]
    pub(super) fn grace(&self) -> u32 {
        self.looks * if self.absent { GRACE_ABSENT } else { GRACE }
    }

    /// A measured fork took so many looks.
    pub(super) fn measured(&mut self, looks: u32) {
        self.looks = looks.clamp(LOOKS, 32);
        self.until_measured = MEASURE_EVERY;
    }

    /// Thread `thread`, whose account is `delay`, had to wait long: whether it
    /// lacks a CPU often; `None` where that cannot be said yet.
    pub(super) fn lacks_cpu(
        &mut self,
        thread: usize,
        now: Instant,
        delay: Duration,
    ) -> Option<bool> {
        if self.lack.0 != thread {
            self.lack = (thread, Lack::default());
        }
        self.lack.1.observe(now, delay)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_caller_state.rs"]
mod tests;
