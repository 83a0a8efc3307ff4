//! How long threads look, when they offer their CPU, nap or go away, to the
//! nanosecond: in a time that the tests make.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[macro_use]
mod common;
#[path = "common/time.rs"]
mod time;

use common::tasks::{await_asleep, await_named};
use common::{on_all_threads, Latch};
use rowpool::topology::{Quota, Topology};
use rowpool::{Policy, Pool, PoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use time::{advance, play, seen, Role, Seen};

const NS: Duration = Duration::from_nanos(1);
const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A pool of two threads on this machine, which the tests' time is for.
fn pool(facts: Topology, settings: impl Fn(PoolBuilder) -> PoolBuilder) -> Pool {
    let builder = Pool::builder().topology(facts).width(2).thread_name("waits");
    let builder = settings(builder.spin_window(HOUR));
    let pool = builder.on_worker_start(|_| play(Role::Worker)).build().unwrap();
    on_all_threads(&pool, |_| ());
    // It has left its slot, and looks for the next.
    seen(Role::Worker).await_reads(4);
    play(Role::Caller);
    pool
}

/// A region whose slot 1 is the worker's, which does `late` in it while the caller
/// waits at the end of the region.
fn region(pool: &Pool, late: impl Fn() + Sync) {
    let begun = AtomicBool::new(false);
    pool.run(2, |slot| match slot {
        0 => {
            while !begun.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
        }
        _ => {
            begun.store(true, Ordering::SeqCst);
            late();
        }
    });
}

/// Moves the clock; how often `what` has happened by the time that the thread has
/// read it often enough to have found out.
fn after(time: Duration, thread: &Seen, what: fn(&Seen) -> u64) -> u64 {
    let before = what(thread);
    advance(time);
    thread.await_reads(12);
    what(thread) - before
}

/// S13: after 50 µs, at most once in 20; at each look where somebody else has had
/// the CPU for more than half a millisecond.
#[test]
fn s13_a_worker_that_looks_offers_its_cpu() {
    bounded!();
    isolated!().run(|| {
        let pool = pool(Topology::new(2), |builder| builder);
        let worker = seen(Role::Worker);
        for _ in 0..3 {
            region(&pool, || ());
            // It has begun a window.
            worker.await_reads(4);
            let yields = |time| after(time, worker, Seen::yields);
            assert_eq!(yields(Duration::ZERO), 0);
            assert_eq!(yields(50 * US), 0);
            assert_eq!(yields(NS), 1);
            assert_eq!(yields(20 * US), 0);
            assert_eq!(yields(NS), 1);
            assert_eq!(yields(500 * US), 1);
        }
        let often = after(500 * US + NS, worker, Seen::yields);
        assert!(often > 8, "{often} in 12 looks, beside somebody else");
        assert!(after(10 * US, worker, Seen::yields) > 8, "for the rest of the window");
        // The next window begins as the first did.
        advance(HOUR);
        let task = await_named("waits-1", 1);
        await_asleep(&task);
        pool.wake();
        worker.await_reads(4);
        assert_eq!(after(50 * US, worker, Seen::yields), 0);
        assert_eq!(after(NS, worker, Seen::yields), 1);
    });
}

/// S13: a window ends when it is over, and not a nanosecond before.
#[test]
fn s13_a_window_is_as_long_as_it_says() {
    bounded!();
    isolated!().run(|| {
        // To the kernel a worker that moves to another CPU sleeps for a moment.
        let stays = |builder: PoolBuilder| builder.without(Policy::Placement);
        let pool = pool(Topology::new(2), |builder| stays(builder.spin_window(100 * US)));
        let worker = seen(Role::Worker);
        let task = await_named("waits-1", 1).remove(0);
        advance(HOUR);
        for _ in 0..20 {
            await_asleep(std::slice::from_ref(&task));
            let before = task.sleeps();
            pool.wake();
            worker.await_reads(4);
            advance(100 * US - NS);
            worker.await_reads(12);
            assert_eq!(task.sleeps(), before, "it still looks");
            advance(NS);
        }
    });
}

/// A caller that waits for a slot which somebody else runs offers its CPU after
/// 50 µs, asks after half a millisecond, once, whether it lacks a CPU itself, and
/// naps after 2 ms.
#[test]
fn s2_a_caller_that_waits_for_a_slot_makes_room() {
    bounded!();
    for policy in [true, false] {
        isolated!().run(|| {
            let pool = pool(Topology::new(2), |builder| match policy {
                true => builder,
                false => builder.without(Policy::Timeslice),
            });
            let caller = seen(Role::Caller);
            for _ in 0..3 {
                region(&pool, || {
                    caller.await_reads(6);
                    let yields = |time| after(time, caller, Seen::yields);
                    assert_eq!(yields(50 * US), 0);
                    let often = yields(NS);
                    assert!(often > 8, "{often} in 12 looks");
                    let asked = |time| after(time, caller, Seen::asked);
                    assert_eq!(asked(450 * US - NS), 0);
                    assert_eq!(asked(NS), u64::from(policy), "whether it lacks a CPU");
                    assert_eq!(asked(500 * US), 0, "once");
                    let naps = |time| after(time, caller, Seen::naps);
                    assert_eq!(naps(1000 * US - NS), 0);
                    let often = naps(NS);
                    assert!(often > 8, "{often} in 12 looks");
                });
            }
        });
    }
}

/// S1: of a quota of 1.5 CPUs 0.07 are left alone, and the worker is on for 0.43
/// of the time: it is away as long as that takes, in naps of 0.4 ms at most.
#[test]
fn s1_a_worker_in_shifts_is_away_for_its_time() {
    bounded!();
    for policy in [true, false] {
        isolated!().run(|| {
            let mut facts = Topology::new(4);
            facts.quota = Quota::new(150_000, 100_000);
            let pool = pool(facts, |builder| match policy {
                true => builder,
                false => builder.without(Policy::Quota),
            });
            let worker = seen(Role::Worker);
            // Without the policy there is one CPU, and no region for the worker.
            assert_eq!(pool.active_width(), 1);
            for (worked, naps) in [(0, 0), (1700, 0), (100, 6), (3000, 10), (10, 0)] {
                if !policy {
                    pool.for_each_range(2, |range| assert_eq!(range, 0..2));
                    continue;
                }
                let before = worker.naps();
                advance(worked * US);
                region(&pool, || ());
                // Back, and looking.
                worker.await_reads(20);
                assert_eq!(worker.naps() - before, naps, "after {worked} us");
            }
        });
    }
}

/// Runs `watch` while a caller, in the tests' time, waits in the queue of `pool`,
/// and says `served` when its region is open.
fn queue(pool: &Pool, served: &AtomicBool, watch: impl FnOnce(&Seen) + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let caller = seen(Role::Caller);
            caller.await_reads(20);
            watch(caller);
        });
        pool.run(2, |_| served.store(true, Ordering::SeqCst));
    });
}

