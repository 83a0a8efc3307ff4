//! S12: a `fork()` child has none of the pool's threads. It runs serially,
//! drops what it has, and never waits for anybody.

#![cfg(unix)]

#[macro_use]
mod common;
#[path = "common/forked.rs"]
mod forked;

use common::cpus;
use common::{on_all_threads, panic_of, Latch, LatePool};
use forked::{end_of, fork, quietly, End, GOOD};
use rowpool::Pool;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Every shape, on the calling thread.
fn serial(pool: &Pool) {
    let me = thread::current().id();
    let here = || assert_eq!(thread::current().id(), me);
    for _ in 0..3 {
        let mut rows = vec![0; 1000];
        pool.for_each_row(&mut rows, |row, out| {
            here();
            *out = row;
        });
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row));
        pool.with_work(usize::MAX).for_each_chunk(&mut rows, 7, |i, chunk| {
            here();
            chunk.fill(i);
        });
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row / 7));
        let slots = AtomicUsize::new(0);
        pool.broadcast(|_| {
            here();
            slots.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(slots.into_inner(), pool.num_threads());
        assert_eq!(pool.active_width(), 1);
        pool.wake();
        pool.rest();
        // Panics are raised here too. (No message: a backtrace takes a while.)
        let payload = panic_of(|| pool.run(3, |slot| std::panic::resume_unwind(Box::new(slot))));
        assert_eq!(payload.downcast_ref(), Some(&0usize));
    }
}

/// All of the pool's threads take part.
fn parallel(pool: &Pool) {
    assert_eq!(on_all_threads(pool, |_| ()).len(), pool.active_width());
}

#[test]
fn s12_a_child_of_a_hot_pool() {
    bounded!();
    for width in [1, 2, 4, 12] {
        let pool = cpus::pool(width);
        parallel(&pool);
        assert_eq!(fork(|| serial(&pool)), GOOD);
        parallel(&pool);
    }
}

#[test]
fn s12_a_child_of_a_parked_pool() {
    bounded!();
    let pool = cpus::builder().width(3).thread_name("parked").build().unwrap();
    parallel(&pool);
    pool.rest();
    #[cfg(target_os = "linux")]
    common::tasks::await_asleep(&common::tasks::await_named("parked-", 2));
    assert_eq!(fork(|| serial(&pool)), GOOD);
    parallel(&pool);
}

#[test]
fn s12_a_child_of_a_new_pool_whose_threads_have_not_started() {
    bounded!();
    let pool = LatePool::new(3);
    assert_eq!(fork(|| serial(&pool)), GOOD);
    pool.arrive();
    parallel(&pool);
}

/// Dropping in the child joins nobody, and the parent's pool lives on.
#[test]
fn s12_the_child_drops_the_pool() {
    bounded!();
    for used_before in [false, true] {
        let mut pool = ManuallyDrop::new(cpus::pool(4));
        parallel(&pool);
        let end = fork(|| {
            if used_before {
                serial(&pool);
            }
            // SAFETY: the child's copy; nobody uses it after this.
            unsafe { ManuallyDrop::drop(&mut pool) };
        });
        assert_eq!(end, GOOD);
        // The borrow checker knows of one process only: `pool` is whole here.
        parallel(&pool);
        drop(ManuallyDrop::into_inner(pool));
    }
}

/// The holder of the turn does not exist in the child, nor its region's end.
#[test]
fn s12_fork_in_the_middle_of_another_threads_region() {
    bounded!();
    let pool = cpus::pool(3);
    let (begun, end) = (Latch::default(), Latch::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(3, |slot| {
                if slot == 0 {
                    begun.open();
                    end.wait();
                }
            });
        });
        begun.wait();
        assert_eq!(fork(|| serial(&pool)), GOOD);
        // With others in the queue.
        scope.spawn(|| pool.for_each_index(10, |_| ()));
        scope.spawn(|| pool.for_each_index(10, |_| ()));
        thread::sleep(Duration::from_millis(2));
        assert_eq!(fork(|| serial(&pool)), GOOD);
        end.open();
    });
    parallel(&pool);
}

/// A fork in every phase of other threads' regions.
#[test]
fn s12_forks_under_load() {
    bounded!();
    let pool = cpus::pool(3);
    let end = Latch::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !end.is_open() {
                    pool.for_each_index(100, |_| ());
                }
            });
        }
        for _ in 0..50 {
            assert_eq!(fork(|| serial(&pool)), GOOD);
        }
        end.open();
    });
    parallel(&pool);
}

#[test]
fn s12_the_childs_own_pools_are_whole() {
    bounded!();
    let pool = cpus::pool(3);
    parallel(&pool);
    let end = fork(|| {
        let own = cpus::pool(4);
        parallel(&own);
        serial(&pool);
        own.rest();
        parallel(&own);
        // And a grandchild.
        let end = fork(|| {
            serial(&own);
            serial(&pool);
            parallel(&cpus::pool(2));
            drop(own);
        });
        assert_eq!(end, GOOD);
    });
    assert_eq!(end, GOOD);
    parallel(&pool);
}

