//! The worker that a CPU quota feeds for a part of the time.
//!
//! A quota of 1.5 CPUs is one thread and half of another. Two threads use it up
//! after 75 ms of each 100, and then the kernel stops both for 25 ms; one thread
//! leaves a third of it. So the pool takes the whole CPUs for its width, and one
//! worker more for so much of every 4 ms that the quota is not used up. While it
//! is off, regions are one slot narrower.
//!
//! An int8 token in a v1 group of 1.5 CPUs on a 2-vCPU Xeon, tokens per second
//! over serial code, longest region, time stopped per second: one thread 1.00, 3
//! ms, 0; two threads 1.43, 29 ms, 300 ms; like this 1.40, 3 ms, 0. (Cycles of 2
//! ms give the same; a reserve of 0.05 was exceeded now and then.)

use super::gate::Gate;
use super::slot::Slot;
use super::team::Team;
use crate::sync::{sleep, Instant};
use crate::topology::Quota;
use std::time::Duration;

/// On and off once in this time: far less than the period of a quota (100 ms by
/// default), and long against the 60 µs that a sleep is late.
const CYCLE: Duration = Duration::from_millis(4);
/// In CPUs: left for the rest of the process, and for what is measured late.
const RESERVE: f64 = 0.07;
/// Less than this much of a CPU is not worth the switches.
const LEAST: f64 = 0.1;
/// A pool that is dropped waits no longer than this for a worker that is off.
const NAP: Duration = Duration::from_micros(400);

/// Who works for a part of the time, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duty {
    /// Slots that are always served: the whole CPUs of the quota.
    full: usize,
    /// The part of the time that the next one is on.
    part: f64,
}

impl Duty {
    /// `None` where nothing is left over.
    pub(crate) fn new(quota: Quota) -> Option<Duty> {
        let full = quota.whole_cpus();
        let rest = quota.cpus() - full as f64 - RESERVE;
        (rest >= LEAST).then_some(Duty { full, part: rest })
    }

    /// An active width without who works for a part of the time.
    pub(super) fn without(self, active: usize) -> usize {
        active.min(self.full)
    }

    /// The active width, where so many CPUs could be used, the quota apart.
    pub(crate) fn width(self, cpus: usize) -> usize {
        cpus.min(self.full + 1)
    }
}

/// A worker's view of it.
#[derive(Debug)]
pub(super) struct Shift {
    /// Since when it is on, as of its last slot; `None` after a sleep.
    since: Option<Instant>,
    /// How long it may be on.
    earned: Duration,
}

impl Shift {
    pub(super) fn new() -> Self {
        Shift { since: None, earned: Duration::ZERO }
    }

    /// Starts over: what the worker has slept it has not used.
    pub(super) fn rested(&mut self) {
        self.since = None;
    }
}

impl Team {
    /// Whether `worker` works for a part of the time.
    #[inline(always)]
    pub(super) fn has_shifts(&self, worker: usize) -> Option<Duty> {
        self.duty.filter(|duty| worker + 1 == duty.full)
    }

    /// Between two slots of a worker that has shifts.
    #[cold]
    pub(super) fn shift(&self, duty: Duty, shift: &mut Shift, slot: &Slot, gate: &Gate) {
        let now = Instant::now();
        let worked = now - *shift.since.get_or_insert(now);
        if worked < CYCLE.mul_f64(duty.part).max(shift.earned) {
            return;
        }
        // A caller that has read the old width relieves this worker at once.
        self.change_active(duty.full + 1, duty.full);
        self.sleepers.leave(slot);
        // After a long slot it is off for longer.
        let off = worked.mul_f64(1.0 / duty.part - 1.0);
        let mut on = now;
        while on - now < off && !gate.look().stops() {
            sleep((off - (on - now)).min(NAP));
            on = Instant::now();
        }
        self.sleepers.arrive(slot);
        self.change_active(duty.full, duty.full + 1);
        // The last nap may have been a longer one.
        shift.earned = (on - now).mul_f64(duty.part / (1.0 - duty.part));
        shift.since = Some(on);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn duty(hundredths: u64) -> Option<Duty> {
        Duty::new(Quota::new(hundredths * 1000, 100_000).unwrap())
    }

    #[test]
    fn what_is_left_of_a_quota() {
        for none in [10, 50, 99, 100, 110, 116, 200, 1600] {
            assert!(duty(none).is_none(), "{none}%");
        }
        for (hundredths, full, part) in [(150, 1, 0.43), (199, 1, 0.92), (350, 3, 0.43)] {
            let duty = duty(hundredths).unwrap();
            assert_eq!(duty.full, full);
            assert!((duty.part - part).abs() < 1e-9, "{hundredths}%: {duty:?}");
            assert_eq!(duty.width(64), full + 1);
            assert_eq!(duty.width(full), full, "no CPU is left for it");
            assert_eq!((duty.without(full + 1), duty.without(1)), (full, 1));
        }
    }
}
