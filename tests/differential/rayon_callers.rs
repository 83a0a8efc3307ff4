//! rayon's face, used by several threads at once.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/feigned.rs"]
mod feigned;

use common::tick;
use rowpool::rayon::prelude::*;
use rowpool::rayon::{current_thread_index, ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn pool(width: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(width).build().expect("a pool")
}

/// Several threads use one pool, and the process-wide one.
#[test]
fn several_callers() {
    bounded!();
    let pool = pool(2);
    thread::scope(|s| {
        for caller in 0..4u64 {
            let pool = &pool;
            s.spawn(move || {
                for round in 0..100u64 {
                    let wanted = (0..500).map(|i| i * caller + round).sum::<u64>();
                    let sum =
                        || (0..500u64).into_par_iter().map(|i| i * caller + round).sum::<u64>();
                    assert_eq!(pool.install(sum), wanted);
                    assert_eq!(sum(), wanted);
                }
            });
        }
    });
}

/// S18: engines keep scratch by the thread's index. However long a loop takes, no
/// other caller's loop on this pool has the same indices meanwhile.
#[test]
fn s18_two_callers_never_share_an_index() {
    bounded!();
    let pool = pool(2);
    let users: Vec<AtomicUsize> = (0..2).map(|_| AtomicUsize::new(0)).collect();
    let (met, items) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        (0..200usize).into_par_iter().for_each(|_| {
            let index = current_thread_index().expect("inside of the pool");
            if users[index].fetch_add(1, Ordering::SeqCst) != 0 {
                tick(&met);
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(500) {
                std::hint::spin_loop();
            }
            users[index].fetch_sub(1, Ordering::SeqCst);
            tick(&items);
        });
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| pool.install(work));
        }
    });
    assert_eq!((met.into_inner(), items.into_inner()), (0, 600));
}
