//! A pool's guest: what each of its hooks is told, by whom, and when its work is
//! done. (`compat/rayon-core` is the guest there is.)

#[macro_use]
mod common;

use rowpool::topology::Topology;
use rowpool::{Guest, Pool};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

const WIDTH: usize = 3;

/// A guest with work for single slots: what it has is found by a look, or, as a
/// letter, only before a region.
#[derive(Default)]
struct Desk {
    work: [AtomicUsize; WIDTH],
    letters: [AtomicUsize; WIDTH],
    done: [AtomicUsize; WIDTH],
    /// Hook, slot that it was told, thread that called it.
    calls: Mutex<BTreeSet<(&'static str, usize, String)>>,
}

impl Desk {
    fn called(&self, hook: &'static str, slot: usize) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.calls.lock().unwrap().insert((hook, slot, name));
    }

    fn was_called(&self, hook: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| call.0 == hook).count()
    }
}

fn take(from: &AtomicUsize) -> bool {
    from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn has(work: &AtomicUsize) -> bool {
    work.load(Ordering::SeqCst) > 0
}

impl Guest for Desk {
    fn look(&self, slot: usize) -> bool {
        self.called("look", slot);
        has(&self.work[slot])
    }
    fn work(&self, slot: usize) {
        self.called("work", slot);
        let found = take(&self.work[slot]) || take(&self.letters[slot]);
        assert!(found, "asked to work for nothing");
        common::tick(&self.done[slot]);
    }
    fn stop_looking(&self, slot: usize) -> bool {
        self.called("stop_looking", slot);
        !has(&self.letters[slot])
    }
    fn park(&self, slot: usize) {
        self.called("park", slot);
    }
    fn pending(&self, slot: usize) -> bool {
        self.called("pending", slot);
        has(&self.work[slot])
    }
    fn rise(&self, slot: usize) {
        self.called("rise", slot);
    }
}

fn desk() -> &'static Desk {
    Box::leak(Box::default())
}

/// One that is never dropped, as wide on every machine.
fn pool() -> &'static Pool {
    let builder = Pool::builder().width(WIDTH).topology(Topology::new(WIDTH)).thread_name("desk");
    Box::leak(Box::new(builder.build().unwrap()))
}

fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::yield_now();
    }
}

#[test]
fn one_guest_is_let_in_and_may_come_again() {
    bounded!();
    let (pool, first, second) = (pool(), desk(), desk());
    assert!(pool.host(first));
    assert!(!pool.host(second));
    assert!(pool.host(first));
    second.work[1].store(1, Ordering::SeqCst);
    first.work[1].store(1, Ordering::SeqCst);
    pool.rouse(1);
    until(|| !has(&first.work[1]));
    assert_eq!(second.was_called("look") + second.was_called("work"), 0);
}

#[test]
fn work_is_done_by_the_slot_that_it_is_for() {
    bounded!();
    let (pool, desk) = (pool(), desk());
    assert!(pool.host(desk));
    for (slot, pieces) in [(2, 3), (1, 2)] {
        desk.work[slot].store(pieces, Ordering::SeqCst);
        pool.rouse(slot);
        until(|| !has(&desk.work[slot]));
    }
    until(|| [1, 2].map(|slot| desk.done[slot].load(Ordering::SeqCst)) == [2, 3]);
    // Regions as ever, with letters that only they deliver.
    for round in 1..=20 {
        desk.letters.iter().skip(1).for_each(common::tick);
        until(|| {
            let mut rows = vec![0; 100];
            pool.for_each_row(&mut rows, |row, out| *out = row + round);
            assert!(rows.iter().enumerate().all(|(row, out)| *out == row + round));
            !desk.letters.iter().any(has)
        });
    }
    until(|| [1, 2].map(|slot| desk.done[slot].load(Ordering::SeqCst)) == [22, 23]);
    assert_eq!(desk.done[0].load(Ordering::SeqCst), 0, "slot 0 is the caller's");
    // To bed and up again: each hook is called for both workers by themselves.
    until(|| {
        pool.rest();
        pool.wake();
        ["look", "work", "stop_looking", "park", "pending", "rise"]
            .iter()
            .all(|hook| desk.was_called(hook) == 2)
    });
    for (hook, slot, thread) in &*desk.calls.lock().unwrap() {
        assert_eq!(*thread, format!("desk-{slot}"), "{hook}({slot})");
    }
}

#[test]
fn who_sleeps_is_roused_for_work() {
    bounded!();
    let (pool, desk) = (pool(), desk());
    assert!(pool.host(desk));
    for pieces in 1..=20 {
        pool.rest();
        until(|| desk.was_called("park") == 2);
        desk.work[1].store(1, Ordering::SeqCst);
        pool.rouse(1);
        until(|| desk.done[1].load(Ordering::SeqCst) == pieces);
    }
    assert_eq!(desk.was_called("work"), 1);
}

/// A guest whose work is there only when a worker that has parked looks again.
#[derive(Default)]
struct Late {
    looks: AtomicUsize,
    work: AtomicUsize,
    done: AtomicUsize,
}

impl Guest for Late {
    fn look(&self, _: usize) -> bool {
        has(&self.work)
    }
    fn work(&self, _: usize) {
        assert!(take(&self.work), "asked to work for nothing");
        common::tick(&self.done);
    }
    fn stop_looking(&self, _: usize) -> bool {
        true
    }
    fn park(&self, _: usize) {
        self.looks.store(0, Ordering::SeqCst);
    }
    fn pending(&self, _: usize) -> bool {
        let again = self.looks.fetch_add(1, Ordering::SeqCst) == 1;
        self.work.store(again.into(), Ordering::SeqCst);
        again
    }
    fn rise(&self, _: usize) {}
}

#[test]
fn who_parks_looks_once_more_after_a_nap() {
    bounded!();
    let builder = Pool::builder().width(2).topology(Topology::new(2)).thread_name("late");
    let pool: &Pool = Box::leak(Box::new(builder.build().unwrap()));
    let late: &Late = Box::leak(Box::default());
    assert!(pool.host(late));
    for pieces in 1..=3 {
        pool.rest();
        until(|| late.done.load(Ordering::SeqCst) >= pieces);
    }
}
