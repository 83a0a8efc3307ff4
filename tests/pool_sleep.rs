//! Workers that park, are told to, and are woken.

#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::cpus;
use common::tasks::{await_asleep, await_named, nap, Task};
use common::{on_all_threads, Latch};
use rowpool::{Policy, Pool};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Spinning for ever, unless told otherwise.
const HOUR: Duration = Duration::from_secs(3600);

/// A pool, and its workers, who have all taken part.
fn pool(name: &'static str, width: usize, window: Duration) -> (Pool, Vec<Task>) {
    let builder = cpus::builder().width(width).spin_window(window).thread_name(name);
    // To the kernel a worker that moves to another CPU sleeps for a moment.
    let pool = builder.without(Policy::Placement).build().unwrap();
    on_all_threads(&pool, |_| ());
    let workers = await_named(&format!("{name}-"), width - 1);
    (pool, workers)
}

/// A region that finds its rows as they should be afterwards.
fn works(pool: &Pool) {
    let mut rows = [0; 100];
    pool.for_each_row(&mut rows, |row, out| *out = row + 1);
    assert!(rows.iter().enumerate().all(|(row, out)| *out == row + 1));
}

/// What shows that a thread ran: CPU time, and how often it went to sleep.
fn signs(workers: &[Task]) -> Vec<(u64, u64)> {
    workers.iter().map(|worker| (worker.ticks(), worker.sleeps())).collect()
}

/// Whether nobody runs for 20 ms: asleep, not just waiting for a moment.
fn quiet(workers: &[Task]) -> bool {
    let before = signs(workers);
    thread::sleep(Duration::from_millis(20));
    workers.iter().all(Task::asleep) && signs(workers) == before
}

fn await_quiet(workers: &[Task]) {
    while !quiet(workers) {}
}

/// Waits until each of them has run since `before`, and sleeps again.
fn await_run(workers: &[Task], before: &[(u64, u64)]) {
    while workers.iter().zip(before).any(|(worker, (_, sleeps))| worker.sleeps() == *sleeps) {
        nap();
    }
}

/// `rest` ends the longest window; the sleep has no timer in it.
#[test]
fn rest_sends_everybody_to_sleep() {
    bounded!();
    for width in [2, 4, 9, 12] {
        let (pool, workers) = pool("rest", width, HOUR);
        for _ in 0..10 {
            pool.rest();
            await_asleep(&workers);
            works(&pool);
            on_all_threads(&pool, |_| ());
        }
        pool.rest();
        await_asleep(&workers);
        let before = signs(&workers);
        thread::sleep(Duration::from_millis(100));
        assert_eq!(signs(&workers), before, "asleep, without timers");
    }
}

/// Whatever the window, an idle pool is asleep in the end, and stays so.
#[test]
fn the_window_ends() {
    bounded!();
    for window in [0, 1, 50, 1000] {
        let (_pool, workers) = pool("window", 4, Duration::from_micros(window));
        await_asleep(&workers);
        await_quiet(&workers);
        assert!(workers.iter().all(Task::asleep));
    }
}

/// A pool that was never used falls asleep too, also the workers beyond the
/// CPUs.
#[test]
fn an_unused_pool_sleeps() {
    bounded!();
    let pool = cpus::builder().width(24).thread_name("unused").build().unwrap();
    await_asleep(&await_named("unused-", 23));
    works(&pool);
    await_asleep(&await_named("unused-", 23));
}

/// `wake` gets all active workers out of their sleep: each has run after it.
#[test]
fn wake_gets_them_out() {
    bounded!();
    for width in [2, 4, 9, 12] {
        let (pool, workers) = pool("wake", width, Duration::from_micros(50));
        for _ in 0..10 {
            await_asleep(&workers);
            let before = signs(&workers);
            pool.wake();
            await_run(&workers, &before);
            works(&pool);
        }
    }
}

/// One `wake` is one wave: it reaches each sleeper, and ends. A woken worker
/// that passed it on to whoever sleeps would never let the pool come to rest:
/// those who were woken first sleep again by then.
#[test]
fn a_wave_of_wakes_ends() {
    bounded!();
    for width in [3, 9, 16] {
        let (pool, workers) = pool("wave", width, Duration::ZERO);
        await_quiet(&workers);
        let before = signs(&workers);
        for waves in 1..=20 {
            pool.wake();
            loop {
                let (sleeps, quiet) = (signs(&workers), quiet(&workers));
                for ((_, now), (_, before)) in sleeps.iter().zip(&before) {
                    // With room for other reasons to sleep.
                    assert!(now - before <= 10 + 2 * waves, "{now} sleeps, {before} before");
                }
                if quiet {
                    break;
                }
            }
        }
    }
}

/// A worker that is woken late, by a wave from before the rest, goes back to
/// sleep. (The wave has to be on its way when the rest begins: many tries.)
#[test]
fn rest_holds_for_those_who_are_woken_late() {
    bounded!();
    let (pool, workers) = pool("late", 5, HOUR);
    for _ in 0..300 {
        pool.rest();
        await_asleep(&workers);
        pool.with_work(1 << 40).run(5, |_| ());
        pool.rest();
    }
    await_asleep(&workers);
}

