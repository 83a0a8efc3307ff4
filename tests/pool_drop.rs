//! The end of a pool: hot, parked, hardly begun, from the inside; and of a
//! process that has one (S30).

#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::cpus;
use common::tasks::{await_asleep, await_named, named};
use common::{done, on_all_threads, panic_of, Latch};
use rowpool::{Pool, PoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A builder whose threads can be told from all others.
fn builder(name: &'static str, width: usize) -> PoolBuilder {
    cpus::builder().width(width).thread_name(name)
}

/// Drops `pool`; all its threads are gone then.
fn drop_and_count(pool: Pool, name: &str) {
    drop(pool);
    await_named(name, 0);
}

#[test]
fn s30_hot() {
    bounded!();
    for width in [1, 2, 4, 9, 20] {
        // An hour of spinning: only the drop can end them.
        let pool = builder("hot", width).spin_window(Duration::from_secs(3600)).build().unwrap();
        on_all_threads(&pool, |_| ());
        await_named("hot-", width - 1);
        drop_and_count(pool, "hot-");
    }
}

#[test]
fn s30_parked() {
    bounded!();
    for width in [1, 2, 4, 9, 20] {
        let pool = builder("parked", width).build().unwrap();
        on_all_threads(&pool, |_| ());
        pool.rest();
        await_asleep(&await_named("parked-", width - 1));
        drop_and_count(pool, "parked-");
    }
}

#[test]
fn right_after_new() {
    bounded!();
    for width in [1, 2, 4, 9, 20, 64] {
        drop_and_count(builder("new", width).build().unwrap(), "new-");
    }
}

#[test]
fn right_after_wake_rest_and_a_region() {
    bounded!();
    for round in 0..200 {
        let pool = builder("after", 4).spin_window(Duration::ZERO).build().unwrap();
        match round % 4 {
            0 => pool.wake(),
            1 => pool.rest(),
            2 => pool.for_each_index(100, |_| ()),
            _ => {
                pool.rest();
                pool.wake();
                pool.with_work(usize::MAX).for_each_index(4, |_| ());
                pool.rest();
            }
        }
        drop(pool);
    }
    await_named("after-", 0);
}

/// The count of threads is what it was, and so is everything else that a
/// thread takes: the thousandth pool is as good as the first.
#[test]
fn s30_a_thousand_pools() {
    bounded!();
    for round in 0..1000 {
        let pool = builder("many", 3).build().unwrap();
        assert_eq!(pool.num_threads(), 3);
        if round % 2 == 0 {
            let mut rows = [0; 100];
            pool.for_each_row(&mut rows, |row, out| *out = row);
            assert_eq!(rows[99], 99);
        }
    }
    await_named("many-", 0);
}

#[test]
fn while_unwinding() {
    bounded!();
    panic_of(|| {
        let pool = builder("unwind", 3).build().unwrap();
        pool.run(3, |_| std::panic::resume_unwind(Box::new(())));
    });
    await_named("unwind-", 0);
}

/// A pool that is dropped by its own worker, which cannot join itself: the
/// start hook of worker `dropper` takes the pool out of a common place.
fn dropped_by_its_worker(name: &'static str, dropper: usize, before: impl FnOnce(&Pool)) {
    let place: Arc<Mutex<Option<Pool>>> = Arc::default();
    let (ready, dropped) = (Latch::default(), Latch::default());
    let hook = {
        let (place, ready, dropped) = (Arc::clone(&place), ready.clone(), dropped.clone());
        move |slot| {
            if slot == dropper {
                ready.wait();
                drop(place.lock().unwrap().take().expect("put there before"));
                dropped.open();
            }
        }
    };
    let pool = builder(name, 4).on_worker_start(hook).build().unwrap();
    before(&pool);
    *place.lock().unwrap() = Some(pool);
    ready.open();
    dropped.wait();
    await_named(&format!("{name}-"), 0);
}

#[test]
fn s30_by_one_of_its_own_workers() {
    bounded!();
    for dropper in 1..4 {
        dropped_by_its_worker("own", dropper, |_| ());
        dropped_by_its_worker("own", dropper, |pool| pool.for_each_index(100, |_| ()));
        dropped_by_its_worker("own", dropper, Pool::rest);
        dropped_by_its_worker("own", dropper, Pool::wake);
    }
}

/// S30, "inside its own task": made, used and dropped in slots of another pool.
#[test]
fn s30_inside_a_slot_of_another_pool() {
    bounded!();
    let outer = cpus::pool(3);
    on_all_threads(&outer, |_| {
        let pool = builder("inner", 3).build().unwrap();
        let calls = AtomicUsize::new(0);
        pool.for_each_index(10, |_| common::tick(&calls));
        assert_eq!(calls.into_inner(), 10);
    });
    await_named("inner-", 0);

    // One that was made outside and used there before.
    let pool = builder("outside", 3).build().unwrap();
    on_all_threads(&pool, |_| ());
    let pool = Mutex::new(Some(pool));
    on_all_threads(&outer, |slot| {
        if slot == 1 {
            drop(pool.lock().unwrap().take());
        }
    });
    await_named("outside-", 0);
}

/// The drop waits for a start hook that runs, and only for that.
#[test]
fn the_drop_waits_for_the_start_hook() {
    bounded!();
    let (begun, ended) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
    let (begins, ends) = (begun.clone(), Arc::clone(&ended));
    let hook = move |_| {
        begins.open();
        thread::sleep(Duration::from_millis(20));
        ends.fetch_add(1, Ordering::SeqCst);
    };
    let pool = builder("hook", 3).on_worker_start(hook).build().unwrap();
    begun.wait();
    drop(pool);
    assert_eq!(ended.load(Ordering::SeqCst), 2, "both have ended");
    await_named("hook-", 0);
}

/// What the hook holds is let go with the pool.
#[test]
fn the_hook_is_dropped_with_the_pool() {
    bounded!();
    let held = Arc::new(());
    let weak = Arc::downgrade(&held);
    let pool =
        builder("held", 3).on_worker_start(move |_| drop(Arc::clone(&held))).build().unwrap();
    drop(pool);
    assert!(weak.upgrade().is_none());
}

#[test]
fn many_threads_drop_pools_at_once() {
    bounded!();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let pool = builder("both", 3).build().unwrap();
                    pool.for_each_index(10, |_| ());
                }
            });
        }
    });
    await_named("both-", 0);
}

/// S30: a process ends with a live global pool, spinning or parked. It is
/// never joined; exit code 0 and the end itself are the test.
#[test]
fn s30_exit_with_a_live_global_pool() {
    bounded!();
    let child = || isolated!().env("ROWPOOL_NUM_THREADS", "4");
    child().env("ROWPOOL_SPIN_US", "3600000000").run(|| {
        on_all_threads(cpus::global(), |_| ());
        assert_eq!(named("rowpool-").len(), 3);
    });
    child().run(|| {
        on_all_threads(cpus::global(), |_| ());
        cpus::global().rest();
        await_asleep(&await_named("rowpool-", 3));
    });
    // While another thread is in the middle of a region.
    child().run(|| {
        let begun = Latch::default();
        let begins = begun.clone();
        thread::spawn(move || {
            cpus::global().run(4, |_| {
                begins.open();
                thread::sleep(Duration::from_secs(3600));
            });
        });
        begun.wait();
    });
    // By `exit` from inside a slot.
    child().run(|| {
        done();
        cpus::global().run(2, |slot| {
            if slot == 0 {
                std::process::exit(0);
            }
        });
    });
}
