//! When sleepers are worth waking.
//!
//! A wake costs its caller a system call, and the woken come later (MEASUREMENTS,
//! "wake"). So callers run sleepers' slots themselves, add up what that takes,
//! and wake when it reaches the cost of a wake: never twice what the best choice
//! would have cost (ski rental). One region must not be judged alone: a token is
//! some 200 small ones, none of which is worth a wake.

use crate::sync::Instant;
use std::time::Duration;

/// After this long without a cold region small debts are forgotten: a burst
/// that comes and goes is not worth a wake however often it comes.
const FORGET: Duration = Duration::from_millis(1);

/// Until one has been measured: the middle of what virtual machines show
/// (MEASUREMENTS, "wake").
const COST: Duration = Duration::from_micros(15);

/// What callers of one pool have spent on sleepers' slots since the last wake.
#[derive(Debug)]
pub(crate) struct WakePolicy {
    on: bool,
    debt: Duration,
    /// The largest part of it that one region made.
    largest: Duration,
    /// The last time that a sleeper's slot was run.
    last: Option<Instant>,
    /// What a wake costs its caller, smoothed.
    cost: Duration,
}

impl WakePolicy {
    pub(crate) fn new(on: bool) -> Self {
        WakePolicy { on, debt: Duration::ZERO, largest: Duration::ZERO, last: None, cost: COST }
    }

    /// Before a region that finds sleepers, `work` long if that is known.
    pub(crate) fn is_due(&mut self, work: Option<Duration>, now: Instant) -> bool {
        // The woken need some three times the waker's own cost to arrive.
        if !self.on || work.is_some_and(|work| work >= 4 * self.cost) {
            return true;
        }
        let old = |last| now.saturating_duration_since(last) > FORGET;
        if self.largest < self.cost && self.last.is_some_and(old) {
            self.debt = Duration::ZERO;
        }
        self.owes()
    }

    /// Whether sleepers have cost what a wake costs.
    pub(crate) fn owes(&self) -> bool {
        self.debt >= self.cost
    }

    /// A caller has spent so long on sleepers' slots of one region, until `now`.
    pub(crate) fn book(&mut self, spent: Duration, now: Instant) {
        self.debt += spent;
        self.largest = self.largest.max(spent);
        self.last = Some(now);
    }

    /// A wake took its caller so long.
    pub(crate) fn woke(&mut self, cost: Duration) {
        self.debt = Duration::ZERO;
        self.largest = Duration::ZERO;
        let cost = cost.clamp(Duration::from_micros(2), Duration::from_micros(100));
        self.cost = (self.cost * 3 + cost) / 4;
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/policy_wake.rs"]
mod tests;
