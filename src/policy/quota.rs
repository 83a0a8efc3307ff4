//! The worker that a CPU quota feeds for a part of the time.
//!
//! A quota of 1.5 CPUs is one thread and half of another. Two threads use it up
//! after 75 ms of each 100, and then the kernel stops both for 25; one thread
//! leaves a third of it. So the pool takes the whole CPUs for its width, and one
//! worker more for so much of every 4 ms that the quota is not used up. While it
//! is away, regions are one slot narrower (MEASUREMENTS, "quota of 1.5 CPUs").

use super::Absence;
use crate::sync::Instant;
use crate::topology::Quota;
use std::time::Duration;

/// On and off once in this time: far less than the period of a quota (100 ms by
/// default), and long against what a sleep is late (MEASUREMENTS, "late sleep").
const CYCLE: Duration = Duration::from_millis(4);
/// In CPUs: left for the rest of the process, and for what is measured late.
const RESERVE: f64 = 0.07;
/// Less than this much of a CPU is not worth the switches.
const LEAST: f64 = 0.1;

/// What a quota leaves beyond whole CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuotaShare {
    /// Slots that are always served: the whole CPUs of the quota.
    whole: usize,
    /// The part of the time that the next one is on.
    part: f64,
}

impl QuotaShare {
    /// `None` where nothing is left over.
    pub(crate) fn new(quota: Quota) -> Option<QuotaShare> {
        let whole = quota.whole_cpus();
        let rest = quota.cpus() - whole as f64 - RESERVE;
        (rest >= LEAST).then_some(QuotaShare { whole, part: rest })
    }

    /// Whether `worker` is the one that it feeds.
    pub(crate) fn feeds(self, worker: usize) -> bool {
        worker + 1 == self.whole
    }

    /// An active width without that worker.
    pub(crate) fn without(self, active: usize) -> usize {
        active.min(self.whole)
    }

    /// The active width, where so many CPUs could be used, the quota apart.
    pub(crate) fn width(self, cpus: usize) -> usize {
        cpus.min(self.whole + 1)
    }
}

/// The time of the worker that is fed.
#[derive(Debug)]
pub(crate) struct QuotaShift {
    share: QuotaShare,
    /// Since when it is on, as of its last slot; `None` after a sleep.
    since: Option<Instant>,
    /// How long it may be on.
    earned: Duration,
}

impl QuotaShift {
    pub(crate) fn new(share: QuotaShare) -> Self {
        QuotaShift { share, since: None, earned: Duration::ZERO }
    }

    /// Between two slots: its absence, where it has used up its time.
    pub(crate) fn between_slots(&mut self, now: Instant) -> Option<Absence> {
        let QuotaShare { whole, part } = self.share;
        let worked = now.saturating_duration_since(*self.since.get_or_insert(now));
        if worked < CYCLE.mul_f64(part).max(self.earned) {
            return None;
        }
        // After a long slot it is off for longer.
        Some(Absence { time: worked.mul_f64(1.0 / part - 1.0), width: Some(whole) })
    }

    /// It is back: it has earned its part of the whole time.
    pub(crate) fn returned(&mut self, left: Instant, now: Instant) {
        let part = self.share.part;
        let off = now.saturating_duration_since(left);
        self.earned = off.mul_f64(part / (1.0 - part));
        self.since = Some(now);
    }

    /// What it has slept it has not used.
    pub(crate) fn slept(&mut self) {
        self.since = None;
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/policy_quota.rs"]
mod tests;
