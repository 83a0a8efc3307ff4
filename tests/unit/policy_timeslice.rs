//! Tests of `src/policy/timeslice.rs`, inside of it.

use super::*;

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// A worker whose slots take `slot`, beside a neighbour who takes `burst` of
/// each `period` by force; stalls above 0.5 ms are seen. The part of `time`
/// that it was away, and the longest time it was so without a break.
fn away(slot: Duration, burst: Duration, period: Duration, time: Duration) -> f64 {
    let mut policy = Timeslice::new();
    let begun = Instant::now();
    let (mut now, mut delay, mut away) = (begun, Duration::ZERO, Duration::ZERO);
    let mut next = begun + period - burst;
    while now - begun < time {
        let stalled = now + slot > next && !burst.is_zero();
        now += slot;
        if stalled {
            now += burst;
            delay += burst;
            next = now + period - burst;
        }
        if stalled && burst > 500 * US {
            policy.stalled(now, delay, false);
        }
        if let Some(absence) = policy.between_slots(now, false) {
            now += absence.time;
            away += absence.time;
            // He has had his turn.
            next = now + period - burst;
            policy.returned(now);
        }
    }
    away.as_secs_f64() / (now - begun).as_secs_f64()
}

#[test]
fn beside_a_busy_loop_a_quarter_is_given_away() {
    for slot in [20 * US, 100 * US] {
        let part = away(slot, 4 * MS, 8 * MS, 1000 * MS);
        assert!((0.18..=0.25).contains(&part), "slots of {slot:?}: {part}");
    }
}

#[test]
fn light_neighbours_bring_nothing_about() {
    for (burst, period) in [(20, 220), (100, 1_000), (2_000, 10_000), (900, 4_000), (0, 1)] {
        for slot in [20, 300, 4_600] {
            let part = away(slot * US, burst * US, period * US, 1000 * MS);
            assert_eq!(part, 0.0, "{burst} us of each {period} us, slots of {slot} us");
        }
    }
}

#[test]
fn it_is_tried_without_ever_less_often() {
    let (mut policy, mut now, mut delay) = (Timeslice::new(), Instant::now(), Duration::ZERO);
    let mut holds = Vec::new();
    for _ in 0..8 {
        while !policy.sharing() {
            now += 8 * MS;
            delay += 4 * MS;
            policy.stalled(now, delay, false);
        }
        let begun = now;
        while policy.sharing() {
            now += MS;
            policy.between_slots(now, false);
        }
        holds.push((now - begun).as_millis());
    }
    assert_eq!(holds, [51, 101, 201, 401, 801, 1601, 2001, 2001]);
}

#[test]
fn after_a_long_time_without_it_begins_anew() {
    for (quiet, hold) in [(LONGEST - MS, 2 * HOLD), (LONGEST, HOLD), (2 * LONGEST, HOLD)] {
        let (mut policy, mut now) = (Timeslice::new(), Instant::now());
        policy.stalled(now, Duration::ZERO, false);
        now += 8 * MS;
        policy.stalled(now, 8 * MS, false);
        now += HOLD;
        assert!(policy.between_slots(now, false).is_some(), "not over yet");
        now += MS;
        assert_eq!(policy.between_slots(now, false), None);
        now += quiet - 8 * MS;
        policy.stalled(now, 8 * MS, false);
        assert!(!policy.sharing(), "what it lacked before is long ago");
        now += 8 * MS;
        policy.stalled(now, 16 * MS, false);
        now += hold;
        policy.between_slots(now, false);
        assert!(policy.sharing(), "{quiet:?} without");
        policy.between_slots(now + MS, false);
        assert!(!policy.sharing(), "{quiet:?} without");
    }
}

#[test]
fn a_turn_is_over_after_its_time() {
    let (mut policy, now) = (Timeslice::new(), Instant::now());
    policy.stalled(now, Duration::ZERO, false);
    let now = now + Lack::LEAST;
    policy.stalled(now, Lack::LEAST, false);
    assert!(policy.sharing(), "so long a time says something");
    assert_eq!(policy.between_slots(now + TURN, false), None);
    let absence = policy.between_slots(now + TURN + US, false);
    assert_eq!(absence, Some(Absence { time: AWAY, width: None }));
}

#[test]
fn it_ends_where_the_caller_shares_its_cpu_too() {
    let (mut policy, now) = (Timeslice::new(), Instant::now());
    policy.stalled(now, Duration::ZERO, true);
    policy.stalled(now + 8 * MS, 4 * MS, true);
    assert!(!policy.sharing());
    policy.stalled(now + 16 * MS, 8 * MS, false);
    assert!(policy.sharing());
    assert_eq!(policy.between_slots(now + 17 * MS, true), None);
    assert!(!policy.sharing());
}

#[test]
fn old_and_early_observations_say_nothing() {
    let (mut lack, now) = (Lack::default(), Instant::now());
    assert_eq!(lack.observe(now, Duration::ZERO), None);
    assert_eq!(lack.observe(now + 5 * MS, 5 * MS), None, "too early");
    assert_eq!(lack.observe(now + 9 * MS, 3 * MS), Some(true), "a third");
    assert_eq!(lack.observe(now + 18 * MS, 5 * MS), Some(false), "less than a third");
    assert_eq!(lack.observe(now + 600 * MS, 590 * MS), None, "too late");
    assert_eq!(lack.observe(now, Duration::ZERO), None, "a clock that steps back");
}
