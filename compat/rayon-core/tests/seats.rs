//! Who is which worker: unique indices, callers from outside who lend a seat,
//! and those who do not.

mod common;
use common::{bounded, pool, tree, Holders};
use rayon_core::{current_thread_index, ThreadPoolBuilder};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn no_two_threads_have_one_index() {
    bounded(|| {
        let pool = pool(3);
        unique(3, &|work| pool.install(work));
        // The global pool lends a seat to callers.
        unique(rayon_core::current_num_threads(), &|work| rayon_core::scope(|_| work()));
    });
}

fn unique(threads: usize, inside: &(dyn Fn(&(dyn Fn() + Sync)) + Sync)) {
    let holders = Holders::new(threads);
    let check = |_| holders.check(current_thread_index().expect("inside of the pool"));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    inside(&|| tree(0, 32, &check));
                    assert_eq!(current_thread_index(), None);
                }
            });
        }
    });
}

#[test]
fn the_lent_seat_is_left_in_order() {
    bounded(|| {
        let caller = thread::current().id();
        let (mut rounds, mut lent) = (0, 0);
        // Other tests' callers want the seat too: until it was had.
        while rounds < 100 || lent == 0 {
            rounds += 1;
            // What is left behind on the seat runs, though nobody waits.
            let (done, wait) = channel();
            lent += usize::from(rayon_core::scope(|_| {
                rayon_core::spawn(move || done.send(current_thread_index()).unwrap());
                thread::current().id() == caller
            }));
            assert!(wait.recv().unwrap().is_some());
            let all = rayon_core::broadcast(|context| context.index());
            assert!(all.into_iter().eq(0..rayon_core::current_num_threads()));
        }
        let pool = pool(2);
        assert!(pool.install(|| thread::current().id() != caller));
    });
}

#[test]
fn what_is_installed_runs_where_it_was_asked_to() {
    bounded(|| {
        let named = |_| String::from("mine");
        let on_mine = || thread::current().name() == Some("mine");
        let build = |builder: ThreadPoolBuilder| builder.num_threads(2).build().unwrap();
        assert!(build(ThreadPoolBuilder::new().thread_name(named)).install(on_mine));

        let caller = thread::current().id();
        let here = move || thread::current().id() == caller;
        assert!(!build(ThreadPoolBuilder::new().stack_size(4 << 20)).install(here));
        assert!(!build(ThreadPoolBuilder::new().start_handler(drop)).install(here));
        assert!(!build(ThreadPoolBuilder::new().exit_handler(drop)).install(here));
        let spawned = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|worker| {
                thread::spawn(|| worker.run());
                Ok(())
            })
            .build()
            .unwrap();
        assert!(!spawned.install(here));
    });
}

#[test]
fn a_large_stack_is_used_and_a_small_one_spared() {
    fn deep(levels: usize) -> usize {
        let filler = std::hint::black_box([levels; 128]);
        if levels == 0 {
            return 0;
        }
        rayon_core::join(|| deep(levels - 1), || filler[0]).0 + 1
    }
    bounded(|| {
        let large = ThreadPoolBuilder::new().num_threads(1).stack_size(64 << 20).build().unwrap();
        assert_eq!(large.install(|| deep(8000)), 8000);
        // 1 KiB and more per level: 64 KiB would not do.
        let small = thread::Builder::new().stack_size(64 << 10);
        let plain = pool(2);
        let caller = small.spawn(move || plain.install(|| deep(200))).unwrap();
        assert_eq!(caller.join().unwrap(), 200);
    });
}

#[test]
fn callers_who_wait_for_each_other() {
    bounded(|| {
        // Both run inside of a pool of two at once, as one lends the seat and
        // the other has a thread of the pool's.
        let pool = pool(2);
        for _ in 0..100 {
            let ((to, from), (back, answer)) = (channel(), channel());
            thread::scope(|scope| {
                let pool = &pool;
                scope.spawn(move || {
                    pool.install(move || {
                        to.send(1).unwrap();
                        answer.recv().unwrap()
                    })
                });
                scope.spawn(move || pool.install(move || back.send(from.recv().unwrap()).unwrap()));
            });
        }
    });
}

#[test]
fn a_caller_with_a_lock_that_the_pool_wants() {
    bounded(|| {
        let pool = Arc::new(pool(2));
        let lock = Arc::new(Mutex::new(0));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let (pool, lock) = (Arc::clone(&pool), Arc::clone(&lock));
                thread::spawn(move || {
                    for _ in 0..200 {
                        pool.spawn({
                            let lock = Arc::clone(&lock);
                            move || *lock.lock().unwrap() += 1
                        });
                    }
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        while *lock.lock().unwrap() < 600 {
            thread::yield_now();
        }
    });
}

#[test]
fn pools_that_install_in_each_other() {
    bounded(|| {
        for (a, b) in [(1, 1), (2, 1), (2, 2)] {
            let (a, b) = (pool(a), pool(b));
            for _ in 0..50 {
                let index = || current_thread_index().is_some();
                assert!(a.install(|| b.install(|| a.install(|| b.install(index)))));
                let deep = a.install(|| rayon_core::join(|| b.install(|| a.install(|| 1)), || 2));
                assert_eq!(deep, (1, 2));
            }
        }
    });
}

#[test]
fn the_current_thread_as_worker_0() {
    bounded(|| {
        thread::spawn(|| {
            let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
            let pool = builder.build().unwrap();
            assert_eq!(pool.current_thread_index(), Some(0));
            let here = thread::current().id();
            assert_eq!(pool.install(|| thread::current().id()), here);
            let indices = pool.broadcast(|context| context.index());
            assert_eq!(indices, [0, 1]);
            let again = ThreadPoolBuilder::new().use_current_thread().build();
            let text = again.expect_err("it is in a pool").to_string();
            assert_eq!(text, "The current thread is already part of another thread pool.");
        })
        .join()
        .unwrap();
    });
}
