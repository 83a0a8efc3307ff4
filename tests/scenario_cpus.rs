//! S2 and S26: pools wider than the process's CPUs, and pinned callers. The
//! machine is the real one here: each test takes what CPUs it has.

#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use common::on_all_threads;
use common::tasks::{await_named, Task};
use rowpool::Pool;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

/// The CPUs that the calling thread may use, ascending.
fn mask() -> Vec<usize> {
    mask_of(0)
}

/// Those of the process: of its main thread.
fn process_mask() -> Vec<usize> {
    mask_of(i32::try_from(std::process::id()).unwrap())
}

fn mask_of(pid: libc::pid_t) -> Vec<usize> {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the size of the set.
    let failed = unsafe { libc::sched_getaffinity(pid, size_of_val(&set), &mut set) };
    assert_eq!(failed, 0);
    // SAFETY: reads bits below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Confines the calling thread.
fn pin(cpus: &[usize]) {
    confine_thread(0, cpus);
}

fn confine_thread(pid: libc::pid_t, cpus: &[usize]) {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: the ids come from a set of this size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the kernel reads the size of the set.
    let failed = unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &set) };
    assert_eq!(failed, 0);
}

/// One of the CPUs; several of these where there are several.
fn nth_cpu(n: usize) -> usize {
    let cpus = mask();
    cpus[n % cpus.len()]
}

/// Confines a child before it begins.
fn confine(command: &mut Command, cpus: Vec<usize>) {
    // SAFETY: between fork and exec only a system call is made; the set was
    // allocated before.
    unsafe {
        command.pre_exec(move || {
            pin(&cpus);
            Ok(())
        });
    }
}

/// Regions of some work, at the width of the pool and inside of it.
fn works(pool: &Pool, regions: usize) {
    let mut rows = vec![0u64; 64];
    for region in 0..regions as u64 {
        pool.for_each_row(&mut rows, |row, out| {
            *out = (0..200).fold(row as u64, |sum, i| std::hint::black_box(sum + i * region));
        });
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row as u64 + 19_900 * region));
    }
    let slots = Mutex::new(vec![0; pool.num_threads()]);
    pool.broadcast(|slot| slots.lock().unwrap()[slot] += 1);
    assert!(slots.into_inner().unwrap().iter().all(|calls| *calls == 1));
}

/// S2: as many threads as are asked for, and no more active than CPUs.
fn more_threads_than_cpus(threads: usize, cpus: usize) {
    let pool = Pool::new(threads).unwrap();
    assert_eq!(pool.num_threads(), threads, "the width keeps its value");
    assert_eq!(pool.active_width(), threads.min(cpus));
    works(&pool, 2000);
    let owners = on_all_threads(&pool, |_| ());
    assert_eq!(owners.len(), threads.min(cpus));
    // A worker that is not active runs no slot.
    let foreign = Mutex::new(Vec::new());
    for _ in 0..200 {
        pool.broadcast(|_| foreign.lock().unwrap().push(thread::current().id()));
    }
    assert!(foreign.into_inner().unwrap().iter().all(|id| owners.contains(id)));
}

#[test]
fn s2_more_threads_than_cpus() {
    bounded!();
    for threads in [4, 8] {
        for count in [1, 2] {
            let some: Vec<usize> = mask().into_iter().take(count).collect();
            isolated!().with(|child| confine(child, some)).run(|| {
                more_threads_than_cpus(threads, mask().len());
            });
        }
    }
}

#[test]
fn s2_two_threads_under_a_mask_of_one_cpu() {
    bounded!();
    for nth in [0, 1] {
        isolated!().with(|child| confine(child, vec![nth_cpu(nth)])).run(|| {
            assert_eq!(mask().len(), 1);
            more_threads_than_cpus(2, 1);
            // Nothing is forked: everything is on the caller.
            let me = thread::current().id();
            let pool = Pool::new(2).unwrap();
            for _ in 0..100 {
                pool.run(2, |_| assert_eq!(thread::current().id(), me));
            }
        });
    }
}

/// S26: the main thread binds itself to one CPU, before and after it has a pool.
/// That is no order for the process.
#[test]
fn s26_a_main_thread_that_pins_itself() {
    bounded!();
    isolated!().run(|| {
        let cpus = process_mask();
        let main = i32::try_from(std::process::id()).unwrap();
        let pool = Pool::builder().width(4).thread_name("before").build().unwrap();
        confine_thread(main, &cpus[..1]);
        for pool in [pool, Pool::builder().width(4).thread_name("after").build().unwrap()] {
            pool.wake();
            assert_eq!(pool.active_width(), cpus.len().min(4));
            works(&pool, 100);
            assert_eq!(on_all_threads(&pool, |_| ()).len(), cpus.len().min(4));
        }
        let pool = Pool::builder().width(4).thread_name("again").build().unwrap();
        on_all_threads(&pool, |_| ());
        assert!(await_named("again-", 3).iter().all(|worker| cpus_of(worker) == cpus));
        assert_eq!(process_mask(), cpus[..1], "its own mask is the main thread's business");
    });
}

/// A kernel list such as `0-1,4`.
fn parse(list: &str) -> Vec<usize> {
    let number = |text: &str| text.parse::<usize>().unwrap();
    list.split(',')
        .flat_map(|part| match part.split_once('-') {
            Some((from, to)) => number(from)..=number(to),
            None => number(part)..=number(part),
        })
        .collect()
}

fn cpus_of(worker: &Task) -> Vec<usize> {
    parse(&worker.cpus().expect("the worker lives"))
}

