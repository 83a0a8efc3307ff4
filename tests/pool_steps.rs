//! `scope_steps`: regions under one turn are what they are by themselves, and
//! nobody comes between them.

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, panic_of, text_of, LatePool};
use rowpool::{Pool, Rows};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The slots of one region, as far as threads can tell.
fn ranges(pool: &Pool, n: usize) -> usize {
    let count = AtomicUsize::new(0);
    pool.for_each_range(n, |_| common::tick(&count));
    count.into_inner()
}

/// A region that forks where it can: as many slots as are active.
fn forks(pool: &Pool) -> bool {
    ranges(pool, 1000) == pool.active_width()
}

const WIDTHS: std::ops::RangeInclusive<usize> = 1..=9;

/// One layer: each step reads what the step before has written, the caller
/// works in between.
fn layer(pool: &Pool, x: &[f32]) -> Vec<u32> {
    let n = x.len();
    let (mut q, mut k, mut h) = (vec![0.0f32; n], vec![0.0f32; n / 3], vec![0.0f32; n]);
    let sum = |x: &[f32], row: usize| x.iter().zip(row..).map(|(x, i)| x / (i + 1) as f32).sum();
    pool.rows_of(&mut [Rows::new(&mut q), Rows::new(&mut k)], |output, first, part| {
        (first..).zip(part).for_each(|(row, out)| *out = sum(x, row + output));
    });
    q.reverse();
    pool.for_each_row(&mut h, |row, out| *out = sum(&q, row) + k[row / 3 % k.len()]);
    let norm = pool.reduce(n, |range| h[range].iter().map(|h| h * h).sum::<f32>(), |a, b| a + b);
    let y = pool.with_work(usize::MAX).map_collect(n, |row| h[row] / norm.unwrap());
    pool.for_each_chunk_init(
        &mut h,
        7,
        || 0.0,
        |last, _, chunk| {
            *last = 0.5;
            chunk.iter_mut().for_each(|h| *h *= *last);
        },
    );
    y.into_iter().chain(h).map(f32::to_bits).collect()
}

#[test]
fn the_same_bits_as_regions_by_themselves() {
    bounded!();
    let x: Vec<f32> = (0..301).map(|i| (i as f32 - 150.0) * 1.1f32.powi(i % 40)).collect();
    let serial = layer(&cpus::pool(1), &x);
    for width in WIDTHS {
        let (pool, late) = (cpus::pool(width), LatePool::new(width));
        for pool in [&pool, &late] {
            for _ in 0..5 {
                assert_eq!(pool.scope_steps(|| layer(pool, &x)), serial, "width {width}");
                assert_eq!(layer(pool, &x), serial);
            }
        }
        late.arrive();
        assert_eq!(late.scope_steps(|| layer(&late, &x)), serial);
    }
}

/// Steps are forked, on all threads where they come.
#[test]
fn every_thread_takes_part_in_each_step() {
    bounded!();
    for width in [2, 4, 9] {
        let pool = cpus::pool(width);
        let threads = on_all_threads(&pool, |_| ());
        pool.scope_steps(|| {
            for _ in 0..3 {
                assert_eq!(on_all_threads(&pool, |_| ()), threads);
                assert!(forks(&pool));
            }
        });
        assert_eq!(on_all_threads(&pool, |_| ()), threads);
    }
}

#[test]
fn late_owners_are_relieved_in_each_step() {
    bounded!();
    for width in WIDTHS {
        let pool = LatePool::new(width);
        let me = thread::current().id();
        pool.scope_steps(|| {
            for _ in 0..10 {
                let slots = AtomicUsize::new(0);
                pool.for_each_range(100, |_| {
                    assert_eq!(thread::current().id(), me);
                    common::tick(&slots);
                });
                assert_eq!(slots.into_inner(), pool.active_width());
            }
        });
    }
}

