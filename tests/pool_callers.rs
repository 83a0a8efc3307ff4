//! Many callers of one pool, and locks around and inside of their regions.

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, panic_of, Latch};
use rowpool::Pool;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ThreadId};

/// Threads of the test that call a pool.
const CALLERS: usize = 8;

/// Runs `caller(number, others)` on so many threads at once; `others` are the
/// threads of the other callers.
fn callers(caller: impl Fn(usize, &[ThreadId]) + Sync) {
    let ids = Mutex::new(Vec::new());
    let start = Barrier::new(CALLERS);
    thread::scope(|scope| {
        for number in 0..CALLERS {
            let (caller, ids, start) = (&caller, &ids, &start);
            scope.spawn(move || {
                let me = thread::current().id();
                ids.lock().unwrap().push(me);
                start.wait();
                let mut others: Vec<ThreadId> = ids.lock().unwrap().clone();
                others.retain(|id| *id != me);
                assert_eq!(others.len(), CALLERS - 1);
                caller(number, &others);
            });
        }
    });
}

/// S18: each caller holds its own mutex around its regions. A thread that waits
/// runs nobody else's rows: they could want that mutex.
#[test]
fn s18_a_mutex_around_each_callers_regions() {
    bounded!();
    let pool = cpus::pool(3);
    let mine: Vec<Mutex<usize>> = (0..CALLERS).map(|_| Mutex::new(0)).collect();
    callers(|number, others| {
        for _ in 0..1000 {
            let mut held = mine[number].lock().unwrap();
            let count = AtomicUsize::new(0);
            pool.run(6, |_| {
                assert!(!others.contains(&thread::current().id()), "a foreign row");
                count.fetch_add(1, Ordering::Relaxed);
            });
            *held += count.into_inner();
        }
    });
    assert!(mine.into_iter().all(|held| held.into_inner().unwrap() == 6000));
}

/// S18: tasks that take a mutex briefly.
#[test]
fn s18_tasks_that_take_one_mutex() {
    bounded!();
    let pool = cpus::pool(3);
    let sum = Mutex::new(0);
    callers(|_, _| {
        for _ in 0..100 {
            pool.for_each_index(24, |i| *sum.lock().unwrap() += i);
        }
    });
    assert_eq!(sum.into_inner().unwrap(), CALLERS * 100 * 276);
}

/// S23: right results for all, and all come to their end.
#[test]
fn s23_eight_callers_a_thousand_regions_each() {
    bounded!();
    for width in [2, 4] {
        let pool = cpus::pool(width);
        let finished = AtomicUsize::new(0);
        callers(|number, _| {
            let mut rows = vec![0usize; 64];
            for round in 0..1000 {
                pool.for_each_row(&mut rows, |row, out| *out = number * 1000 + round + row);
                assert!(rows
                    .iter()
                    .enumerate()
                    .all(|(row, out)| *out == number * 1000 + round + row));
            }
            finished.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(finished.into_inner(), CALLERS);
        assert_eq!(on_all_threads(&pool, |_| ()).len(), pool.active_width());
    }
}

/// S23: as above, through the drop-in module and the global pool.
#[test]
fn s23_eight_callers_of_the_drop_in() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        callers(|number, _| {
            let mut y = vec![0.0; 64];
            for round in 0..300 {
                let add = (number * 1000 + round) as f32;
                rowpool::threads::for_each_row(&mut y, 64, 4000, |row, out| {
                    *out = row as f32 + add
                });
                assert!(y.iter().enumerate().all(|(row, out)| *out == row as f32 + add));
            }
        });
    });
}

/// Some of them panic: theirs is raised to them, and nobody else notices.
#[test]
fn callers_whose_regions_panic() {
    bounded!();
    let pool = cpus::pool(3);
    callers(|number, _| {
        for round in 0..100 {
            let region = || {
                pool.for_each_index(24, |i| {
                    if number % 2 == 0 && i == round % 24 {
                        std::panic::resume_unwind(Box::new(number));
                    }
                });
            };
            match number % 2 {
                0 => assert_eq!(panic_of(region).downcast_ref(), Some(&number)),
                _ => region(),
            }
        }
    });
}

/// A region of 100 rows, by the count of its calls.
fn count(pool: &Pool) -> usize {
    let rows = AtomicUsize::new(0);
    pool.for_each_index(100, |_| common::tick(&rows));
    rows.into_inner()
}

