//! Regions inside of regions run inline on the thread that asks, of whatever
//! pool they are (S17): "am I a worker" is not enough, the caller is none.

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, LatePool};
use rowpool::Pool;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

/// A region that has to stay on the calling thread; gives the sum of its rows.
fn inline(pool: &Pool, inside: impl Fn() -> usize + Sync) -> usize {
    let me = thread::current().id();
    let mut rows = vec![0; 20];
    pool.for_each_row(&mut rows, |row, out| {
        assert_eq!(thread::current().id(), me, "inline");
        *out = row + inside();
    });
    rows.iter().sum()
}

/// What `inline` gives with `inside` giving `each`.
fn sum(each: usize) -> usize {
    190 + 20 * each
}

#[test]
fn s17_two_and_three_deep_from_every_slot() {
    bounded!();
    for width in [2, 4, 9] {
        let pool = cpus::pool(width);
        let threads = on_all_threads(&pool, |_| {
            assert_eq!(inline(&pool, || 0), sum(0));
            assert_eq!(inline(&pool, || inline(&pool, || 1)), sum(sum(1)));
        });
        assert_eq!(threads.len(), pool.active_width());
    }
}

#[test]
fn s17_pool_a_inside_b_inside_a() {
    bounded!();
    let (a, b) = (cpus::pool(3), cpus::pool(2));
    let deep = |outer: &Pool, inner: &Pool| {
        on_all_threads(outer, |_| {
            assert_eq!(inline(inner, || inline(outer, || inline(inner, || 2))), sum(sum(sum(2))));
        });
    };
    deep(&a, &b);
    deep(&b, &a);
    // Both at once, from two threads: a cycle, if anybody waited.
    thread::scope(|scope| {
        scope.spawn(|| (0..20).for_each(|_| deep(&a, &b)));
        scope.spawn(|| (0..20).for_each(|_| deep(&b, &a)));
    });
}

#[test]
fn s17_all_shapes_and_hints_inside() {
    bounded!();
    let pool = cpus::pool(4);
    on_all_threads(&pool, |_| {
        let me = thread::current().id();
        let here = || assert_eq!(thread::current().id(), me, "inline");
        let calls = AtomicUsize::new(0);
        let count = || {
            here();
            calls.fetch_add(1, Ordering::Relaxed);
        };
        pool.run(7, |_| count());
        pool.broadcast(|_| count());
        pool.for_each_index(100, |_| count());
        pool.for_each_range(100, |range| {
            assert_eq!(range, 0..100, "one slot");
            count();
        });
        pool.for_each_chunk(&mut [0; 10], 3, |_, _| count());
        pool.for_each_chunk_init(&mut [0; 10], 3, count, |(), _, _| count());
        pool.with_work(usize::MAX).for_each_index(100, |_| count());
        assert_eq!(calls.into_inner(), 7 + 4 + 100 + 1 + 4 + 1 + 4 + 100);
    });
}

/// After a nested region, and after one that panicked, the slot is still
/// inside, and after the outer region its thread is not.
#[test]
fn the_mark_comes_and_goes_with_the_region() {
    bounded!();
    let pool = cpus::pool(3);
    on_all_threads(&pool, |_| {
        inline(&pool, || 0);
        drop(common::panic_of(|| pool.run(2, |_| panic!("nested"))));
        inline(&pool, || 0);
    });
    common::panic_of(|| pool.run(3, |_| panic!("outer")));
    assert_eq!(on_all_threads(&pool, |_| ()).len(), pool.active_width(), "forks again");
}

