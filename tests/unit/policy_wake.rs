//! Tests of `src/policy/wake.rs`, inside of it.

use super::*;

const US: Duration = Duration::from_micros(1);

#[test]
fn sleepers_are_woken_when_they_have_cost_a_wake() {
    let (mut policy, mut now) = (WakePolicy::new(true), Instant::now());
    let mut regions = 0;
    while !policy.is_due(None, now) {
        policy.book(4 * US, now);
        now += 10 * US;
        regions += 1;
    }
    assert_eq!(regions, 4, "4 times 4 us reach 15 us");
    policy.woke(COST);
    assert!(!policy.is_due(None, now), "the debt is paid");
}

#[test]
fn a_large_region_wakes_at_once() {
    let mut policy = WakePolicy::new(true);
    assert!(!policy.is_due(Some(59 * US), Instant::now()));
    assert!(policy.is_due(Some(60 * US), Instant::now()));
}

#[test]
fn small_debts_are_forgotten_and_large_ones_are_not() {
    for (spent, due) in [(10 * US, false), (14 * US, false), (COST, true), (16 * US, true)] {
        let (mut policy, now) = (WakePolicy::new(true), Instant::now());
        policy.book(spent, now);
        policy.book(spent, now);
        assert!(policy.is_due(None, now + FORGET), "{spent:?}: it is not long ago");
        assert_eq!(policy.is_due(None, now + 1001 * US), due, "{spent:?}");
    }
}

#[test]
fn the_cost_follows_what_is_measured_within_bounds() {
    let mut policy = WakePolicy::new(true);
    (0..40).for_each(|_| policy.woke(Duration::from_secs(1)));
    assert!(policy.cost > 99 * US && policy.cost <= 100 * US);
    (0..40).for_each(|_| policy.woke(Duration::ZERO));
    assert!(policy.cost < 3 * US && policy.cost >= 2 * US);
}

#[test]
fn clocks_may_step_back() {
    let (mut policy, now) = (WakePolicy::new(true), Instant::now() + 9 * US);
    policy.book(20 * US, now);
    assert!(policy.is_due(None, now - 5 * US));
}

#[test]
fn without_it_every_region_wakes() {
    assert!(WakePolicy::new(false).is_due(None, Instant::now()));
}
