//! `join`: both halves run, what they raise, and halves that wait for each
//! other.

mod common;
use common::{bounded, let_workers_sleep, message, pool, tree};
use rayon_core::{join, join_context};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

#[test]
fn both_halves_run_after_a_panic() {
    bounded(|| {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for round in 0..200 {
                let ran = AtomicUsize::new(0);
                let (left, right) = (round % 3 != 0, round % 3 != 1);
                let half = |panics: bool, text: &'static str| {
                    ran.fetch_add(1, Relaxed);
                    if panics {
                        std::panic::panic_any(text);
                    }
                };
                let raised = catch_unwind(AssertUnwindSafe(|| {
                    pool.join(|| half(left, "left"), || half(right, "right"))
                }));
                assert_eq!(message(raised), if left { "left" } else { "right" });
                assert_eq!(ran.into_inner(), 2);
            }
        }
    });
}

#[test]
fn every_leaf_of_a_tree_runs_once() {
    bounded(|| {
        for threads in [1, 2, 3, 5, 8] {
            let pool = pool(threads);
            for _ in 0..50 {
                let leaves: Vec<_> = (0..333).map(|_| AtomicUsize::new(0)).collect();
                pool.install(|| tree(0, leaves.len(), &|i| _ = leaves[i].fetch_add(1, Relaxed)));
                assert!(leaves.into_iter().all(|leaf| leaf.into_inner() == 1));
            }
        }
    });
}

#[test]
fn a_half_may_wait_for_the_other() {
    bounded(|| {
        for threads in [2, 4] {
            let pool = pool(threads);
            for round in 0..60 {
                if round % 4 == 0 {
                    let_workers_sleep();
                }
                let ((to, from), (back, answer)) = (channel(), channel());
                let (got, ()) = pool.join(
                    move || {
                        to.send(round).unwrap();
                        answer.recv().unwrap()
                    },
                    move || back.send(from.recv().unwrap() + 1).unwrap(),
                );
                assert_eq!(got, round + 1);
            }
        }
    });
}

#[test]
fn a_half_deep_in_a_tree_may_wait_for_the_other() {
    bounded(|| {
        let pool = pool(3);
        for round in 0..60 {
            if round % 6 == 0 {
                let_workers_sleep();
            }
            // The outer join occupies one worker until the inner one, whose
            // halves need two more, is done.
            let ((to, from), (free, freed)) = (channel(), channel::<()>());
            let inner = move || {
                let wait = move || from.recv().unwrap();
                let got = join(wait, move || to.send(round).unwrap()).0;
                drop(free);
                got
            };
            let (got, ()) = pool.install(|| join(inner, move || _ = freed.recv()));
            assert_eq!(got, round);
        }
    });
}

#[test]
fn halves_know_whether_they_moved() {
    bounded(|| {
        let moved = |context: rayon_core::FnContext| context.migrated();
        assert_eq!(join_context(moved, moved), (true, true), "from outside");
        let pool = pool(1);
        assert_eq!(pool.install(|| join_context(moved, moved)), (false, false), "nobody else");
        let pool = common::pool(2);
        for _ in 0..20 {
            let (done, wait) = channel::<()>();
            let second = pool.install(|| {
                let first = move |_| _ = wait.recv();
                join_context(first, |context| {
                    drop(done);
                    context.migrated()
                })
            });
            assert!(second.1, "the first half waited for it");
        }
    });
}

#[test]
fn a_payload_whose_drop_panics_is_survived() {
    struct Worse;
    impl Drop for Worse {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in a drop");
            }
        }
    }
    bounded(|| {
        let pool = pool(1);
        let raised = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| std::panic::panic_any("first"), || std::panic::panic_any(Worse))
        }));
        assert_eq!(message(raised), "first");
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    });
}
