//! Tests of `src/pool/join.rs`, inside of it: what a caller makes of workers
//! that sleep, are late or have been quick. Only the last test has threads.

use super::*;
use crate::partition::Split;
use crate::policy::oversubscription::Oversubscription;
use crate::policy::spin::SpinWindow;
use crate::policy::Policies;
use crate::pool::job::{OwnedJob, Region};
use crate::pool::team::Setup;
use crate::sync::Ordering;

/// Calls the closure with each slot.
struct Slots<F>(F);

// SAFETY: touches no data.
unsafe impl<F: Fn(usize) + Sync> Region for Slots<F> {
    unsafe fn run_slot(&self, slot: usize, _: Split<'_>) {
        (self.0)(slot);
    }
}

fn team(workers: usize, policies: Policies) -> Team {
    let window = SpinWindow::fixed(Duration::from_secs(3600));
    Team::new(Setup { workers, window, policies, weights: None, quota: None, plan: None })
}

/// One whose workers all have parked.
fn parked(workers: usize, policies: Policies) -> Team {
    let team = team(workers, policies);
    team.workers.iter().for_each(|worker| worker.prepare_park(0));
    team
}

/// Those of its workers who still do.
fn still_parked(team: &Team) -> Vec<usize> {
    (0..team.workers.len()).filter(|&worker| team.workers[worker].parked()).collect()
}

/// A region over all slots.
fn region(team: &Team, width: usize, work: Option<Duration>, f: impl Fn(usize) + Sync) {
    let mut owned = OwnedJob::new(Slots(f));
    // SAFETY: the region lives here until the call returns, and is new.
    assert!(unsafe { team.region(width, work, &owned.lend()) });
}

/// Who still parks when slot 0 of a region runs.
fn at_slot_0(team: &Team, width: usize, work: Option<Duration>, asleep: &[usize]) {
    region(team, width, work, |slot| {
        assert!(slot > 0 || still_parked(team) == asleep, "{:?}", still_parked(team));
    });
}

/// Takes longer than waking anybody is said to.
fn costly(_: usize) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(200) {}
}

#[test]
fn who_sleeps_is_woken_when_it_has_cost_a_wake_and_more_slots_follow() {
    for (width, asleep) in [(2, &[0, 1, 2, 3][..]), (3, &[1, 2, 3]), (5, &[3])] {
        let team = parked(4, Policies::ALL);
        region(&team, width, None, costly);
        assert_eq!(still_parked(&team), asleep, "width {width}");
        // The last slot's debt is paid before the next region.
        at_slot_0(&team, 5, None, &asleep[1..]);
    }
}

#[test]
fn small_slots_of_sleepers_add_up() {
    let team = parked(1, Policies::ALL);
    let mut regions = 0;
    while still_parked(&team) == [0] {
        region(&team, 2, None, |_| ());
        regions += 1;
    }
    assert!(regions > 1, "the first owes nothing");
}

#[test]
fn work_that_is_long_enough_wakes_at_once() {
    let long = Some(Duration::from_secs(1));
    let team = parked(4, Policies::ALL);
    at_slot_0(&team, 2, Some(Duration::ZERO), &[0, 1, 2, 3]);
    at_slot_0(&team, 5, long, &[1, 2, 3]);
    // So does all work where the policy is off.
    at_slot_0(&parked(4, Policies::NONE), 2, None, &[1, 2, 3]);
}

#[test]
fn those_outside_of_the_active_width_may_sleep() {
    let long = Some(Duration::from_secs(1));
    let team = parked(4, Policies::ALL);
    team.set_active(3);
    team.workers[..2].iter().for_each(|worker| team.sleepers.arrive(worker));
    team.workers[1].prepare_park(0);
    at_slot_0(&team, 3, long, &[1, 2, 3]);
    // Now it is counted.
    team.sleepers.go_away(&team.workers[1]);
    team.workers[1].prepare_park(0);
    at_slot_0(&team, 3, long, &[2, 3]);
}

/// Joins an empty region over all of the team, of which `quick` have done their
/// slots before.
fn join(team: &Team, quick: &[usize]) -> JoinStats {
    let width = team.workers.len() + 1;
    let job = ErasedJob::empty();
    let mut guard = team.caller_lock.acquire(|_| false).unwrap();
    guard.state(|caller| {
        // SAFETY: we hold the lock, what was published before has been joined, and
        // the job borrows nothing.
        let epoch = unsafe { team.publish(width, &job) };
        for &worker in quick {
            assert!(team.workers[worker].claim(epoch));
            team.done(worker).store(epoch.0, Ordering::Release);
        }
        let stats = team.join(epoch, width, job.header(), caller);
        assert!(team.workers.iter().all(|worker| worker.claimed(epoch)));
        // Who sleeps is no sign of a neighbour.
        assert_eq!(caller.absent, stats.looks > 1);
        stats
    })
}

