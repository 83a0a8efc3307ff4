//! The active width: what regions use of a pool's threads.

#[macro_use]
mod common;
#[path = "common/cpus.rs"]
mod cpus;

use rowpool::Pool;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// The ranges of a region over `n` indices.
fn ranges(pool: &Pool, n: usize) -> usize {
    let ranges: Mutex<Vec<Range<usize>>> = Mutex::default();
    pool.for_each_range(n, |range| ranges.lock().unwrap().push(range));
    let ranges = ranges.into_inner().unwrap();
    assert_eq!(ranges.iter().map(Range::len).sum::<usize>(), n);
    ranges.len()
}

/// The threads that some regions of every shape use.
fn threads(pool: &Pool) -> HashSet<ThreadId> {
    let seen = Mutex::new(HashSet::new());
    let see = || {
        seen.lock().unwrap().insert(thread::current().id());
    };
    for _ in 0..50 {
        pool.wake();
        pool.broadcast(|_| see());
        pool.for_each_index(1000, |_| see());
        pool.for_each_chunk(&mut [0; 100], 3, |_, _| see());
    }
    seen.into_inner().unwrap()
}

/// S2: never above the CPUs that the process may use, read again when asked.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn s2_the_mask_shrinks_and_grows() {
    bounded!();
    isolated!().run(|| {
        let pool = Pool::new(12).unwrap();
        assert_eq!(pool.active_width(), 12);
        let owners = common::on_all_threads(&pool, |_| ());
        for cpus in [16, 4, 2, 9, 12, 3, 16] {
            cpus::allow(cpus);
            let active = cpus.min(12);
            assert_eq!(pool.active_width(), active);
            assert_eq!(pool.num_threads(), 12, "the width keeps its value");
            assert_eq!(ranges(&pool, 1000), active);
            assert_eq!(common::on_all_threads(&pool, |_| ()), owners[..active], "owners stay");
            let used = threads(&pool);
            assert!(used.iter().all(|id| owners[..active].contains(id)), "of {active}");
        }
    });
}

/// `wake` reads the mask again too: what comes next is sized by it.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn s2_wake_notices_the_mask() {
    bounded!();
    isolated!().run(|| {
        let pool = Pool::new(6).unwrap();
        for cpus in [2, 16, 5, 3] {
            cpus::allow(cpus);
            pool.wake();
            assert_eq!(ranges(&pool, 1000), cpus.min(6));
        }
    });
}

/// Regions of one caller while another changes the width under them.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn s2_the_mask_changes_during_regions() {
    bounded!();
    isolated!().run(|| {
        let pool = Pool::new(5).unwrap();
        let end = common::Latch::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                for cpus in [16, 2, 3, 5].into_iter().cycle() {
                    if end.is_open() {
                        break;
                    }
                    cpus::allow(cpus);
                    pool.active_width();
                    thread::yield_now();
                }
            });
            let mut rows = vec![0; 100];
            for round in 0..3000 {
                pool.for_each_row(&mut rows, |row, out| *out = row + round);
                assert!(rows.iter().enumerate().all(|(row, out)| *out == row + round));
            }
            end.open();
        });
    });
}

#[test]
fn a_pool_wider_than_the_machine() {
    bounded!();
    let pool = cpus::pool(40);
    let active = pool.active_width();
    assert!(active <= thread::available_parallelism().map_or(1, |cpus| cpus.get()));
    assert_eq!(ranges(&pool, 1000), active);
    assert_eq!(ranges(&pool, active), active);
    assert_eq!(ranges(&pool, active - 1), active - 1);
    assert!(threads(&pool).len() <= active);
}
