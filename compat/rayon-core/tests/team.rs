//! One team with rowpool: tasks of the global pool and regions of rowpool's are
//! run by the same workers, in each other and beside each other.

mod common;
use common::{bounded, let_workers_sleep, message, pool, tree, Holders};
use rayon_core::{broadcast, current_num_threads, current_thread_index, join, scope, spawn};
use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;

/// One test at a time: some hold as many workers as there are while they wait.
fn alone(test: impl FnOnce() + Send + 'static) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    bounded(test);
}

/// Calls `each` for `0..count` in a region of rowpool's.
fn region(count: usize, each: impl Fn(usize) + Sync) {
    rowpool::global().for_each_index(count, each);
}

/// The sum of `0..count`, by a tree of joins.
fn sum(count: usize) -> usize {
    let sum = AtomicUsize::new(0);
    tree(0, count, &|i| _ = sum.fetch_add(i, SeqCst));
    sum.into_inner()
}

/// Runs all tests of this file in processes with other numbers of threads: one,
/// more than there are CPUs, and more than rowpool's pool has.
#[test]
fn other_widths() {
    let settings: [&[(&str, &str)]; 4] = [
        &[("RAYON_NUM_THREADS", "1")],
        &[("RAYON_NUM_THREADS", "7")],
        &[("RAYON_NUM_THREADS", "4"), ("ROWPOOL_NUM_THREADS", "2")],
        &[("RAYON_NUM_THREADS", "2"), ("ROWPOOL_NUM_THREADS", "3"), ("ROWPOOL_SPIN_US", "0")],
    ];
    for setting in settings {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--skip", "other_widths"])
            .env("ROWPOOL_TEST_THREADS", setting[0].1)
            .envs(setting.iter().copied())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{setting:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}

#[test]
fn the_width_is_as_asked_for() {
    alone(|| match std::env::var("ROWPOOL_TEST_THREADS") {
        Ok(threads) => assert_eq!(current_num_threads().to_string(), threads),
        Err(_) => assert_eq!(current_num_threads(), rowpool::global().num_threads()),
    });
}

#[test]
fn tasks_and_regions_have_the_same_threads() {
    alone(|| {
        let caller = thread::current().id();
        let tasks = broadcast(|_| thread::current().id());
        let regions = Mutex::new(HashSet::new());
        for _ in 0..200 {
            region(64, |_| _ = regions.lock().unwrap().insert(thread::current().id()));
        }
        let mut others = regions.into_inner().unwrap();
        others.remove(&caller);
        if rowpool::global().num_threads() <= current_num_threads() {
            assert!(others.iter().all(|thread| tasks.contains(thread)), "{others:?} {tasks:?}");
        }
        // Rowpool's name says whose they are.
        let names = broadcast(|_| thread::current().name().unwrap_or("").to_owned());
        let hosted = rowpool::global().num_threads().min(current_num_threads());
        for (index, name) in names.iter().enumerate().skip(1) {
            assert_eq!(name.starts_with("rowpool-"), index < hosted, "{names:?}");
        }
    });
}

#[test]
fn a_region_in_a_task() {
    alone(|| {
        for _ in 0..50 {
            let squares = || rowpool::global().map_collect(100, |i| i * i)[99];
            assert_eq!(join(squares, squares), (9801, 9801));
            let all = broadcast(|_| squares());
            assert!(all.into_iter().all(|last| last == 9801));
            let (done, wait) = channel();
            spawn(move || done.send(rowpool::global().map_collect(10, |i| i)[9]).unwrap());
            assert_eq!(wait.recv(), Ok(9));
        }
    });
}

#[test]
fn a_task_in_a_region() {
    alone(|| {
        let other = rowpool::Pool::new(3).unwrap();
        for _ in 0..50 {
            let count = AtomicUsize::new(0);
            let each = |i| {
                assert_eq!(sum(i), i * i.saturating_sub(1) / 2);
                scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|_| _ = count.fetch_add(1, SeqCst));
                    }
                });
            };
            region(20, each);
            other.for_each_index(20, each);
            rowpool::global().scope_steps(|| (0..2).for_each(|_| region(10, each)));
            assert_eq!(count.into_inner(), 3 * 60);
        }
    });
}

