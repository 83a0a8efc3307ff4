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
/// default), and long against the 60 µs that a sleep is late.
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
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn share(hundredths: u64) -> Option<QuotaShare> {
        QuotaShare::new(Quota::new(hundredths * 1000, 100_000).unwrap())
    }

    #[test]
    fn what_is_left_of_a_quota() {
        for none in [10, 50, 99, 100, 110, 116, 200, 1600] {
            assert!(share(none).is_none(), "{none}%");
        }
        for (hundredths, whole, part) in [(150, 1, 0.43), (199, 1, 0.92), (350, 3, 0.43)] {
            let share = share(hundredths).unwrap();
            assert_eq!(share.whole, whole);
            assert!((share.part - part).abs() < 1e-9, "{hundredths}%: {share:?}");
            assert_eq!(share.width(64), whole + 1);
            assert_eq!(share.width(whole), whole, "no CPU is left for it");
            assert_eq!((share.without(whole + 1), share.without(1)), (whole, 1));
            assert!(share.feeds(whole - 1) && !share.feeds(whole));
        }
    }

    /// Slots of `slot`, back to back; an absence lasts `late` longer than it
    /// should. The part of the time that the worker is on.
    fn part_on(hundredths: u64, slot: Duration, late: Duration) -> f64 {
        let mut shift = QuotaShift::new(share(hundredths).unwrap());
        let begun = Instant::now();
        let (mut now, mut on) = (begun, Duration::ZERO);
        while now - begun < Duration::from_secs(2) {
            now += slot;
            on += slot;
            if let Some(absence) = shift.between_slots(now) {
                assert_eq!(absence.width, Some(share(hundredths).unwrap().whole));
                let left = now;
                now += absence.time + late;
                shift.returned(left, now);
            }
        }
        on.as_secs_f64() / (now - begun).as_secs_f64()
    }

    #[test]
    fn it_is_on_for_its_part_whatever_the_slots_take() {
        for (hundredths, part) in [(150, 0.43), (130, 0.23), (190, 0.83)] {
            for slot in [20 * US, 300 * US, 5_000 * US] {
                for late in [Duration::ZERO, 60 * US] {
                    let on = part_on(hundredths, slot, late);
                    let close = (on - part).abs() < 0.04;
                    assert!(close, "{hundredths}%, slots of {slot:?}, {late:?} late: on {on}");
                }
            }
        }
    }

    #[test]
    fn a_sleep_is_no_work() {
        let mut shift = QuotaShift::new(share(150).unwrap());
        let now = Instant::now();
        assert_eq!(shift.between_slots(now), None);
        shift.slept();
        assert_eq!(shift.between_slots(now + 10_000 * US), None);
        assert!(shift.between_slots(now + 12_000 * US).is_some());
        assert_eq!(shift.between_slots(now), None, "a clock that steps back");
    }
}
