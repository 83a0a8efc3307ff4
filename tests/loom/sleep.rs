//! Waking (C3), what hints do, and the end.

use super::*;

/// Parked workers are woken for a region; those who come late find it done.
#[test]
fn regions_that_wake() {
    explore(Some(3), || {
        with_crew(PARKING, Life::Body, |crew| Rows::new(2).regions(crew, &[2, 2], true));
    });
}

#[test]
fn regions_that_wake_two() {
    explore(Some(1), || {
        with_crew(two(PARKING), Life::Body, |crew| Rows::new(3).regions(crew, &[3, 2], true));
    });
}

/// Sleepers' slots cost so much that they are woken in the middle of a region.
#[test]
fn a_debt_that_wakes() {
    let setup = Setup { tick: Duration::from_micros(20), ..two(PARKING) };
    explore(Some(1), move || {
        with_crew(setup, Life::Body, |crew| Rows::new(3).regions(crew, &[3, 3], false));
    });
}

/// Hints change the word that a publication stores to.
fn hints(preemptions: usize, setup: Setup, hint: impl Fn(&Crew) + Send + Sync + Copy + 'static) {
    explore(Some(preemptions), move || {
        with_crew(setup, Life::Body, |crew| {
            let other = {
                let crew = crew.clone();
                thread::spawn(move || hint(&crew))
            };
            Rows::new(2).regions(crew, &[2, 2], false);
            other.join().unwrap();
        });
    });
}

#[test]
fn rest_against_publish() {
    hints(3, SPINNING, Crew::rest);
}

#[test]
fn rest_against_publish_at_a_shared_gate() {
    hints(2, shared(SPINNING), Crew::rest);
}

#[test]
fn wake_against_publish() {
    hints(2, PARKING, Crew::wake);
}

#[test]
fn rest_and_wake_against_publish() {
    hints(2, SPINNING, |crew| {
        crew.rest();
        crew.wake();
    });
}

/// Only what a rest parks is up to be woken: a worker that spins for ever
/// sleeps after `rest`, and is up after `wake`.
#[test]
fn rest_parks_and_wake_ends_it() {
    explore(Some(3), || {
        with_crew(SPINNING, Life::Body, |crew| {
            crew.rest();
            while crew.parked() == 0 {
                thread::yield_now();
            }
            crew.wake();
            while crew.asleep() != 0 {
                thread::yield_now();
            }
            Rows::new(2).regions(crew, &[2], false);
        });
    });
}

// Sleeping and waking by themselves: a lost wake is a deadlock here.

/// `workers` sleep one night each while `wake` runs on another thread. They
/// look at the news before they sleep, and stay up for wakes after `since`.
fn night(
    preemptions: Option<usize>,
    workers: usize,
    since: Option<u32>,
    wake: impl Fn(&Dormitory, &AtomicU32) + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let house = Arc::new((Dormitory::new(workers), AtomicU32::new(0)));
        let sleep = |worker| {
            let house = Arc::clone(&house);
            thread::spawn(move || {
                house.0.night(worker, since, || house.1.load(Ordering::Relaxed) != 0);
            })
        };
        let sleepers: Vec<_> = (0..workers).map(sleep).collect();
        wake(&house.0, &house.1);
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

/// As `Team::publish`, then C3.
fn publish_and_wake(dormitory: &Dormitory, news: &AtomicU32) {
    news.store(1, Ordering::Release);
    dormitory.wake();
}

/// As `Pool::wake` at rest.
fn stir_and_wake(dormitory: &Dormitory, news: &AtomicU32) {
    news.fetch_or(1, Ordering::Relaxed);
    dormitory.wake();
}

#[test]
fn park_against_wake() {
    night(None, 1, Some(0), |dormitory, _| dormitory.wake());
}

/// One is woken by the caller, and wakes the other.
#[test]
fn two_park_against_wake() {
    night(Some(2), 2, Some(0), |dormitory, _| dormitory.wake());
}

/// A worker that saw the wake before it looked at the news has to see these.
#[test]
fn park_against_publish() {
    night(None, 1, None, publish_and_wake);
}

#[test]
fn park_against_stir() {
    night(None, 1, None, stir_and_wake);
}

#[test]
fn two_park_against_publish() {
    night(Some(2), 2, None, publish_and_wake);
}

/// Two wakes at once, each with its news.
#[test]
fn park_against_two_wakes() {
    night(Some(2), 1, None, |dormitory, news| {
        news.store(1, Ordering::Release);
        dormitory.wake();
        dormitory.wake();
    });
}

#[test]
fn two_park_against_stop() {
    night(Some(3), 2, None, |dormitory, news| {
        news.fetch_or(1, Ordering::Release);
        dormitory.wake_all();
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
    explore(Some(3), || with_crew(SPINNING, Life::End, Crew::rest));
}
