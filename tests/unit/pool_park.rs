//! Tests of `src/pool/park.rs`, inside of it: who is woken, by workers that have
//! no thread.

use super::*;

/// Workers that all have parked after `wakes` wakes.
fn parked(workers: usize) -> (Sleepers, Vec<WorkerState>) {
    let sleepers = Sleepers::new(workers);
    let workers: Vec<_> = (0..workers).map(|_| WorkerState::new()).collect();
    workers.iter().for_each(|worker| worker.prepare_park(0));
    (sleepers, workers)
}

fn still_parked(workers: &[WorkerState]) -> Vec<usize> {
    (0..workers.len()).filter(|&worker| workers[worker].parked()).collect()
}

#[test]
fn a_wake_is_passed_on_by_two_up_to_its_reach() {
    let (sleepers, workers) = parked(6);
    assert!(sleepers.wake_up(&workers, 5));
    assert_eq!(still_parked(&workers), [1, 2, 3, 4, 5]);
    sleepers.pass_on(&workers);
    assert_eq!(still_parked(&workers), [3, 4, 5]);
    sleepers.pass_on(&workers);
    assert_eq!(still_parked(&workers), [5], "outside of the reach");
    sleepers.pass_on(&workers);
    assert_eq!(still_parked(&workers), [5]);
    assert!(!sleepers.wake_up(&workers, 5), "nobody was there to be woken");
    assert!(sleepers.wake_up(&workers, 6));
    assert_eq!(still_parked(&workers), [0; 0]);
}

#[test]
fn who_has_been_up_since_a_wake_is_left_alone_by_it() {
    let (sleepers, workers) = parked(3);
    assert!(sleepers.wake_up(&workers, 3));
    // The first came, found nothing and parks again.
    sleepers.arrive(&workers[0]);
    assert_eq!(sleepers.count(), 2);
    workers[0].prepare_park(sleepers.wakes());
    sleepers.pass_on(&workers);
    assert_eq!(still_parked(&workers), [0]);
    assert!(sleepers.wake_up(&workers, 3), "the next wake is for it too");
    assert_eq!(still_parked(&workers), [0; 0]);
}

#[test]
fn nobody_is_looked_for_where_nobody_sleeps() {
    let (sleepers, workers) = parked(2);
    workers.iter().for_each(|worker| sleepers.arrive(worker));
    assert_eq!(sleepers.count(), 0);
    // A state that the count does not know of, to see that nobody looks.
    workers[0].prepare_park(0);
    assert!(!sleepers.wake_up(&workers, 2));
    sleepers.pass_on(&workers);
    assert_eq!(still_parked(&workers), [0]);
    assert_eq!(sleepers.wakes(), 1, "the news of it");
    sleepers.wake_all(&workers);
    assert_eq!(still_parked(&workers), [0; 0]);
}

#[test]
fn who_finds_news_does_not_sleep() {
    let sleepers = Sleepers::new(1);
    let worker = WorkerState::new();
    sleepers.arrive(&worker);
    assert!(!sleepers.park(&worker, sleepers.wakes(), || true), "it got up by itself");
    assert!(!sleepers.wake_up(&[], 0));
    assert!(!sleepers.park(&worker, 0, || false), "a wake came before");
    // One who wakes it while it looks: then the wake is to be passed on.
    let woken = sleepers.park(&worker, 1, || {
        assert!(sleepers.wake_up(std::slice::from_ref(&worker), 1));
        true
    });
    assert!(woken);
    assert!(!worker.away());
    sleepers.go_away(&worker);
    assert!(worker.away() && !worker.parked());
    assert_eq!(sleepers.count(), 1);
}
