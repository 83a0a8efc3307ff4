//! Tests of `src/policy/between_slots.rs`, inside of it.

use super::*;
use crate::topology::Quota;

const MS: Duration = Duration::from_millis(1);

/// What a quota of 1.5 CPUs leaves.
fn share() -> Option<QuotaShare> {
    QuotaShare::new(Quota::new(150_000, 100_000).unwrap())
}

/// Two stalls, 8 ms apart, half of which the thread wanted a CPU and had none.
fn stall_twice(between: &mut BetweenSlots, begun: Instant) -> [Option<Absence>; 2] {
    assert!(between.concerned(true), "a stall concerns everybody");
    [0, 8].map(|ms| between.decide(begun + ms * MS, true, false, || Some(ms / 2 * MS)))
}

#[test]
fn who_has_no_policy_goes_nowhere() {
    let mut none = BetweenSlots::new(Policies::NONE, None, 0);
    assert!(!none.concerned(false));
    assert_eq!(none.decide(Instant::now(), true, false, || unreachable!()), None);
}

#[test]
fn who_shares_its_cpu_is_asked_after_each_slot_and_goes_away() {
    let (mut between, begun) = (BetweenSlots::new(Policies::ALL, None, 0), Instant::now());
    assert!(!between.concerned(false), "nothing has happened");
    assert_eq!(stall_twice(&mut between, begun), [None, None]);
    assert!(between.concerned(false), "it shares its CPU from now on");
    let decide = |between: &mut BetweenSlots, ms: u32| {
        between.decide(begun + ms * MS, false, false, || unreachable!("it was not stalled"))
    };
    let absence = decide(&mut between, 9).expect("its turn is over");
    assert_eq!(absence.width, None);
    between.returned(begun + 9 * MS, begun + 10 * MS);
    assert_eq!(decide(&mut between, 10), None, "a new turn has begun");
    assert!(decide(&mut between, 11).is_some());
    // Until the caller lacks its CPU too.
    assert_eq!(between.decide(begun + 12 * MS, false, true, || unreachable!()), None);
    assert!(!between.concerned(false));
}

#[test]
fn on_another_cpu_it_begins_anew() {
    for stalls in 1..=2 {
        let (mut between, begun) = (BetweenSlots::new(Policies::ALL, None, 0), Instant::now());
        for ms in [0, 8].into_iter().take(stalls) {
            assert_eq!(between.decide(begun + ms * MS, true, false, || Some(ms * MS)), None);
        }
        between.moved();
        assert!(!between.concerned(false), "what it lacked was on the old CPU");
        assert_eq!(between.decide(begun + 16 * MS, true, false, || Some(16 * MS)), None);
        assert!(!between.concerned(false), "one stall is none");
    }
    let mut none = BetweenSlots::new(Policies::NONE, None, 0);
    none.moved();
    assert!(!none.concerned(false));
}

#[test]
fn without_the_policy_or_the_system_s_account_nobody_gives_a_cpu_away() {
    let (on, begun) = (Policies::ALL.without(Policy::Timeslice), Instant::now());
    let mut between = BetweenSlots::new(on, None, 0);
    assert_eq!(stall_twice(&mut between, begun), [None, None]);
    assert!(!between.concerned(false));
    let mut between = BetweenSlots::new(Policies::ALL, None, 0);
    for ms in [0, 8] {
        assert_eq!(between.decide(begun + ms * MS, true, false, || None), None);
    }
    assert!(!between.concerned(false));
}

#[test]
fn the_worker_that_the_quota_feeds_works_in_shifts() {
    let (mut fed, begun) = (BetweenSlots::new(Policies::ALL, share(), 0), Instant::now());
    assert!(fed.concerned(false), "after each slot");
    let decide = |fed: &mut BetweenSlots, us: u32| {
        fed.decide(begun + us * MS / 1000, false, false, || unreachable!("it was not stalled"))
    };
    assert_eq!(decide(&mut fed, 0), None);
    let absence = decide(&mut fed, 2000).expect("43% of 4 ms are used up");
    assert_eq!(absence.width, Some(1));
    // It was off for longer than its part asks for, and has earned 7.5 ms.
    fed.returned(begun + 2 * MS, begun + 12 * MS);
    assert_eq!(decide(&mut fed, 19_000), None);
    fed.slept();
    assert_eq!(decide(&mut fed, 20_000), None, "what it slept it has not used");
    assert_eq!(decide(&mut fed, 27_000), None);
    assert!(decide(&mut fed, 28_000).is_some());
    // The others work always.
    assert!(!BetweenSlots::new(Policies::ALL, share(), 1).concerned(false));
}
