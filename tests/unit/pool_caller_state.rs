//! Tests of `src/pool/caller_state.rs`, inside of it.

use super::*;

/// Regions until the fork is measured.
fn until_due(caller: &mut CallerState) -> u32 {
    1 + (0..).take_while(|_| !caller.count()).count() as u32
}

#[test]
fn the_fork_is_measured_early_and_then_seldom() {
    let mut caller = CallerState::new(true);
    assert_eq!(until_due(&mut caller), MEASURE_FIRST);
    assert_eq!(until_due(&mut caller), MEASURE_FIRST, "it was disturbed");
    for _ in 0..2 {
        caller.measured(5);
        assert_eq!(until_due(&mut caller), MEASURE_EVERY - MEASURE_FIRST);
        assert_eq!(until_due(&mut caller), MEASURE_FIRST);
    }
}

#[test]
fn the_grace_is_some_measured_forks() {
    let mut caller = CallerState::new(true);
    assert_eq!(caller.grace(), 8 * 3);
    caller.absent = true;
    assert_eq!(caller.grace(), 4 * 3);
    for (measured, looks) in [(0, 3), (5, 5), (32, 32), (1000, 32)] {
        caller.measured(measured);
        assert_eq!(caller.grace(), 4 * looks);
    }
}

#[test]
fn each_thread_has_an_account_of_its_own() {
    const MS: Duration = Duration::from_millis(1);
    let (mut caller, now) = (CallerState::new(true), Instant::now());
    assert_eq!(caller.lacks_cpu(1, now, 5 * MS), None);
    assert_eq!(caller.lacks_cpu(1, now + 10 * MS, 10 * MS), Some(true));
    assert_eq!(caller.lacks_cpu(2, now + 20 * MS, 100 * MS), None, "another thread's");
    assert_eq!(caller.lacks_cpu(2, now + 30 * MS, 101 * MS), Some(false));
    assert_eq!(caller.lacks_cpu(1, now + 40 * MS, 20 * MS), None, "begun anew");
}