/// S23: the steps of a scope are not torn apart before somebody has waited for 20
/// ms, and then between two of them.
#[test]
fn s23_a_scope_of_steps_is_left_alone_for_20_ms() {
    bounded!();
    isolated!().run(|| {
        let pool = pool(Topology::new(2), |builder| builder);
        let (kept, done) = (Latch::default(), AtomicBool::new(false));
        let steps = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (pool, kept, done, steps) = (&pool, &kept, &done, &steps);
            scope.spawn(move || {
                pool.scope_steps(|| {
                    while !done.load(Ordering::SeqCst) {
                        pool.run(2, |_| kept.open());
                        steps.fetch_add(1, Ordering::SeqCst);
                    }
                });
            });
            kept.wait();
            let more_steps = || {
                let enough = steps.load(Ordering::SeqCst) + 200;
                while steps.load(Ordering::SeqCst) < enough {
                    std::hint::spin_loop();
                }
            };
            let served = AtomicBool::new(false);
            queue(pool, &served, |caller| {
                advance(20 * MS - NS);
                caller.await_reads(12);
                more_steps();
                assert!(!served.load(Ordering::SeqCst));
                // And a nap.
                advance(MS);
            });
            more_steps();
            done.store(true, Ordering::SeqCst);
        });
    });
}

/// S2: pools that are gone and workers in shifts do not count twice: as long as
/// there are as many CPUs as workers and a caller, nobody offers his CPU.
#[test]
fn s2_workers_are_counted_once() {
    bounded!();
    isolated!().run(|| {
        for _ in 0..5 {
            drop(pool(Topology::new(4), |builder| builder));
        }
        let mut facts = Topology::new(4);
        facts.quota = Quota::new(150_000, 100_000);
        let one = pool(facts, |builder| builder);
        let (worker, other) = (seen(Role::Worker), seen(Role::Other));
        for _ in 0..5 {
            advance(5 * MS);
            region(&one, || ());
            worker.await_reads(30);
        }
        assert!(worker.naps() > 0, "it works in shifts");
        // Two workers and a caller.
        let builder = Pool::builder().topology(Topology::new(3)).width(2).spin_window(HOUR);
        let two = builder.on_worker_start(|_| play(Role::Other)).build().unwrap();
        on_all_threads(&two, |_| ());
        for _ in 0..3 {
            region(&one, || ());
            other.await_reads(20);
            region(&two, || ());
            other.await_reads(20);
        }
        assert_eq!(other.yields(), 0);
    });
}