/// S26: a caller that is bound to one CPU builds the pool. Its workers take the
/// process's mask, and the caller keeps its own.
#[test]
fn s26_workers_of_a_pinned_caller_take_the_process_mask() {
    bounded!();
    let all = process_mask();
    for &cpu in &all {
        pin(&[cpu]);
        assert_eq!(mask(), [cpu]);
        let started = Arc::new(Mutex::new(Vec::new()));
        let starts = Arc::clone(&started);
        let pool = Pool::builder()
            .width(4)
            .thread_name("s26a")
            .on_worker_start(move |_| starts.lock().unwrap().push(mask()))
            .build()
            .unwrap();
        assert_eq!(pool.active_width(), all.len().min(4), "the width is the process's");
        works(&pool, 100);
        let workers = await_named("s26a-", 3);
        while started.lock().unwrap().len() < 3 {
            common::tasks::nap();
        }
        assert!(started.lock().unwrap().iter().all(|mask| *mask == all), "from the start");
        // And later, but for the moment in which one leaves its caller's CPU.
        while !workers.iter().all(|worker| cpus_of(worker) == all) {
            common::tasks::nap();
        }
        assert_eq!(mask(), [cpu], "the caller's is untouched");
        drop(pool);
    }
    pin(&all);
}

/// S26: workers that are bound are bound inside the mask, one CPU each; the
/// caller is not, nor is what it creates later.
#[test]
fn s26_pinned_workers_and_a_free_caller() {
    bounded!();
    let all = process_mask();
    for width in [2, 4] {
        let pool = Pool::builder().width(width).pin(true).thread_name("s26b").build().unwrap();
        works(&pool, 100);
        on_all_threads(&pool, |_| ());
        let workers = await_named("s26b-", width - 1);
        for (worker, slot) in workers.iter().zip(1..) {
            let own = cpus_of(worker);
            assert!(own.iter().all(|cpu| all.contains(cpu)), "{own:?} in {all:?}");
            if slot < all.len() {
                assert_eq!(own.len(), 1, "slot {slot} is active: {own:?}");
            }
        }
        assert_eq!(mask(), all);
        assert_eq!(thread::spawn(mask).join().unwrap(), all);
        assert_eq!(thread::available_parallelism().unwrap().get(), all.len());
        drop(pool);
    }
}

/// S26: who builds the pool is bound to a CPU: that one is left to it.
#[test]
fn s26_pinned_workers_of_a_pinned_caller() {
    bounded!();
    let all = process_mask();
    if all.len() < 2 {
        return cannot_check!("cpus", "wants two");
    }
    for &cpu in &all {
        pin(&[cpu]);
        for width in [2, all.len()] {
            let pool = Pool::builder().width(width).pin(true).thread_name("s26e").build().unwrap();
            works(&pool, 100);
            on_all_threads(&pool, |_| ());
            let mut bound: Vec<_> = await_named("s26e-", width - 1).iter().map(cpus_of).collect();
            assert!(bound.iter().all(|own| own.len() == 1 && own[0] != cpu), "{cpu}: {bound:?}");
            bound.dedup();
            assert_eq!(bound.len(), width - 1, "each on its own: {bound:?}");
            assert_eq!(mask(), [cpu]);
        }
    }
    pin(&all);
}

/// S26: a caller is bound after the build, to a worker's CPU: it changes places with
/// that worker, each time.
#[test]
fn s26_a_pinned_caller_comes_to_a_workers_cpu() {
    bounded!();
    let all = process_mask();
    if all.len() < 2 {
        return cannot_check!("cpus", "wants two");
    }
    let (two, all) = (&all[..2], &all);
    thread::scope(|scope| {
        // Its own thread, whose mask ends with it.
        let caller = move || {
            pin(two);
            let pool = Pool::builder().width(2).pin(true).thread_name("s26f").build().unwrap();
            let worker = await_named("s26f-", 1).remove(0);
            on_all_threads(&pool, |_| ());
            for cpu in cpus_of(&worker).into_iter().chain(two.iter().copied()).cycle().take(5) {
                pin(&[cpu]);
                // Until they have met; whether that is soon is the bench's matter.
                while cpus_of(&worker) == [cpu] {
                    works(&pool, 500);
                }
                let own = cpus_of(&worker);
                assert!(own.len() == 1 && all.contains(&own[0]), "{own:?}");
                assert_eq!(mask(), [cpu]);
            }
        };
        scope.spawn(caller).join().unwrap();
    });
}

/// S26, S6: under a mask that leaves out CPUs, workers stay inside.
#[test]
fn s26_pinned_workers_under_a_mask() {
    bounded!();
    for nth in [0, 1] {
        isolated!().with(|child| confine(child, vec![nth_cpu(nth)])).run(|| {
            let cpu = mask()[0];
            common::record_logs();
            let pool = Pool::builder().width(3).pin(true).thread_name("s26c").build().unwrap();
            works(&pool, 100);
            for worker in await_named("s26c-", 2) {
                assert_eq!(cpus_of(&worker), [cpu]);
            }
            assert_eq!(mask(), [cpu]);
            assert_eq!(common::warnings(), [""; 0], "no error noise");
        });
    }
}

/// S26: as the engines do it, with core_affinity.
#[test]
fn s26_core_affinity_pins_the_caller_first() {
    bounded!();
    let all = process_mask();
    let first = core_affinity::CoreId { id: all[0] };
    assert!(core_affinity::set_for_current(first));
    let pool = Pool::builder().width(2).thread_name("s26d").build().unwrap();
    assert_eq!(pool.active_width(), all.len().min(2));
    on_all_threads(&pool, |_| ());
    assert_eq!(cpus_of(&await_named("s26d-", 1)[0]), all);
    assert_eq!(mask(), [all[0]]);
    pin(&all);
}