/// After `rest`, `wake` brings back the window: nobody sleeps before its end.
#[test]
fn wake_takes_rest_back() {
    bounded!();
    let (pool, workers) = pool("back", 3, HOUR);
    for _ in 0..10 {
        pool.rest();
        await_asleep(&workers);
        let before = signs(&workers);
        pool.wake();
        // They spin now, so they run or want to; and none sleeps again.
        while workers.iter().any(Task::asleep) {
            nap();
        }
        for _ in 0..20 {
            nap();
            let sleeps = workers.iter().map(Task::sleeps);
            assert!(sleeps.eq(before.iter().map(|(_, sleeps)| *sleeps)), "up until the next rest");
        }
    }
}

/// A large region wakes the sleepers; the caller does not wait for them.
#[test]
fn a_large_region_wakes_sleepers() {
    bounded!();
    let (pool, workers) = pool("large", 4, Duration::from_micros(50));
    for _ in 0..10 {
        await_asleep(&workers);
        let before = signs(&workers);
        let slots = AtomicUsize::new(0);
        pool.with_work(1 << 40).run(4, |_| common::tick(&slots));
        assert_eq!(slots.into_inner(), 4);
        await_run(&workers, &before);
    }
}

/// No region is told to be large, but together they are worth a wake.
#[test]
fn many_small_regions_wake_sleepers() {
    bounded!();
    let (pool, workers) = pool("small", 3, Duration::from_micros(50));
    await_asleep(&workers);
    let before = signs(&workers);
    while workers.iter().zip(&before).any(|(worker, (_, sleeps))| worker.sleeps() == *sleeps) {
        pool.for_each_index(3, |_| {
            (0..10_000).for_each(|i| {
                std::hint::black_box(i);
            })
        });
    }
}

/// A tiny one leaves them alone: the caller runs it. Not each of them: what
/// sleepers have cost before adds up, and a caller that was preempted in a
/// sleeper's slot takes that for its cost.
#[test]
fn a_tiny_region_wakes_nobody() {
    bounded!();
    let (pool, workers) = pool("tiny", 4, Duration::ZERO);
    let me = thread::current().id();
    let alone = |_| {
        await_quiet(&workers);
        let before = signs(&workers);
        let others = AtomicUsize::new(0);
        pool.for_each_index(4, |_| {
            if thread::current().id() != me {
                common::tick(&others);
            }
        });
        quiet(&workers) && signs(&workers) == before && others.into_inner() == 0
    };
    assert!((0..30).any(alone), "every region wakes somebody");
}

/// Without the policy, each one that finds sleepers wakes them.
#[test]
fn without_its_policy_a_tiny_region_wakes_sleepers() {
    bounded!();
    let builder = cpus::builder().width(3).spin_window(Duration::ZERO).thread_name("each");
    let pool = builder.without(rowpool::Policy::Wake).build().unwrap();
    on_all_threads(&pool, |_| ());
    let workers = await_named("each-", 2);
    for _ in 0..20 {
        await_quiet(&workers);
        let before = signs(&workers);
        pool.for_each_index(3, |_| ());
        await_run(&workers, &before);
    }
}

/// Regions of parked pools are right, with any window.
#[test]
fn regions_of_parked_pools() {
    bounded!();
    for window in [Duration::ZERO, Duration::from_micros(50), HOUR] {
        let (pool, workers) = pool("parked", 4, window);
        for round in 0..30 {
            pool.rest();
            if round % 2 == 0 {
                await_asleep(&workers);
            }
            let mut rows = vec![0; 1000];
            pool.with_work(round * 1000).for_each_row(&mut rows, |row, out| *out = row + round);
            assert!(rows.iter().enumerate().all(|(row, out)| *out == row + round));
        }
    }
}

/// Regions while other threads send the workers to sleep and wake them.
#[test]
fn storms_of_rest_and_wake() {
    bounded!();
    for (width, window) in [(2, Duration::ZERO), (4, Duration::from_micros(20)), (12, HOUR)] {
        let (pool, workers) = pool("storm", width, window);
        let end = Latch::default();
        thread::scope(|scope| {
            for hint in [Pool::rest, Pool::wake] {
                let (pool, end) = (&pool, &end);
                scope.spawn(move || {
                    while !end.is_open() {
                        (0..10).for_each(|_| hint(pool));
                        thread::yield_now();
                    }
                });
            }
            for round in 0..2000usize {
                let mut rows = [0; 24];
                pool.with_work(1 << (round % 40))
                    .for_each_row(&mut rows, |row, out| *out = row + round);
                assert!(rows.iter().enumerate().all(|(row, out)| *out == row + round));
            }
            end.open();
        });
        // Nobody was lost: all of them still come when called, and sleep when
        // told.
        on_all_threads(&pool, |_| ());
        pool.rest();
        await_asleep(&workers);
    }
}

/// `rest` during a region does not touch it.
#[test]
fn rest_inside_a_region() {
    bounded!();
    let (pool, workers) = pool("inside", 4, HOUR);
    for _ in 0..10 {
        let slots = AtomicUsize::new(0);
        on_all_threads(&pool, |_| {
            pool.rest();
            common::tick(&slots);
        });
        assert_eq!(slots.load(Ordering::SeqCst) % 4, 0);
        await_asleep(&workers);
        on_all_threads(&pool, |_| pool.wake());
    }
}
