//! What pools do by time, in a time that the tests make: windows, turns and
//! slices as values, on a machine as busy as it likes. And clocks that step back.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[macro_use]
mod common;
#[path = "common/time.rs"]
mod time;

use common::tasks::{await_asleep, await_named, Task};
use common::{cpus, on_all_threads};
use rowpool::topology::{Quota, Topology};
use rowpool::{Policy, Pool, PoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use time::{advance, play, seen, Role};

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// A pool of two threads, the worker of which plays `role`; all of this process's
/// machine.
fn pool(role: Role, name: &'static str, settings: impl Fn(PoolBuilder) -> PoolBuilder) -> Pool {
    let builder = Pool::builder().topology(Topology::new(2)).width(2).thread_name(name);
    let pool = settings(builder).on_worker_start(move |_| play(role)).build().unwrap();
    on_all_threads(&pool, |_| ());
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

/// One for which a worker that sleeps is woken: it has seen it and looks for the
/// next when this returns.
fn wake_by_a_region(pool: &Pool, worker: &Task) {
    pool.with_work(1 << 40).run(2, |_| ());
    await_looks(worker);
}

/// Until the worker, which is being woken, looks.
fn await_looks(worker: &Task) {
    while worker.asleep() {
        common::tasks::nap();
    }
    seen(Role::Worker).await_reads(4);
}

/// Whether the worker goes to sleep when that much time has passed.
fn parks_after(worker: &Task, time: Duration) -> bool {
    let before = worker.sleeps();
    advance(time);
    let enough = seen(Role::Worker).reads() + 4;
    // It may be on its way, having read the clock for the last time; or be called
    // asleep and lose its CPU before it is.
    while seen(Role::Worker).reads() < enough {
        if worker.asleep() && worker.sleeps() > before {
            return true;
        }
    }
    false
}

/// S4: the default window, 300 µs, is an eighth of that after eight in vain.
#[test]
fn s4_spin_windows_get_shorter_where_nothing_comes() {
    bounded!();
    for policy in [true, false] {
        isolated!().run(|| {
            let on = |builder: PoolBuilder| match policy {
                true => builder,
                false => builder.without(Policy::Spin),
            };
            let pool = pool(Role::Worker, "window", on);
            let worker = await_named("window-1", 1).remove(0);
            let rarely = || {
                // It sleeps; the next region comes far later than a window.
                await_asleep(std::slice::from_ref(&worker));
                advance(10 * MS);
                wake_by_a_region(&pool, &worker);
            };
            play(Role::Caller);
            // The first: it looks already.
            seen(Role::Worker).await_reads(4);
            advance(HOUR);
            for vain in 1..8 {
                rarely();
                assert!(!parks_after(&worker, 250 * US), "{vain} windows in vain");
                assert!(parks_after(&worker, 100 * US), "{vain} windows in vain");
            }
            rarely();
            assert_eq!(parks_after(&worker, 45 * US), policy, "after eight in vain");
            if policy {
                // One that comes within a whole window brings it back.
                await_asleep(std::slice::from_ref(&worker));
                advance(290 * US);
                wake_by_a_region(&pool, &worker);
                assert!(!parks_after(&worker, 250 * US), "whole again");
            }
            assert!(parks_after(&worker, 300 * US));
        });
    }
}

/// A worker offers its CPU at each look while it is another pool's turn.
#[test]
fn s2_pools_in_turn_leave_each_other_the_cpus() {
    bounded!();
    for policy in [true, false] {
        isolated!().run(|| {
            let on = |builder: PoolBuilder| match policy {
                true => builder.spin_window(HOUR),
                false => builder.spin_window(HOUR).without(Policy::Oversubscription),
            };
            let one = (pool(Role::Worker, "one", on), seen(Role::Worker));
            let two = (pool(Role::Other, "two", on), seen(Role::Other));
            for round in 0..3 {
                for [(turn, own), (_, other)] in [[&one, &two], [&two, &one]] {
                    region(turn, || ());
                    own.await_reads(3);
                    other.await_reads(3);
                    let before = (own.yields(), other.yields());
                    own.await_reads(20);
                    other.await_reads(20);
                    assert_eq!(own.yields(), before.0, "its own turn, round {round}");
                    assert_eq!(other.yields() > before.1, policy, "not its turn, round {round}");
                }
            }
        });
    }
}

/// Regions of which the worker's slot keeps the caller waiting, each some ms after
/// the one before, in which worker and caller have lacked a CPU for so long. How
/// often the worker has gone away by itself afterwards.
fn naps(policy: bool, worker_lacks: Duration, caller_lacks: Duration) -> u64 {
    let (worker, caller) = (seen(Role::Worker), seen(Role::Caller));
    // Where the real scheduler puts the two is another policy's matter.
    let on = |builder: PoolBuilder| match policy {
        true => builder.spin_window(HOUR).without(Policy::Placement),
        false => builder.spin_window(HOUR).without(Policy::Placement).without(Policy::Timeslice),
    };
    let pool = pool(Role::Worker, "slice", on);
    play(Role::Caller);
    // The first begins an account.
    for _ in 0..3 {
        advance(10 * MS);
        worker.lacks(worker_lacks);
        caller.lacks(caller_lacks);
        region(&pool, || {
            // The caller waits, and has read the clock for it.
            caller.await_reads(6);
            advance(700 * US);
            caller.await_reads(8);
        });
        // It has decided, and looks for the next.
        worker.await_reads(12);
    }
    // It has had its CPU for longer than a turn, and is between two slots.
    for _ in 0..4 {
        advance(400 * US);
        region(&pool, || ());
        worker.await_reads(12);
    }
    let naps = worker.naps();
    drop(pool);
    naps
}

/// S2: a worker that shares its CPU gives it away between two slots.
#[test]
fn s2_a_worker_beside_a_busy_neighbour_gives_its_cpu_away() {
    bounded!();
    isolated!().run(|| assert!(naps(true, 6 * MS, Duration::ZERO) > 0));
    isolated!().run(|| assert_eq!(naps(false, 6 * MS, Duration::ZERO), 0, "switched off"));
}

/// Not where the caller shares his, too.
#[test]
fn s2_with_neighbours_on_all_cpus_nobody_goes_away() {
    bounded!();
    isolated!().run(|| assert_eq!(naps(true, 6 * MS, 6 * MS), 0));
}

/// How often a worker that the scheduler has put on this CPU moves itself, the
/// caller being on CPU 0: after it was woken, and after it has kept the caller
/// waiting.
fn moves(policy: bool, cpu: u32) -> [u64; 2] {
    let (worker, caller) = (seen(Role::Worker), seen(Role::Caller));
    let on = |builder: PoolBuilder| match policy {
        true => builder.spin_window(MS),
        false => builder.spin_window(MS).without(Policy::Placement),
    };
    let pool = pool(Role::Worker, "place", on);
    let task = await_named("place-1", 1);
    play(Role::Caller);
    worker.is_on(cpu);
    caller.is_on(0);
    worker.await_reads(4);
    advance(2 * MS);
    await_asleep(&task);
    let binds = worker.binds();
    pool.wake();
    await_looks(&task[0]);
    let woken = worker.binds() - binds;
    let binds = worker.binds();
    region(&pool, || {
        caller.await_reads(6);
        advance(700 * US);
        caller.await_reads(8);
    });
    worker.await_reads(4);
    [woken, worker.binds() - binds]
}

/// A worker that finds itself on its caller's CPU leaves it, and its mask is what it
/// was: two calls.
#[test]
fn s2_a_worker_leaves_its_callers_cpu() {
    bounded!();
    let allowed = Topology::detect().allowed();
    if allowed.len() < 2 || !allowed.contains(0) {
        return cannot_check!("cpus", "wants two, and CPU 0 to be one of them");
    }
    isolated!().run(|| assert_eq!(moves(true, 0), [2, 2]));
    isolated!().run(|| assert_eq!(moves(true, 1), [0, 0], "on another one"));
    isolated!().run(|| assert_eq!(moves(false, 0), [0, 0], "switched off"));
}

/// S49: slots that end late are no sign of a neighbour; only what the thread
/// lacked is.
#[test]
fn s49_light_neighbours_change_nothing() {
    bounded!();
    for lacks in [Duration::ZERO, 200 * US, 2 * MS] {
        isolated!().run(|| assert_eq!(naps(true, lacks, Duration::ZERO), 0, "{lacks:?} of 10 ms"));
    }
}

/// Regions of many kinds by two callers, with pauses in which workers park.
fn regions_beside(pool: &Pool, name: &str) {
    let workers = pool.num_threads() - 1;
    thread::scope(|scope| {
        for caller in 0..2 {
            scope.spawn(move || {
                play(Role::Caller);
                for round in 0..150 {
                    let mut rows = vec![0; 300];
                    let work = 1 << (round % 30);
                    pool.with_work(work).for_each_row(&mut rows, |row, out| {
                        (0..round).for_each(|i| assert!(std::hint::black_box(i) < round));
                        *out = row * 2 + caller;
                    });
                    assert!(rows.iter().enumerate().all(|(row, out)| *out == row * 2 + caller));
                    if round % 40 == 0 {
                        thread::sleep(MS);
                    }
                }
                pool.scope_steps(|| (0..20).for_each(|_| pool.for_each_index(10, |_| ())));
            });
        }
    });
    assert_eq!(await_named(name, workers).len(), workers);
}

/// S39: clocks that step back, as those of some virtual machines are said to do.
/// Nobody is lost, and everything is right.
#[test]
fn s39_clocks_that_step_back() {
    bounded!();
    isolated!().run(|| {
        let mut facts = Topology::new(4);
        facts.quota = Quota::new(150_000, 100_000);
        for back in [3 * US, 700 * US, 30 * MS, 10_000 * MS] {
            time::step_back_by(back);
            let builders =
                [cpus::builder().width(3), Pool::builder().topology(facts.clone()).width(3)];
            for builder in builders {
                let name = format!("back{}us", back.as_micros());
                let builder = builder.thread_name(name.clone());
                let pool = builder.on_worker_start(|_| play(Role::Worker)).build().unwrap();
                regions_beside(&pool, &format!("{name}-"));
                on_all_threads(&pool, |_| ());
                assert_eq!(pool.num_threads(), 3);
                drop(pool);
                await_named(&format!("{name}-"), 0);
            }
        }
        assert!(seen(Role::Worker).reads() > 1000, "the clock is not asked here");
    });
}
