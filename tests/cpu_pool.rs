//! `cpu_pool`, with the signatures and the behaviour of ferrox-core 0.25's, but
//! for what its documentation says.

#[macro_use]
mod common;
#[path = "common/feigned.rs"]
mod feigned;

use common::{panic_of, text_of, tick};
use rowpool::cpu_pool::{in_region, CpuPool};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The signatures, as far as a caller of the original relies on them.
#[test]
fn the_signatures() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<CpuPool>();
    let new: fn(usize) -> CpuPool = CpuPool::new;
    let width: fn(&CpuPool) -> usize = CpuPool::num_threads;
    let run: fn(&CpuPool, usize, &fn(usize)) -> bool = CpuPool::run;
    let inside: fn() -> bool = in_region;
    let task: fn(usize) = |task| assert!(task < 9 && in_region());
    let pool = new(3);
    assert!(width(&pool) == 3 && run(&pool, 9, &task) && !inside());
}

#[test]
fn each_task_once() {
    bounded!();
    for threads in 0..=9 {
        let pool = CpuPool::new(threads);
        assert_eq!(pool.num_threads(), threads.max(1));
        for n in [0, 1, 3, 17, 1000] {
            let calls: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
            assert!(pool.run(n, &|task: usize| {
                assert!(in_region());
                calls[task].fetch_add(1, Ordering::Relaxed);
            }));
            assert!(!in_region());
            assert!(calls.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{n} tasks");
        }
    }
}

#[test]
fn too_many_threads_are_clamped() {
    bounded!();
    let pool = CpuPool::new(usize::MAX);
    assert!((1..=512).contains(&pool.num_threads()));
    let calls = AtomicUsize::new(0);
    assert!(pool.run(600, &|_: usize| tick(&calls)));
    assert_eq!(calls.into_inner(), 600);
}

#[test]
fn nested_runs_are_inline() {
    bounded!();
    for threads in [1, 2, 4] {
        let (pool, other) = (CpuPool::new(threads), CpuPool::new(3));
        let calls = AtomicUsize::new(0);
        assert!(pool.run(8, &|_: usize| {
            let me = thread::current().id();
            for inner in [&pool, &other] {
                assert!(inner.run(5, &|_: usize| {
                    assert!(in_region() && thread::current().id() == me);
                    tick(&calls);
                }));
                assert!(in_region(), "still");
            }
        }));
        assert!(!in_region());
        assert_eq!(calls.into_inner(), 80);
    }
}

#[test]
fn a_second_caller_waits() {
    bounded!();
    let pool = CpuPool::new(2);
    let (inside, over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(pool.run(2, &|task: usize| {
                inside.store(true, Ordering::SeqCst);
                if task == 0 {
                    // Less than what makes a caller give up.
                    thread::sleep(Duration::from_millis(5));
                    over.store(true, Ordering::SeqCst);
                }
            }));
        });
        while !inside.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let calls = AtomicUsize::new(0);
        assert!(pool.run(100, &|_: usize| tick(&calls)));
        assert_eq!(calls.into_inner(), 100);
    });
    assert!(over.into_inner());
}

#[test]
fn panics_are_raised_and_the_pool_stays() {
    bounded!();
    for threads in [1, 2, 5] {
        let pool = CpuPool::new(threads);
        for bad in [0, 31, 63] {
            let calls = AtomicUsize::new(0);
            let payload = panic_of(|| {
                pool.run(64, &|task: usize| {
                    tick(&calls);
                    assert!(task != bad, "task {task}");
                });
            });
            assert_eq!(text_of(&*payload), format!("task {bad}"));
            assert!(calls.into_inner() <= 64 && !in_region());
            let calls = AtomicUsize::new(0);
            assert!(pool.run(64, &|_: usize| tick(&calls)));
            assert_eq!(calls.into_inner(), 64);
        }
    }
}