/// Sleepers are woken in a step, if that is worth it.
#[test]
fn sleepers_are_woken_in_a_step() {
    bounded!();
    let pool = cpus::builder().width(3).spin_window(Duration::ZERO).build().unwrap();
    let threads = on_all_threads(&pool, |_| ());
    pool.scope_steps(|| {
        let all = (0..1000).any(|_| {
            thread::sleep(Duration::from_micros(200));
            let seen = Mutex::new(Vec::new());
            pool.with_work(1 << 30).for_each_range(3, |_| {
                thread::sleep(Duration::from_millis(1));
                seen.lock().unwrap().push(thread::current().id());
            });
            threads.iter().all(|id| seen.lock().unwrap().contains(id))
        });
        assert!(all || pool.active_width() < 3);
    });
}

#[test]
fn a_value_comes_out() {
    bounded!();
    let pool = cpus::pool(2);
    let text = String::from("moved");
    assert_eq!(pool.scope_steps(move || text), "moved");
    let nothing: () = pool.scope_steps(|| ());
    assert_eq!(nothing, ());
    assert!(forks(&pool), "the turn was given");
}

#[test]
fn a_panic_cancels_the_later_steps() {
    bounded!();
    for width in WIDTHS {
        let (pool, late) = (cpus::pool(width), LatePool::new(width));
        for pool in [&pool, &late] {
            for (step, row) in [(0, 0), (1, 99), (2, 50), (3, 0)] {
                let steps = Mutex::new([0; 4]);
                let payload = panic_of(|| {
                    pool.scope_steps(|| {
                        for at in 0..4 {
                            pool.for_each_index(100, |i| {
                                steps.lock().unwrap()[at] += 1;
                                if (at, i) == (step, row) {
                                    std::panic::resume_unwind(Box::new(at));
                                }
                            });
                        }
                    });
                });
                assert_eq!(payload.downcast_ref(), Some(&step));
                let steps = steps.into_inner().unwrap();
                assert!(steps[..step].iter().all(|&calls| calls == 100), "{steps:?}");
                assert!(steps[step] > 0 && steps[step + 1..].iter().all(|&calls| calls == 0));
                assert!(forks(pool), "the turn was given");
            }
            let between = panic_of(|| {
                pool.scope_steps(|| {
                    assert!(forks(pool));
                    panic!("between");
                })
            });
            assert_eq!(text_of(&*between), "between");
            assert!(forks(pool), "the turn was given");
        }
    }
}

/// `f` may go on after a panic that it has caught.
#[test]
fn a_caught_panic_is_over() {
    bounded!();
    let pool = cpus::pool(3);
    pool.scope_steps(|| {
        for _ in 0..20 {
            let payload = panic_of(|| pool.for_each_index(9, |i| assert!(i != 8, "caught")));
            assert_eq!(text_of(&*payload), "caught");
            assert!(forks(&pool));
        }
    });
}

#[test]
fn regions_inside_of_a_step_are_inline() {
    bounded!();
    for width in [2, 4] {
        let (pool, other) = (cpus::pool(width), cpus::pool(3));
        pool.scope_steps(|| {
            pool.run(2 * width, |_| {
                assert_eq!((ranges(&pool, 100), ranges(&other, 100)), (1, 1));
                // And so are steps.
                let steps = pool.scope_steps(|| other.scope_steps(|| ranges(&pool, 100)));
                assert_eq!(steps, 1);
            });
            assert!(forks(&pool), "and afterwards they are not");
        });
    }
}

#[test]
fn steps_inside_of_steps() {
    bounded!();
    let (pool, other) = (cpus::pool(4), cpus::pool(3));
    pool.scope_steps(|| {
        assert_eq!(ranges(&other, 100), 1, "the turns of two pools are not held at once");
        pool.scope_steps(|| assert!(forks(&pool)));
        other.scope_steps(|| {
            assert!(forks(&pool), "still a step of the outer one");
            assert_eq!(ranges(&other, 100), 1);
        });
        assert!(forks(&pool));
    });
    assert!(forks(&pool) && forks(&other));
}