/// Relieved slots are inside a region too.
#[test]
fn s17_nested_in_a_relieved_slot() {
    bounded!();
    let pool = LatePool::new(4);
    let slots = AtomicUsize::new(0);
    pool.run(4, |_| {
        assert_eq!(inline(&pool, || inline(&pool, || 0)), sum(sum(0)));
        slots.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(slots.into_inner(), 4);
}

/// Regions by a worker's start hook: before its first slot it is a worker.
#[test]
fn nested_in_the_start_hook() {
    bounded!();
    let other = Arc::new(cpus::pool(2));
    let done = Arc::new(AtomicUsize::new(0));
    let (others, dones) = (Arc::clone(&other), Arc::clone(&done));
    let pool = cpus::builder()
        .width(4)
        .on_worker_start(move |_| {
            assert_eq!(inline(&others, || 0), sum(0));
            dones.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    pool.for_each_index(10, |_| ());
    drop(pool);
    assert_eq!(done.load(Ordering::SeqCst), 3, "the drop joins them");
}

/// Runs a region when its thread ends.
struct AtExit {
    pool: Arc<Pool>,
    inline: bool,
    done: Arc<AtomicUsize>,
}

impl Drop for AtExit {
    fn drop(&mut self) {
        let me = thread::current().id();
        self.pool.run(3, |_| {
            if self.inline {
                assert_eq!(thread::current().id(), me);
            }
            self.pool.for_each_index(5, |_| common::tick(&self.done));
        });
    }
}

thread_local! {
    static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
}

/// In the destructors of thread-locals: of a caller, and of a worker that ends.
#[test]
fn s17_in_destructors_of_thread_locals() {
    bounded!();
    let done = Arc::new(AtomicUsize::new(0));
    let at_exit = |pool: &Arc<Pool>, inline| {
        let (pool, done) = (Arc::clone(pool), Arc::clone(&done));
        AT_EXIT.set(Some(AtExit { pool, inline, done }));
    };
    let other = Arc::new(cpus::pool(3));

    thread::scope(|scope| {
        let after_a_region = scope.spawn(|| {
            at_exit(&other, false);
            other.run(3, |_| ());
        });
        let without = scope.spawn(|| at_exit(&other, false));
        // The scope alone does not wait for destructors of thread-locals.
        after_a_region.join().unwrap();
        without.join().unwrap();
    });
    assert_eq!(done.swap(0, Ordering::SeqCst), 2 * 15);

    let pool = cpus::pool(4);
    let me = thread::current().id();
    on_all_threads(&pool, |slot| {
        // Not where the caller has relieved the worker.
        if slot > 0 && thread::current().id() != me {
            at_exit(&other, true);
        }
    });
    drop(pool);
    // `on_all_threads` may have set it more than once: the older went then.
    assert!(done.load(Ordering::SeqCst) >= 3 * 15);
    assert_eq!(done.load(Ordering::SeqCst) % 15, 0);
}

/// A worker of pool A ends as the last owner of pool B, and drops it there.
#[test]
fn a_pool_is_dropped_by_a_destructor_of_another_pools_worker() {
    bounded!();
    let done = Arc::new(AtomicUsize::new(0));
    let other = Arc::new(cpus::pool(3));
    let weak = Arc::downgrade(&other);
    let pool = cpus::pool(2);
    let me = thread::current().id();
    on_all_threads(&pool, |slot| {
        // Not where the caller has relieved the worker.
        if slot == 1 && thread::current().id() != me {
            let (pool, done) = (Arc::clone(&other), Arc::clone(&done));
            AT_EXIT.set(Some(AtExit { pool, inline: true, done }));
        }
    });
    drop(other);
    assert!(weak.upgrade().is_some());
    drop(pool);
    assert!(weak.upgrade().is_none());
}

/// S17: the global pool is first touched inside another pool's region.
#[test]
fn s17_the_global_pool_is_born_inside_a_region() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        let pool = cpus::pool(4);
        on_all_threads(&pool, |_| {
            assert_eq!(inline(cpus::global(), || inline(&pool, || 0)), sum(sum(0)));
        });
        assert_eq!(cpus::global().num_threads(), 3);
        assert_eq!(on_all_threads(cpus::global(), |_| ()).len(), 3);
    });
}

/// The drop-in functions inside of a region build no team.
#[test]
fn s17_the_drop_in_inside_a_region() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        let pool = cpus::pool(4);
        on_all_threads(&pool, |_| {
            let me = thread::current().id();
            let mut y = vec![0.0; 1000];
            rowpool::threads::for_each_row(&mut y, 1000, 1000, |row, out| {
                assert_eq!(thread::current().id(), me);
                *out = row as f32;
            });
            assert!(y.iter().enumerate().all(|(row, out)| *out == row as f32));
        });
        assert_eq!(rowpool::threads::init_cpu_pool(), Some(3), "nobody has used the team so far");
    });
}