#[test]
fn callers_of_both_kinds_take_turns() {
    alone(|| {
        let turn = Barrier::new(2);
        thread::scope(|threads| {
            for who in 0..2 {
                let turn = &turn;
                threads.spawn(move || {
                    for round in 0..300 {
                        // Together in some rounds, after each other in others, and
                        // from sleep in a few.
                        if round % 3 == 0 {
                            turn.wait();
                        }
                        if round % 50 == 0 {
                            let_workers_sleep();
                        }
                        if (round + who) % 2 == 0 {
                            assert_eq!(sum(100), 4950);
                        } else {
                            assert_eq!(rowpool::global().map_collect(100, |i| i)[99], 99);
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn many_callers_of_both_kinds() {
    alone(|| {
        let holders = Holders::new(current_num_threads());
        // In a region, a caller has no index, and a worker may have one.
        let check = |_: usize| current_thread_index().into_iter().for_each(|i| holders.check(i));
        thread::scope(|threads| {
            for who in 0..6 {
                let check = &check;
                threads.spawn(move || {
                    for round in 0..60 {
                        match (who + round) % 3 {
                            0 => region(16, check),
                            1 => tree(0, 16, check),
                            _ => region(4, |i| tree(0, i, check)),
                        }
                        assert_eq!(current_thread_index(), None);
                    }
                });
            }
        });
    });
}

#[test]
fn a_panic_in_either() {
    alone(|| {
        for round in 0..60 {
            let raised = catch_unwind(AssertUnwindSafe(|| {
                region(8, |i| {
                    join(
                        || (),
                        || {
                            if i == 5 {
                                std::panic::panic_any("in a task")
                            }
                        },
                    );
                });
            }));
            assert_eq!(message(raised), "in a task");
            let raised = catch_unwind(AssertUnwindSafe(|| {
                scope(|scope| {
                    scope.spawn(|_| {
                        region(8, |i| {
                            if i == 5 {
                                std::panic::panic_any("in a region")
                            }
                        })
                    });
                });
            }));
            assert_eq!(message(raised), "in a region");
            assert_eq!(sum(round), round * round.saturating_sub(1) / 2);
            region(8, |_| ());
        }
    });
}

#[test]
fn a_half_may_wait_for_the_other_from_outside() {
    alone(|| {
        if current_num_threads() == 1 {
            return;
        }
        for round in 0..80 {
            match round % 8 {
                0 => let_workers_sleep(),
                1 => rowpool::global().rest(),
                2 => rowpool::global().wake(),
                _ => region(8, |_| ()),
            }
            let ((to, from), (back, answer)) = (channel(), channel());
            let (got, ()) = join(
                move || {
                    to.send(round).unwrap();
                    answer.recv().unwrap()
                },
                move || back.send(from.recv().unwrap() + 1).unwrap(),
            );
            assert_eq!(got, round + 1);
        }
    });
}

#[test]
fn all_workers_at_once() {
    alone(|| {
        for round in 0..20 {
            if round % 4 == 0 {
                let_workers_sleep();
            }
            let barrier = Barrier::new(current_num_threads());
            let indices = broadcast(|context| {
                barrier.wait();
                context.index()
            });
            assert!(indices.into_iter().eq(0..current_num_threads()));
        }
    });
}

#[test]
fn a_spawn_runs_with_and_without_a_caller_inside() {
    alone(|| {
        for round in 0..40 {
            if round % 8 == 0 {
                let_workers_sleep();
            }
            let (done, wait) = channel();
            spawn(move || done.send(round).unwrap());
            assert_eq!(wait.recv(), Ok(round));
            if current_num_threads() == 1 {
                continue;
            }
            // A caller holds seat 0 until the spawned closure has run.
            let (done, wait) = channel();
            thread::scope(|threads| {
                let (inside, entered) = channel();
                threads.spawn(move || {
                    scope(move |_| {
                        inside.send(()).unwrap();
                        assert_eq!(wait.recv(), Ok(round));
                    });
                });
                entered.recv().unwrap();
                spawn(move || done.send(round).unwrap());
            });
        }
    });
}

#[test]
fn a_spawn_that_waits_holds_nobody_up() {
    alone(|| {
        if current_num_threads() == 1 {
            return;
        }
        for _ in 0..20 {
            let ((go, wait), (done, ended)) = (channel(), channel());
            spawn(move || {
                done.send(0).unwrap();
                done.send(wait.recv().unwrap()).unwrap();
            });
            // Once it runs, or a worker that waits for another task might begin it.
            assert_eq!(ended.recv(), Ok(0));
            for _ in 0..50 {
                assert_eq!(sum(10), 45);
                region(10, |_| ());
            }
            go.send(7).unwrap();
            assert_eq!(ended.recv(), Ok(7));
        }
    });
}

#[test]
fn a_pool_that_is_dropped_inside() {
    alone(|| {
        for _ in 0..20 {
            let sums = join(
                || pool(2).install(|| sum(20)),
                || {
                    let pool = pool(1);
                    pool.spawn(|| region(4, |_| ()));
                    pool.install(|| rowpool::global().map_collect(5, |i| i)[4])
                },
            );
            assert_eq!(sums, (190, 4));
            region(4, |i| assert_eq!(pool(1).install(|| i), i));
        }
    });
}

/// A region runs in its caller's floating point state; tasks run in a thread's own.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_region_leaves_no_floating_point_state_behind() {
    use std::arch::asm;
    fn set_flushing(on: bool) {
        let mut control = 0u32;
        // SAFETY: both move four bytes between MXCSR and a live local; the bit is
        // flush-to-zero, and nothing else is computed while it is set.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut control);
            control = control & !(1 << 15) | u32::from(on) << 15;
            asm!("ldmxcsr [{}]", in(reg) &control);
        }
    }
    let half = || std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5);
    alone(move || {
        for _ in 0..50 {
            set_flushing(true);
            region(64, |_| assert_eq!(half(), 0.0));
            set_flushing(false);
            assert!(broadcast(|_| half()).into_iter().all(|half| half != 0.0));
        }
    });
}