/// The cycle: a caller holds a mutex while it waits for its turn, and a slot of
/// the running region wants that mutex. The caller gives up after 20 ms without
/// movement and runs its rows itself.
#[test]
fn s18_a_slot_wants_what_a_waiting_caller_holds() {
    bounded!();
    for width in [1, 2, 4] {
        let pool = cpus::pool(width);
        for wanting in 0..width {
            let held = Mutex::new(0);
            let (running, locked) = (Latch::default(), Latch::default());
            thread::scope(|scope| {
                scope.spawn(|| {
                    running.wait();
                    let mut held = held.lock().unwrap();
                    locked.open();
                    *held += count(&pool);
                });
                pool.run(width, |slot| {
                    if slot == wanting {
                        running.open();
                        locked.wait();
                        *held.lock().unwrap() += 1;
                    }
                });
            });
            assert_eq!(held.into_inner().unwrap(), 101, "width {width} slot {wanting}");
        }
    }
}

/// The same with a queue: several callers wait behind the one that holds it.
#[test]
fn s18_a_queue_behind_the_cycle() {
    bounded!();
    let pool = cpus::pool(3);
    let held = Mutex::new(0);
    let (running, locked) = (Latch::default(), Latch::default());
    let total = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                running.wait();
                total.fetch_add(count(&pool), Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            running.wait();
            let mut held = held.lock().unwrap();
            locked.open();
            total.fetch_add(count(&pool), Ordering::Relaxed);
            *held += 1;
        });
        pool.run(3, |slot| {
            if slot == 0 {
                running.open();
                locked.wait();
                *held.lock().unwrap() += 1;
            }
        });
    });
    assert_eq!((held.into_inner().unwrap(), total.into_inner()), (2, 400));
    // The pool is as before.
    assert_eq!(on_all_threads(&pool, |_| ()).len(), pool.active_width());
}

/// A slot joins a thread that calls the pool.
#[test]
fn a_slot_joins_a_thread_that_calls_the_pool() {
    bounded!();
    for width in [1, 2, 4] {
        let pool = cpus::pool(width);
        for joining in 0..width {
            pool.run(width, |slot| {
                if slot == joining {
                    let rows = thread::scope(|scope| scope.spawn(|| count(&pool)).join().unwrap());
                    assert_eq!(rows, 100);
                }
            });
        }
        // And a chain: that thread's slot joins another such thread.
        pool.run(width, |slot| {
            if slot == 0 {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        pool.run(width, |slot| {
                            if slot == 0 {
                                thread::scope(|scope| scope.spawn(|| count(&pool)).join().unwrap());
                            }
                        });
                    });
                });
            }
        });
        assert_eq!(count(&pool), 100);
    }
}

/// Who gives up is inside of a region all the same: what its rows open, on whichever
/// pool, runs on its thread, until it is done.
#[test]
fn who_has_given_up_is_inside() {
    bounded!();
    let (pool, other) = (cpus::pool(2), cpus::pool(2));
    let slots = || {
        let slots = AtomicUsize::new(0);
        other.for_each_range(100, |_| common::tick(&slots));
        slots.into_inner()
    };
    let outside = other.active_width();
    let given_up = || {
        let me = thread::current().id();
        pool.run(2, |_| {
            assert_eq!(thread::current().id(), me, "it has given up");
            assert_eq!(slots(), 1);
        });
        assert_eq!(slots(), outside);
        assert_eq!(pool.scope_steps(slots), 1);
        assert_eq!(slots(), outside);
    };
    pool.run(2, |slot| {
        if slot == 0 {
            thread::scope(|scope| scope.spawn(given_up).join().unwrap());
        }
    });
}

/// A long region of one caller does not stop the others for good.
#[test]
fn callers_beside_a_long_region() {
    bounded!();
    let pool = cpus::pool(2);
    let (begun, end) = (Latch::default(), Latch::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(2, |slot| {
                if slot == 0 {
                    begun.open();
                    end.wait();
                }
            });
        });
        begun.wait();
        // The region above ends only after these have.
        let me = thread::current().id();
        for _ in 0..3 {
            pool.for_each_index(10, |_| assert_eq!(thread::current().id(), me, "serially"));
        }
        // Regions inside one of them stay on its thread too, also another pool's.
        let other = cpus::pool(2);
        pool.for_each_index(2, |_| {
            other.run(2, |_| assert_eq!(thread::current().id(), me, "inside, serially"));
        });
        end.open();
    });
    assert_eq!(on_all_threads(&pool, |_| ()).len(), pool.active_width());
}
