//! Spawns, scopes and broadcasts: they run, once each, also when nobody waits,
//! when workers sleep, and when they wait for each other.

mod common;
use common::{bounded, let_workers_sleep, message, pool};
use rayon_core::ThreadPoolBuilder;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};

#[test]
fn a_spawn_runs_though_nobody_joins() {
    bounded(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads);
            for round in 0..30 {
                if round % 5 == 0 {
                    let_workers_sleep();
                }
                let (done, wait) = channel();
                pool.spawn(move || done.send(round).unwrap());
                assert_eq!(wait.recv(), Ok(round));
                // Left behind on the lent seat.
                let (done, wait) = channel();
                pool.install(|| rayon_core::spawn(move || done.send(round).unwrap()));
                assert_eq!(wait.recv(), Ok(round));
            }
        }
    });
}

#[test]
fn what_was_spawned_outlives_the_handle() {
    bounded(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ended);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
            .build()
            .unwrap();
        let ((go, wait), (done, all)) = (channel::<()>(), channel());
        pool.spawn(move || {
            wait.recv().unwrap();
            rayon_core::spawn(move || done.send(()).unwrap());
        });
        drop(pool);
        assert_eq!(ended.load(SeqCst), 0);
        go.send(()).unwrap();
        all.recv().unwrap();
        while ended.load(SeqCst) < 2 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn panics_go_to_the_handler() {
    bounded(|| {
        let (panics, seen) = channel();
        let panics = Mutex::new(panics);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .panic_handler(move |payload| {
                panics.lock().unwrap().send(message(Err::<(), _>(payload))).unwrap()
            })
            .build()
            .unwrap();
        pool.spawn(|| std::panic::panic_any("spawned"));
        assert_eq!(seen.recv(), Ok("spawned"));
        pool.spawn_broadcast(|_| std::panic::panic_any("broadcast"));
        assert_eq!([seen.recv(), seen.recv()], [Ok("broadcast"); 2]);
        assert_eq!(pool.install(|| 1), 1);
    });
}

#[test]
fn closures_of_a_scope_may_feed_each_other() {
    bounded(|| {
        for threads in [2, 3] {
            let pool = pool(threads);
            for round in 0..60 {
                if round % 6 == 0 {
                    let_workers_sleep();
                }
                let (to, from) = channel();
                let sum = AtomicUsize::new(0);
                pool.scope(|scope| {
                    let sum = &sum;
                    scope.spawn(move |_| _ = sum.fetch_add(from.into_iter().sum(), SeqCst));
                    for i in 0..10 {
                        to.send(i).unwrap();
                    }
                    scope.spawn(move |_| to.send(100).unwrap());
                });
                assert_eq!(sum.into_inner(), 145);
            }
        }
    });
}

#[test]
fn a_scope_ends_after_all_of_it_and_raises_the_first_panic() {
    bounded(|| {
        let pool = pool(3);
        for in_place in [false, true] {
            let ran = AtomicUsize::new(0);
            let raised = catch_unwind(AssertUnwindSafe(|| match in_place {
                true => pool.in_place_scope(|scope| fill(scope, &ran)),
                false => pool.scope(|scope| fill(scope, &ran)),
            }));
            assert_eq!(message(raised), "the twentieth");
            assert_eq!(ran.into_inner(), 50);
        }
    });
}

fn fill<'a>(scope: &rayon_core::Scope<'a>, ran: &'a AtomicUsize) {
    for i in 0..50 {
        scope.spawn(move |scope| {
            scope.spawn(move |_| _ = ran.fetch_add(1, SeqCst));
            if i == 20 {
                std::panic::panic_any("the twentieth");
            }
        });
    }
}

#[test]
fn one_worker_keeps_the_order() {
    bounded(|| {
        let pool = pool(1);
        let order = Mutex::new(Vec::new());
        pool.scope(|scope| {
            for i in 0..5 {
                let order = &order;
                scope.spawn(move |_| order.lock().unwrap().push(i));
            }
        });
        assert_eq!(order.into_inner().unwrap(), [4, 3, 2, 1, 0]);
        let order = Mutex::new(Vec::new());
        pool.scope_fifo(|scope| {
            for i in 0..5 {
                let order = &order;
                scope.spawn_fifo(move |_| order.lock().unwrap().push(i));
            }
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn a_broadcast_is_on_all_workers_at_once() {
    bounded(|| {
        for threads in [1, 2, 5] {
            let pool = pool(threads);
            for round in 0..40 {
                if round % 8 == 0 {
                    let_workers_sleep();
                }
                let barrier = Barrier::new(threads);
                let run = |context: rayon_core::BroadcastContext<'_>| {
                    barrier.wait();
                    assert_eq!(context.num_threads(), threads);
                    context.index()
                };
                let all: Vec<_> = (0..threads).collect();
                assert_eq!(pool.broadcast(run), all, "from outside");
                assert_eq!(pool.install(|| rayon_core::broadcast(run)), all, "from inside");
            }
        }
    });
}

#[test]
fn broadcasts_of_several_callers() {
    bounded(|| {
        let pool = pool(3);
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pool.broadcast(|_| count.fetch_add(1, SeqCst));
                        pool.install(|| rayon_core::join(|| 1, || 2));
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * 50 * 3);
    });
}

#[test]
fn yields_run_what_waits() {
    bounded(|| {
        let pool = pool(1);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        pool.install(move || {
            assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
            assert_eq!(rayon_core::yield_now(), Some(rayon_core::Yield::Idle));
            rayon_core::spawn(move || _ = count.fetch_add(1, SeqCst));
            assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(true));
            assert_eq!(rayon_core::yield_local(), Some(rayon_core::Yield::Executed));
            assert_eq!(ran.load(SeqCst), 1);
        });
    });
}

#[test]
fn scoped_threads_have_ended() {
    bounded(|| {
        let ended = AtomicUsize::new(0);
        let result = ThreadPoolBuilder::new().num_threads(3).build_scoped(
            |thread| {
                thread.run();
                ended.fetch_add(1, SeqCst);
            },
            |pool| pool.install(|| rayon_core::join(|| 1, || 2)),
        );
        assert_eq!(result.unwrap(), (1, 2));
        assert_eq!(ended.into_inner(), 3);
    });
}

#[test]
fn a_thread_that_cannot_be_made_is_an_error() {
    bounded(|| {
        let mut made = 0;
        let result = ThreadPoolBuilder::new()
            .num_threads(3)
            .spawn_handler(|thread| {
                if made == 2 {
                    return Err(std::io::Error::other("no more"));
                }
                made += 1;
                std::thread::spawn(|| thread.run());
                Ok(())
            })
            .build();
        assert_eq!(result.expect_err("it failed").to_string(), "no more");
    });
}
