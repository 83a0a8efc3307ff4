//! Tests of `src/pool/caller_queue.rs`, inside of it.

use super::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn only_what_stands_still_for_long_is_given_up() {
    let now = Instant::now();
    let mut still = Still::default();
    let mut look = |ms: u32, moves, blocked| still.for_long(moves, now + ms * MS, || blocked);
    for ms in 0..20 {
        assert!(!look(ms, 7, true), "after {ms} ms");
    }
    assert!(look(20, 7, true));
    assert!(look(21, 7, true), "the next head waits no longer");
    assert!(!look(22, 8, true), "somebody has moved");
    for ms in 23..400 {
        assert!(!look(ms, 8, ms % 20 != 2), "somebody ran after {ms} ms");
    }
    assert!(!look(3, 9, true), "a clock that steps back");
}

#[test]
fn a_batch_is_shared_out() {
    let queue = Queue::new();
    for (waiting, batch) in [(0, 4_000), (2, 4_000), (4, 2_000), (200, 80)] {
        queue.waiting.store(waiting, Ordering::Relaxed);
        assert_eq!(queue.batch(), Duration::from_micros(batch), "{waiting} wait");
    }
}

#[test]
fn a_batch_is_over_when_its_time_is() {
    let mut queue = Queue::new();
    queue.begin_batch();
    assert!(!queue.batch_is_over() || queue.age() >= queue.batch());
    // The clock, moved by hand: the queue is older, or younger than its batch.
    let Some(before) = queue.born.checked_sub(queue.batch()) else { return };
    queue.born += Duration::from_secs(3600);
    assert!(!queue.batch_is_over(), "also by a clock that steps back");
    queue.born = before;
    assert!(queue.batch_is_over());
}

#[test]
fn who_leaves_knows_of_others() {
    let queue = Queue::new();
    queue.join();
    queue.join();
    assert!(queue.leave());
    assert!(!queue.leave());
}