/// Others wait, and get the pool when the scope ends; or between two steps, if
/// they have waited for 20 ms, or after who has, before the scope's next step.
#[test]
fn nobody_comes_between_two_steps() {
    bounded!();
    let pool = cpus::pool(3);
    let inside = AtomicBool::new(false);
    let stop = AtomicBool::new(false);
    let others = AtomicUsize::new(0);
    // Steps so far, and that after which somebody was let in. Changed by who has the
    // pool.
    let (steps, let_in) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let asked = Instant::now();
                    pool.for_each_range(3, |range| {
                        if range.len() == 1 {
                            let now = steps.load(Ordering::SeqCst);
                            if asked.elapsed() >= Duration::from_millis(20) {
                                let_in.store(now, Ordering::SeqCst);
                            }
                            let may = let_in.load(Ordering::SeqCst) == now;
                            assert!(may || !inside.load(Ordering::SeqCst));
                            common::tick(&others);
                        }
                    });
                }
            });
        }
        let begun = Instant::now();
        while others.load(Ordering::SeqCst) < 50 && begun.elapsed() < Duration::from_secs(10) {
            pool.scope_steps(|| {
                inside.store(true, Ordering::SeqCst);
                for _ in 0..5 {
                    let ranges = AtomicUsize::new(0);
                    pool.for_each_range(3, |range| {
                        common::tick(&ranges);
                        if range.contains(&0) {
                            common::tick(&steps);
                        }
                    });
                    assert_eq!(ranges.into_inner(), pool.active_width());
                    thread::yield_now();
                }
                inside.store(false, Ordering::SeqCst);
            });
            thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert!(others.into_inner() > 0, "others had turns");
}

/// A scope that lasts, but moves, is waited for; what `f` itself waits for is
/// not kept for ever.
#[test]
fn others_wait_for_steps_and_not_for_nothing() {
    bounded!();
    let pool = cpus::pool(2);
    if pool.active_width() < 2 {
        return cannot_check!("cpus", "the others would not run in parallel");
    }
    // A busy machine may stop somebody for 20 ms, not each time.
    let waited = (0..20).any(|_| {
        let begun = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                while !begun.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                ranges(&pool, 2)
            });
            pool.scope_steps(|| {
                begun.store(true, Ordering::SeqCst);
                let over = Instant::now() + Duration::from_millis(60);
                while Instant::now() < over {
                    assert!(forks(&pool));
                    thread::sleep(Duration::from_millis(1));
                }
            });
            waiting.join().unwrap() == 2
        })
    });
    assert!(waited, "nobody was patient enough to run in parallel");
    // A deadlock, if callers waited for ever: who waits is let between two steps.
    let slots = pool
        .scope_steps(|| thread::scope(|scope| scope.spawn(|| ranges(&pool, 2)).join().unwrap()));
    assert_eq!(slots, 2);
    assert!(forks(&pool));
}

#[test]
fn the_process_wide_pool_has_steps() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        use rowpool::{par, threads};
        let width = cpus::global().active_width();
        let count = |call: &dyn Fn(&(dyn Fn() + Sync))| {
            let slots = Mutex::new(Vec::new());
            call(&|| slots.lock().unwrap().push(thread::current().id()));
            slots.into_inner().unwrap().len()
        };
        rowpool::global().scope_steps(|| {
            assert_eq!(count(&|tick| par::for_each_index_init(100, tick, |(), _| ())), width);
            // One state per slot.
            let states = |tick: &(dyn Fn() + Sync)| {
                let mut y = [0.0f32; 300];
                threads::for_each_chunk_init(&mut y, 1, 100_000, tick, |(), _, _| ());
            };
            assert_eq!(count(&states), width);
        });
    });
}

/// A child of a thread that keeps the turn has no threads, and no turn to give.
#[test]
#[cfg(unix)]
fn a_fork_child_between_steps() {
    bounded!();
    isolated!().run(|| {
        let pool = cpus::pool(3);
        let child = pool.scope_steps(|| {
            assert!(forks(&pool));
            // SAFETY: the child uses what it has: memory, and its one thread.
            let child = unsafe { libc::fork() };
            if child == 0 {
                assert_eq!(ranges(&pool, 100), 1);
            } else {
                assert!(forks(&pool));
            }
            child
        });
        assert!(child >= 0);
        if child == 0 {
            let right = ranges(&pool, 100) == 1 && pool.scope_steps(|| ranges(&pool, 100)) == 1;
            // SAFETY: ends the child, without the parent's destructors.
            unsafe { libc::_exit(if right { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status}");
        assert!(forks(&pool));
    });
}
