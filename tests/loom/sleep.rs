//! Waking (C3), what hints do, and the end.

use super::*;

/// Parked workers are woken for a region; those who come late find it done.
#[test]
fn regions_that_wake() {
    explore(Some(3), || {
        with_team(PARKING, Life::Body, |team| Rows::new(2).regions(team, &[2, 2], true));
    });
}

#[test]
fn regions_that_wake_two() {
    explore(Some(1), || {
        with_team(two(PARKING), Life::Body, |team| Rows::new(3).regions(team, &[3, 2], true));
    });
}

/// Sleepers' slots cost so much that they are woken in the middle of a region.
#[test]
fn a_debt_that_wakes() {
    let setup = Setup { tick: Duration::from_micros(20), ..two(PARKING) };
    explore(Some(1), move || {
        with_team(setup, Life::Body, |team| Rows::new(3).regions(team, &[3, 3], false));
    });
}

/// Hints change the word that a publication stores to.
fn hints(
    preemptions: usize,
    setup: Setup,
    hint: impl Fn(&ModelTeam) + Send + Sync + Copy + 'static,
) {
    explore(Some(preemptions), move || {
        with_team(setup, Life::Body, |team| {
            let other = {
                let team = team.clone();
                thread::spawn(move || hint(&team))
            };
            Rows::new(2).regions(team, &[2, 2], false);
            other.join().unwrap();
        });
    });
}

#[test]
fn rest_against_publish() {
    hints(3, SPINNING, ModelTeam::rest);
}

#[test]
fn rest_against_publish_at_a_shared_gate() {
    hints(2, shared(SPINNING), ModelTeam::rest);
}

#[test]
fn wake_against_publish() {
    hints(2, PARKING, ModelTeam::wake);
}

#[test]
fn rest_and_wake_against_publish() {
    hints(2, SPINNING, |team| {
        team.rest();
        team.wake();
    });
}

/// Only what a rest parks is up to be woken: a worker that spins for ever
/// sleeps after `rest`, and is up after `wake`.
#[test]
fn rest_parks_and_wake_ends_it() {
    explore(Some(3), || {
        with_team(SPINNING, Life::Body, |team| {
            team.rest();
            while team.parked() == 0 {
                thread::yield_now();
            }
            team.wake();
            while team.asleep() != 0 {
                thread::yield_now();
            }
            Rows::new(2).regions(team, &[2], false);
        });
    });
}

/// A region ends a rest: who was woken for it does not park again.
#[test]
fn a_region_ends_a_rest() {
    explore(Some(2), || {
        with_team(SPINNING, Life::Body, |team| {
            team.rest();
            while team.parked() == 0 || team.asleep() == 0 {
                thread::yield_now();
            }
            Rows::new(2).regions(team, &[2], true);
            while team.asleep() != 0 {
                thread::yield_now();
            }
            (0..4).for_each(|_| thread::yield_now());
            assert_eq!(team.asleep(), 0);
        });
    });
}

// Sleeping and waking by themselves: a lost wake is a deadlock here.

/// `workers` sleep once each while `wake` runs on another thread, each after it
/// was away for a moment. They look at the news before they sleep, and stay up
/// for wakes after `since`.
fn asleep(
    preemptions: Option<usize>,
    workers: usize,
    since: Option<u32>,
    wake: impl Fn(&ModelSleepers, &AtomicU32) + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let house = Arc::new((ModelSleepers::new(workers), AtomicU32::new(0)));
        let sleep = |worker| {
            let house = Arc::clone(&house);
            thread::spawn(move || {
                let changed = || house.1.load(Ordering::Relaxed) != 0;
                house.0.sleep_once(worker, workers == 1, since, changed);
            })
        };
        let sleepers: Vec<_> = (0..workers).map(sleep).collect();
        wake(&house.0, &house.1);
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
        assert_eq!(house.0.count(), 0, "everybody is up");
    });
}

/// As `Team::publish`, then C3.
fn publish_and_wake(sleepers: &ModelSleepers, news: &AtomicU32) {
    news.store(1, Ordering::Release);
    sleepers.wake();
}

/// As `Pool::wake` at rest.
fn clear_rest_and_wake(sleepers: &ModelSleepers, news: &AtomicU32) {
    news.fetch_or(1, Ordering::Relaxed);
    sleepers.wake();
}

#[test]
fn park_against_wake() {
    asleep(None, 1, Some(0), |sleepers, _| sleepers.wake());
}

/// One is woken by the caller, and wakes the other.
#[test]
fn two_park_against_wake() {
    asleep(Some(2), 2, Some(0), |sleepers, _| sleepers.wake());
}

/// A worker that saw the wake before it looked at the news has to see these.
#[test]
fn park_against_publish() {
    asleep(None, 1, None, publish_and_wake);
}

#[test]
fn park_against_clear_rest() {
    asleep(None, 1, None, clear_rest_and_wake);
}

#[test]
fn two_park_against_publish() {
    asleep(Some(2), 2, None, publish_and_wake);
}

/// A guest's work for one worker (`Pool::rouse`).
#[test]
fn park_against_rouse() {
    asleep(None, 1, None, |sleepers, news| {
        news.store(1, Ordering::Release);
        sleepers.rouse(0);
    });
}

/// Two wakes at once, each with its news.
#[test]
fn park_against_two_wakes() {
    asleep(Some(2), 1, None, |sleepers, news| {
        news.store(1, Ordering::Release);
        sleepers.wake();
        sleepers.wake();
    });
}

#[test]
fn two_park_against_stop() {
    asleep(Some(3), 2, None, |sleepers, news| {
        news.fetch_or(1, Ordering::Release);
        sleepers.wake_all();
    });
}

// The end.

#[test]
fn stop_while_a_worker_starts() {
    for setup in [SPINNING, PARKING, shared(PARKING)] {
        regions(None, setup, Life::Whole, &[]);
    }
}

#[test]
fn stop_while_a_worker_is_parked() {
    regions(None, PARKING, Life::End, &[]);
}

#[test]
fn stop_while_a_worker_spins() {
    regions(None, SPINNING, Life::End, &[]);
}

#[test]
fn stop_while_a_worker_goes_to_park_after_a_region() {
    regions(Some(2), PARKING, Life::Whole, &[2]);
}

#[test]
fn stop_while_two_workers_park() {
    for setup in [two(PARKING), shared(two(PARKING))] {
        regions(Some(2), setup, Life::Whole, &[]);
    }
}

#[test]
fn stop_at_rest() {
    explore(Some(3), || with_team(SPINNING, Life::End, ModelTeam::rest));
}
