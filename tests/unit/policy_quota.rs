//! Tests of `src/policy/quota.rs`, inside of it.

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

#[test]
fn its_time_is_over_when_it_is_used_up() {
    let mut shift = QuotaShift::new(share(150).unwrap());
    let (now, on) = (Instant::now(), CYCLE.mul_f64(shift.share.part));
    assert_eq!(shift.between_slots(now), None);
    assert_eq!(shift.between_slots(now + on - Duration::from_nanos(1)), None);
    let absence = shift.between_slots(now + on).expect("all of its part of 4 ms");
    assert!(absence.time.abs_diff(CYCLE - on) < US, "the rest of them: {:?}", absence.time);
}
