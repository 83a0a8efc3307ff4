//! What callers learn of their pool: what a wake costs, what sleepers have
//! cost so far, how long a fork takes. Touched by the holder of the turn only.

use crate::sync::Instant;
use std::time::Duration;

/// Regions between two measurements of the fork; the first comes early, and
/// one that was disturbed is tried again as early.
const MEASURE_EVERY: u32 = 1 << 16;
const MEASURE_FIRST: u32 = 64;

/// After this long without a cold region small debts are forgotten: a burst
/// that comes and goes is not worth a wake however often it comes.
const FORGET: Duration = Duration::from_millis(1);

/// Regions that a wake has served when it was worth it beyond doubt: a decode
/// step opens some 200. In vain at most once per so many: who comes too late
/// for a burst serves none of it.
const MANY: u32 = 32;

/// The state of the turn.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Time that callers have spent on sleepers' slots since the last wake.
    debt: Duration,
    /// The largest part of it that one region made.
    largest: Duration,
    /// The last time that a sleeper's slot was run.
    last: Option<Instant>,
    /// What a wake costs its caller, smoothed.
    wake_cost: Duration,
    /// Looks at the reports that a measured fork takes.
    looks: u32,
    /// Whether an owner was late in the last region without being asleep: it
    /// has lost its CPU, for some ms probably.
    absent: bool,
    /// Regions since the last wake in which every owner ran its slot.
    served: u32,
    /// Regions until the fork is measured.
    until_measured: u32,
    /// Who woke sleepers last, and how often it had been preempted by then.
    waker: (usize, u64),
}

/// Looks that a fork takes, until it has been measured.
const LOOKS: u32 = 3;

/// How many forks an owner may be late, hot; and when one was absent just now.
/// Less than that would never let a worker come back that looks at its gate,
/// yields or reads a clock in the wrong moment.
const GRACE: u32 = 8;
const GRACE_ABSENT: u32 = 4;

impl Ledger {
    pub(super) fn new() -> Self {
        Ledger {
            debt: Duration::ZERO,
            largest: Duration::ZERO,
            last: None,
            // Until measured: the middle of the 7 to 35 µs seen on virtual
            // machines (a futex wake with a sleeper).
            wake_cost: Duration::from_micros(15),
            looks: LOOKS,
            absent: false,
            served: 0,
            until_measured: MEASURE_FIRST,
            waker: (0, 0),
        }
    }

    /// One that takes a fork for `looks` looks.
    #[cfg(loom)]
    pub(super) fn with_looks(looks: u32) -> Self {
        Ledger { looks, ..Ledger::new() }
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

    /// Looks at the reports before an owner that is not asleep counts as late.
    #[inline(always)]
    pub(super) fn grace(&self) -> u32 {
        self.looks * if self.absent { GRACE_ABSENT } else { GRACE }
    }

    /// Notes whether owners were late, asleep apart, and whether all ran their
    /// slots.
    #[inline(always)]
    pub(super) fn joined(&mut self, absent: bool, quiet: bool) {
        self.absent = absent;
        self.served = self.served.saturating_add(quiet.into());
    }

    /// Whether sleepers should be woken for a region that comes: when they
    /// have cost what a wake costs (ski rental: never twice the best choice),
    /// when the region says that it is large, or when it seems to be the first of
    /// many: those that were woken last were of use for long.
    pub(super) fn wake_is_due(&mut self, hint: Option<Duration>) -> bool {
        if self.served >= MANY {
            return true;
        }
        // Woken threads need some three times the waker's own cost to arrive.
        if hint.is_some_and(|work| work >= 4 * self.wake_cost) {
            return true;
        }
        if self.largest < self.wake_cost && self.last.is_some_and(|last| last.elapsed() > FORGET) {
            self.debt = Duration::ZERO;
        }
        self.owed()
    }

    pub(super) fn owed(&self) -> bool {
        self.debt >= self.wake_cost
    }

    /// Books the time that a caller spent on sleepers' slots of one region,
    /// until `now`.
    pub(super) fn book(&mut self, spent: Duration, now: Instant) {
        self.debt += spent;
        self.largest = self.largest.max(spent);
        self.last = Some(now);
    }

    /// Books a wake that took `cost`.
    pub(super) fn woke(&mut self, cost: Duration) {
        self.debt = Duration::ZERO;
        self.largest = Duration::ZERO;
        self.served = 0;
        let cost = cost.clamp(Duration::from_micros(2), Duration::from_micros(100));
        self.wake_cost = (self.wake_cost * 3 + cost) / 4;
    }

    /// Whether the calling thread has been preempted since it woke sleepers
    /// last. Asked when it wakes some: it sleeps meanwhile where it is not.
    pub(super) fn preempted(&mut self) -> bool {
        let now = (crate::sync::mark::id(), crate::sys::preemptions());
        let before = std::mem::replace(&mut self.waker, now);
        now.0 == before.0 && now.1 != before.1
    }

    /// Notes that a measured fork took `looks` looks.
    pub(super) fn measured(&mut self, looks: u32) {
        self.looks = looks.clamp(3, 32);
        self.until_measured = MEASURE_EVERY;
    }
}
