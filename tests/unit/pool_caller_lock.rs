//! Tests of `src/pool/caller_lock.rs`, inside of it: what the word becomes.

use super::*;

fn word(lock: &CallerLock<()>) -> u32 {
    lock.line.word.load(Ordering::Relaxed)
}

fn taken(lock: &CallerLock<()>) -> CallerGuard<'_, ()> {
    let guard = lock.acquire(|_| unreachable!("it is free")).unwrap();
    assert_eq!(word(lock), HELD);
    assert!(lock.take_from(FREE).is_none());
    guard
}

#[test]
fn it_is_given_to_all_or_to_who_demands_it() {
    let lock = CallerLock::new(());
    for (demand, after) in [(NOTHING, FREE), (AFTER_REGION, HANDOFF), (AFTER_STEP, HANDOFF)] {
        let guard = taken(&lock);
        lock.demand(demand);
        let moves = lock.line.moves.load(Ordering::Relaxed);
        drop(guard);
        assert_eq!(word(&lock), after);
        assert_eq!(lock.line.moves.load(Ordering::Relaxed), moves.wrapping_add(1));
        assert_eq!(lock.take_from(FREE).is_some(), after == FREE, "a handoff is the head's");
        lock.demand(NOTHING);
        drop(lock.take_as_head(Duration::ZERO));
        assert_eq!(word(&lock), FREE);
    }
}

#[test]
fn it_may_be_taken_again_until_the_batch_is_over() {
    let lock = CallerLock::new(());
    let guard = taken(&lock);
    lock.demand(AFTER_REGION);
    lock.queue.begin_batch_of(Duration::from_secs(3600));
    drop(guard);
    assert_eq!(word(&lock), FREE);
    let guard = taken(&lock);
    lock.queue.begin_batch_of(Duration::ZERO);
    drop(guard);
    assert_eq!(word(&lock), HANDOFF);
}

#[test]
fn who_gets_it_in_turn_is_asked_for_it_if_others_wait() {
    let lock = CallerLock::new(());
    let in_turn = || {
        let guard = lock.wait_in_queue(&|_| unreachable!("it is free")).unwrap();
        let demand = lock.line.demand.load(Ordering::Relaxed);
        drop(guard);
        // Whether the batch was over by then is the clock's matter.
        lock.line.word.store(FREE, Ordering::Relaxed);
        demand
    };
    lock.queue.join();
    assert_eq!(in_turn(), AFTER_REGION);
    assert!(!lock.queue.leave(), "nobody is left");
    assert_eq!(in_turn(), NOTHING);
}

#[test]
fn steps_keep_it_until_somebody_has_waited_for_long() {
    let lock = CallerLock::new(());
    let (first, second) = (taken(&lock).begin_scope(), taken_after_scope(&lock));
    assert_ne!(first, second, "scopes have numbers");
    for (demand, after) in [(NOTHING, second.0), (AFTER_REGION, second.0), (AFTER_STEP, HANDOFF)] {
        let step = lock.retake(second, |_| true).unwrap();
        assert_eq!(word(&lock), HELD);
        lock.demand(demand);
        step.keep(second);
        assert_eq!(word(&lock), after);
    }
    fn taken_after_scope(lock: &CallerLock<()>) -> Scope {
        let first = word(lock);
        assert_eq!((first & KEPT, first >> KIND_BITS), (KEPT, 1));
        lock.end_scope(Scope(first));
        taken(lock).begin_scope()
    }
}

#[test]
fn the_end_of_a_scope_gives_what_the_scope_has() {
    let lock = CallerLock::new(());
    for (demand, after) in [(NOTHING, FREE), (AFTER_REGION, HANDOFF)] {
        let scope = taken(&lock).begin_scope();
        lock.demand(demand);
        lock.end_scope(scope);
        assert_eq!(word(&lock), after);
        lock.demand(NOTHING);
        drop(lock.take_as_head(Duration::ZERO));
    }
    // Somebody was let between.
    let scope = taken(&lock).begin_scope();
    let other = lock.take_as_head(PATIENCE).unwrap();
    lock.end_scope(scope);
    assert_eq!(word(&lock), HELD);
    drop(other);
    assert_eq!(word(&lock), FREE);
}

#[test]
fn the_head_takes_what_is_free_or_his_and_what_is_kept_after_a_while() {
    let lock = CallerLock::new(());
    let scope = taken(&lock).begin_scope();
    assert!(lock.take_as_head(PATIENCE - Duration::from_nanos(1)).is_none());
    let guard = lock.take_as_head(PATIENCE).expect("it has waited for so long");
    assert!(lock.take_as_head(PATIENCE).is_none(), "a region runs");
    guard.keep(scope);
    assert_eq!(word(&lock), scope.0);
}
