//! Tests of `src/policy/between_slots.rs`, inside of it.

use super::*;

#[test]
fn who_has_no_policy_goes_nowhere() {
    let mut none = BetweenSlots::new(Policies::NONE, None, 0);
    assert!(!none.concerned(false));
    assert_eq!(none.decide(Instant::now(), true, false, || unreachable!()), None);
}