#[test]
fn owners_have_a_grace_unless_they_sleep() {
    for workers in [1, 3, 9] {
        let all: Vec<usize> = (0..workers).collect();
        let team = team(workers, Policies::ALL);
        assert_eq!(join(&team, &all), JoinStats { looks: 0, quiet: true });
        assert_eq!(join(&team, &all[1..]), JoinStats { looks: 1, quiet: false }, "not started");
        assert_eq!(join(&team, &all[..workers - 1]), JoinStats { looks: 1, quiet: false });
        team.workers.iter().for_each(|worker| team.sleepers.arrive(worker));
        assert_eq!(join(&team, &all), JoinStats { looks: 0, quiet: true });
        for looks in [24, 12, 12] {
            assert_eq!(join(&team, &[]), JoinStats { looks, quiet: false }, "late");
        }
        assert_eq!(join(&team, &all), JoinStats { looks: 0, quiet: true });
        assert_eq!(join(&team, &all[1..]), JoinStats { looks: 24, quiet: false }, "one is late");
        // Counted as if one slept: who is awake has his grace all the same.
        team.sleepers.go_away(&team.workers[0]);
        team.workers[0].mark_awake();
        assert_eq!(join(&team, &all[1..]), JoinStats { looks: 12, quiet: false });
    }
}

#[test]
fn a_fork_is_measured_where_nobody_is_late() {
    let team = &parked(1, Policies::ALL);
    let assumed = team.fork_ns();
    // Never where somebody has to be helped.
    (0..200).for_each(|_| region(team, 2, None, |_| ()));
    assert_eq!(team.fork_ns(), assumed);
    std::thread::scope(|scope| {
        scope.spawn(|| team.work(0));
        let begun = Instant::now();
        while team.fork_ns() == assumed && begun.elapsed() < Duration::from_secs(30) {
            region(team, 2, None, |_| ());
        }
        team.stop();
    });
    assert_ne!(team.fork_ns(), assumed);
}

#[test]
fn nobody_leaves_a_cpu_that_no_caller_was_on() {
    let team = team(1, Policies::ALL);
    assert!(!team.caller_cpu().leave(), "no caller is known");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Bound, with no seat to change to.
            let cpu = crate::sys::current_cpu();
            if cpu.is_some_and(|cpu| crate::sys::pin_to(cpu as usize)) {
                team.caller_cpu().note();
                assert!(!team.caller_cpu().leave());
            }
        });
    });
}

#[test]
fn the_clock_is_read_at_each_128th_look() {
    use crate::pool::backoff::WorkerBackoff;
    let mut caller = JoinBackoff::new();
    assert!((1..128).all(|_| !caller.step()), "nobody knows how long that took");
    // A worker whose window is empty parks as soon as it knows.
    let others = Oversubscription::new(false);
    let mut worker = WorkerBackoff::new(SpinWindow::fixed(Duration::ZERO));
    for _ in 0..3 {
        assert!((1..128).all(|_| !worker.step(&others, || false)));
        assert!(worker.step(&others, || false));
        worker.reset();
    }
    (1..100).for_each(|_| assert!(!worker.step(&others, || false)));
    worker.woken();
    assert!((1..128).all(|_| !worker.step(&others, || false)), "a sleep starts it over");
}

#[test]
fn a_pool_knows_whether_it_may_raise_its_callers() {
    for raise in [true, false] {
        let pool = crate::Pool::builder().width(1).caller_qos(raise).build().unwrap();
        assert_eq!(pool.keep_caller_qos, !raise);
    }
}

#[test]
fn the_empty_region_has_its_caller_s_floating_point_state() {
    use crate::sys::fp::State;
    let before = State::current();
    ErasedJob::empty().header().adopt_fp();
    assert_eq!(State::current(), before);
}

#[test]
fn scopes_of_steps_and_threads_have_numbers() {
    use crate::pool::context::scope;
    use crate::sync::context::id;
    let team = team(1, Policies::ALL);
    let (first, second) = (team.steps(scope), team.steps(scope));
    assert_ne!(first, second);
    assert_ne!(id(), std::thread::scope(|threads| threads.spawn(id).join().unwrap()));
}
