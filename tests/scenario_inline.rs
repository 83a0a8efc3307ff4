//! S15: what is not worth a fork is served on the caller's thread, in order.

#[macro_use]
mod common;

use common::cpus;
use common::on_all_threads;
use rowpool::Pool;
use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// The indices that a call visits, in order of time, all on this thread.
fn on_the_caller(call: impl Fn(&(dyn Fn(usize) + Sync))) -> Vec<usize> {
    let me = thread::current().id();
    let visits = Mutex::new(Vec::new());
    call(&|i| {
        assert_eq!(thread::current().id(), me, "on the caller");
        visits.lock().unwrap().push(i);
    });
    visits.into_inner().unwrap()
}

/// Pools whose workers are there and spin: nobody is late.
fn hot_pools() -> Vec<Pool> {
    let hot = |width| {
        let pool = cpus::pool(width);
        on_all_threads(&pool, |_| ());
        pool
    };
    [1, 2, 4, 9].map(hot).into()
}

#[test]
fn s15_no_row_and_one_row() {
    bounded!();
    for pool in hot_pools() {
        for n in [0, 1] {
            let all: Vec<usize> = (0..n).collect();
            for _ in 0..100 {
                assert_eq!(on_the_caller(|see| pool.run(n, see)), all);
                assert_eq!(on_the_caller(|see| pool.for_each_index(n, see)), all);
                let rows = |see: &(dyn Fn(usize) + Sync)| {
                    pool.for_each_row(&mut vec![0; n], |row, _| see(row));
                };
                assert_eq!(on_the_caller(rows), all);
                let chunks = |see: &(dyn Fn(usize) + Sync)| {
                    pool.for_each_chunk(&mut vec![0; 5 * n], 5, |i, _| see(i));
                };
                assert_eq!(on_the_caller(chunks), all);
            }
        }
    }
}

/// One range, for one slot.
#[test]
fn s15_one_index_is_one_range() {
    bounded!();
    for pool in hot_pools() {
        let see = |see: &(dyn Fn(usize) + Sync)| {
            pool.for_each_range(1, |range| {
                assert_eq!(range, 0..1);
                see(0);
            });
        };
        assert_eq!(on_the_caller(see), [0]);
    }
}

/// What is served inline is no region: the threads are free for those inside.
#[test]
fn s15_one_row_may_fork_itself() {
    bounded!();
    for pool in hot_pools() {
        let slots = || {
            let slots = AtomicUsize::new(0);
            pool.for_each_range(100, |_| common::tick(&slots));
            slots.into_inner()
        };
        let active = pool.active_width();
        pool.run(1, |_| assert_eq!(slots(), active));
        pool.for_each_row(&mut [0], |_, _| assert_eq!(slots(), active));
        pool.with_work(1).run(9, |_| assert_eq!(slots(), active));
        pool.run(9, |_| assert_eq!(slots(), if active == 1 { active } else { 1 }));
    }
}

/// Rows that are told to be tiny: all of them, in order.
#[test]
fn s15_tiny_rows() {
    bounded!();
    for pool in hot_pools() {
        for (rows, ops) in [(2, 1), (10, 10), (64, 16), (1000, 0), (1, usize::MAX)] {
            let all: Vec<usize> = (0..rows).collect();
            for _ in 0..100 {
                let view = pool.with_work(ops);
                assert_eq!(on_the_caller(|see| view.run(rows, see)), all);
                assert_eq!(on_the_caller(|see| view.for_each_index(rows, see)), all);
                let by_row = |see: &(dyn Fn(usize) + Sync)| {
                    view.for_each_row(&mut vec![0; rows], |row, _| see(row));
                };
                assert_eq!(on_the_caller(by_row), all);
            }
        }
    }
}

/// Fewer rows than threads: at most so many threads, no row twice.
#[test]
fn s15_fewer_rows_than_threads() {
    bounded!();
    let pool = cpus::pool(9);
    let owners = on_all_threads(&pool, |_| ());
    for n in 2..9 {
        for _ in 0..100 {
            let seen: Mutex<HashSet<ThreadId>> = Mutex::default();
            let visits = Mutex::new(vec![0; n]);
            pool.for_each_index(n, |i| {
                seen.lock().unwrap().insert(thread::current().id());
                visits.lock().unwrap()[i] += 1;
            });
            assert_eq!(visits.into_inner().unwrap(), vec![1; n]);
            let allowed = &owners[..n.min(owners.len())];
            assert!(seen.into_inner().unwrap().iter().all(|id| allowed.contains(id)));
        }
    }
}

/// The drop-in's gate, which is the original's.
#[test]
fn s15_the_drop_in_below_its_gate() {
    bounded!();
    use rowpool::threads::for_each_row;
    for (rows, cols) in [(0, 1000), (1, usize::MAX), (2, 127_999), (1000, 255)] {
        let by_row = |see: &(dyn Fn(usize) + Sync)| {
            for_each_row(&mut vec![0.0; rows], rows, cols, |row, _| see(row));
        };
        assert_eq!(on_the_caller(by_row), (0..rows).collect::<Vec<_>>());
    }
}

/// Slot 0 is the caller's, in every region, at every width.
#[test]
fn s15_the_caller_runs_slot_0() {
    bounded!();
    let me = thread::current().id();
    for pool in hot_pools() {
        for n in [1, 2, 9, 1000] {
            for _ in 0..100 {
                pool.for_each_range(n, |range| {
                    assert!(range.start != 0 || thread::current().id() == me);
                });
            }
        }
    }
}
