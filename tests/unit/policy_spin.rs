//! Tests of `src/policy/spin.rs`, inside of it.

use super::*;

const WHOLE: Duration = Duration::from_micros(300);
const MS: Duration = Duration::from_millis(1);

/// The window after so many in vain, each followed by a wake `later`.
fn after(window: SpinWindow, vain: u32, later: Duration) -> Duration {
    let (mut policy, mut now) = (SpinPolicy::new(window), Instant::now());
    for _ in 0..vain {
        policy.region();
        now += policy.window();
        policy.ended(now);
        now += later;
        policy.woken(|| now);
        assert_eq!(policy.window(), WHOLE, "who was woken without work waits for it");
    }
    policy.region();
    policy.window()
}

#[test]
fn it_is_cut_where_nothing_comes_within_it() {
    assert_eq!(after(SpinWindow::DEFAULT, VAIN - 1, MS), WHOLE);
    assert_eq!(after(SpinWindow::DEFAULT, VAIN, MS), WHOLE / CUT);
    assert_eq!(after(SpinWindow::DEFAULT, 1000, MS), WHOLE / CUT);
}

#[test]
fn it_is_whole_where_a_whole_one_would_do() {
    assert_eq!(after(SpinWindow::DEFAULT, 1000, WHOLE / 2), WHOLE);
    assert_eq!(after(SpinWindow::DEFAULT, 1000, WHOLE), WHOLE / CUT, "it would have been over");
    assert_eq!(after(SpinWindow::fixed(WHOLE), 1000, MS), WHOLE);
    assert_eq!(after(SpinWindow::DEFAULT.whole(), 1000, MS), WHOLE);
}

#[test]
fn a_region_within_a_cut_window_makes_it_whole() {
    let mut policy = SpinPolicy::new(SpinWindow::DEFAULT);
    policy.region();
    (0..VAIN).for_each(|_| policy.ended(Instant::now()));
    assert_eq!(policy.window(), WHOLE / CUT);
    policy.region();
    assert_eq!(policy.window(), WHOLE);
}

#[test]
fn clocks_may_step_back() {
    let (mut policy, now) = (SpinPolicy::new(SpinWindow::DEFAULT), Instant::now() + MS);
    policy.ended(now);
    policy.woken(|| now - MS);
    assert_eq!(policy.window(), WHOLE);
}