/// Whether a region's caller runs is asked by its thread's number, which is another
/// in the child: a second caller there does not take it for asleep.
#[test]
fn s12_one_region_at_a_time_in_the_child() {
    bounded!();
    parallel(&cpus::pool(2));
    let end = fork(|| {
        let own = cpus::pool(2);
        let (open, met) = (Latch::default(), AtomicUsize::new(0));
        let slots = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                open.wait();
                own.run(2, |_| {
                    met.fetch_add(slots.load(Ordering::SeqCst), Ordering::SeqCst);
                });
            });
            own.run(2, |slot| {
                if slot == 0 {
                    slots.store(1, Ordering::SeqCst);
                    open.open();
                    let begun = std::time::Instant::now();
                    while begun.elapsed() < Duration::from_millis(80) {
                        std::hint::spin_loop();
                    }
                    slots.store(0, Ordering::SeqCst);
                }
            });
        });
        assert_eq!(met.into_inner(), 0);
    });
    assert_eq!(end, GOOD);
}

/// A nested call in the child of a slot works; what may not be is to return
/// from the parent's region: half of it would be missing.
#[test]
fn a_child_forked_inside_a_slot() {
    bounded!();
    let pool = cpus::pool(3);
    for forking in 0..3 {
        on_all_threads(&pool, |slot| {
            if slot == forking {
                let end = fork(|| {
                    let calls = AtomicUsize::new(0);
                    pool.for_each_index(100, |_| common::tick(&calls));
                    assert_eq!(calls.into_inner(), 100);
                });
                assert_eq!(end, GOOD);
            }
        });
    }
    parallel(&pool);
}

/// A region that runs a slot body it is given.
type Region<'a> = &'a dyn Fn(&(dyn Fn(usize) + Sync));

/// Runs `region` with a slot body that forks in slot `forking`, and lets the
/// child return, or unwind, from there; gives the ends of the children. One
/// that gets out of the region exits with 7.
fn return_from(region: Region<'_>, forking: usize, unwind: bool) -> Vec<End> {
    let parent = std::process::id();
    let ends = std::sync::Mutex::new(Vec::new());
    let not_in_a_child = || {
        if std::process::id() != parent {
            // SAFETY: ends the child.
            unsafe { libc::_exit(7) };
        }
    };
    let slot = |slot| {
        if slot == forking {
            not_in_a_child();
            // SAFETY: as in `fork`; the child goes on to the end of its slot,
            // where the library has to stop it.
            match unsafe { libc::fork() } {
                0 => {
                    quietly();
                    if unwind {
                        std::panic::resume_unwind(Box::new("from the slot"));
                    }
                }
                pid => ends.lock().unwrap().push(end_of(pid)),
            }
        }
    };
    let out = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| region(&slot)));
    not_in_a_child();
    assert!(out.is_ok());
    ends.into_inner().unwrap()
}

/// Checks that, for each slot of a pool of three threads.
fn aborts_in_each_slot(region: Region<'_>) {
    for forking in 0..3 {
        for unwind in [false, true] {
            let ends = return_from(region, forking, unwind);
            assert!(!ends.is_empty());
            let aborted = End::Signal(libc::SIGABRT);
            assert!(ends.iter().all(|end| *end == aborted), "slot {forking}: {ends:?}");
        }
    }
}

#[test]
fn a_child_that_returns_from_a_slot_aborts() {
    bounded!();
    let pool = cpus::pool(3);
    aborts_in_each_slot(&|slot| drop(on_all_threads(&pool, slot)));
    parallel(&pool);
}

/// The slots of late owners, which the caller runs, are no exception.
#[test]
fn a_child_that_returns_from_a_relieved_slot_aborts() {
    bounded!();
    let pool = LatePool::new(3);
    if pool.active_width() == 3 {
        aborts_in_each_slot(&|slot| pool.run(3, slot));
    }
    pool.arrive();
    parallel(&pool);
}

/// A region that runs serially anyway has no threads to miss.
#[test]
fn a_child_may_return_from_an_inline_region() {
    bounded!();
    let pool = cpus::pool(1);
    let mut pid = -1;
    let forked = std::sync::Mutex::new(&mut pid);
    pool.for_each_index(3, |i| {
        if i == 1 {
            // SAFETY: as in `fork`.
            **forked.lock().unwrap() = unsafe { libc::fork() };
        }
    });
    if pid == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    assert_eq!(end_of(pid), GOOD);
}

#[test]
fn s12_the_global_pool_in_a_child() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        // Before it exists: the child builds its own.
        assert_eq!(fork(|| parallel(cpus::global())), GOOD);
        parallel(cpus::global());
        let drop_in = || {
            let mut y = vec![0.0; 1000];
            rowpool::threads::for_each_row(&mut y, 1000, 1000, |row, out| *out = row as f32);
            assert!(y.iter().enumerate().all(|(row, out)| *out == row as f32));
            assert_eq!(rowpool::threads::gemv_num_threads(), 3);
            assert_eq!(rowpool::threads::init_cpu_pool(), None);
        };
        drop_in();
        let end = fork(|| {
            serial(cpus::global());
            drop_in();
        });
        assert_eq!(end, GOOD);
        parallel(cpus::global());
        drop_in();
    });
}
