//! What a builder tells the threads: names, stacks, the start hook.

#[macro_use]
mod common;

use common::cpus;
use common::on_all_threads;
use rowpool::PoolBuilder;
use std::sync::{mpsc, Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// What each worker of a pool sees when it starts, by slot.
fn seen<T: Send + 'static>(
    builder: PoolBuilder,
    see: impl Fn(usize) -> T + Send + Sync + 'static,
) -> Vec<(usize, T)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    let hook = move |slot| all.lock().unwrap().push((slot, see(slot)));
    // The drop joins the workers, who have started then.
    drop(builder.on_worker_start(hook).build().unwrap());
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort_by_key(|(slot, _)| *slot);
    seen
}

fn names(builder: PoolBuilder) -> Vec<String> {
    let name = |_| thread::current().name().unwrap_or("none").to_owned();
    seen(builder, name).into_iter().map(|(_, name)| name).collect()
}

#[test]
fn thread_names() {
    bounded!();
    let three = || cpus::builder().width(3);
    assert_eq!(names(three()), ["rowpool-1", "rowpool-2"]);
    assert_eq!(names(three().thread_name("gemv")), ["gemv-1", "gemv-2"]);
    assert_eq!(names(three().thread_name(String::from("own"))), ["own-1", "own-2"]);
    let by_slot = |slot: usize| format!("slot {}", 10 * slot);
    assert_eq!(names(three().thread_name(by_slot)), ["slot 10", "slot 20"]);
    let function: fn(usize) -> String = |slot| slot.to_string();
    assert_eq!(names(three().thread_name(function)), ["1", "2"]);
    assert_eq!(names(three().thread_name("")), ["-1", "-2"]);
    assert_eq!(names(three().thread_name("zażółć")), ["zażółć-1", "zażółć-2"]);
}

/// The system's call takes no NUL.
#[test]
fn a_name_with_a_nul() {
    bounded!();
    let names = names(cpus::builder().width(3).thread_name("a\0b"));
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.starts_with('a') && !name.contains('\0')), "{names:?}");
    let closure = names_of_closure();
    assert_eq!(closure.len(), 1);
}

fn names_of_closure() -> Vec<String> {
    names(cpus::builder().width(2).thread_name(|_: usize| "\0".to_owned()))
}

#[test]
fn the_start_hook_runs_once_on_each_worker() {
    bounded!();
    for width in [1, 2, 3, 9, 40] {
        let seen = seen(cpus::builder().width(width), |_| thread::current().id());
        let slots: Vec<usize> = seen.iter().map(|(slot, _)| *slot).collect();
        assert_eq!(slots, (1..width).collect::<Vec<_>>());
        let mut threads: Vec<ThreadId> = seen.iter().map(|(_, thread)| *thread).collect();
        threads.push(thread::current().id());
        threads.dedup();
        assert_eq!(threads.len(), width, "a thread each, and not the caller");
    }
}

/// The hook of slot `i` runs on the thread that then owns slot `i`, before it
/// runs any.
#[test]
fn the_start_hook_is_for_the_slots_owner() {
    bounded!();
    let (said, says) = mpsc::channel();
    let hook = move |slot| said.send((slot, thread::current().id())).unwrap();
    let pool = cpus::builder().width(4).on_worker_start(hook).build().unwrap();
    let owners = on_all_threads(&pool, |_| ());
    for _ in 1..4 {
        let (slot, thread) = says.recv().unwrap();
        if slot < owners.len() {
            assert_eq!(owners[slot], thread);
        }
    }
    drop(pool);
    assert!(says.recv().is_err(), "no more");
}

/// A stack that a thread of std's size would not have, and one smaller.
#[test]
fn stack_sizes() {
    /// Calls itself until `bytes` of the stack are used; gives the levels.
    #[inline(never)]
    fn deep(bytes: usize, from: usize) -> usize {
        let page = std::hint::black_box([1u8; 4096]);
        let here = page.as_ptr() as usize;
        if from.abs_diff(here) >= bytes {
            return 0;
        }
        deep(bytes, from) + usize::from(page[bytes % 4096])
    }

    bounded!();
    let mebibytes = 24;
    let large = cpus::builder().width(3).stack_size((mebibytes + 1) << 20);
    let levels = seen(large, move |_| {
        let here = 0u8;
        deep(mebibytes << 20, &raw const here as usize)
    });
    assert!(levels.len() == 2 && levels.iter().all(|(_, levels)| *levels > 0));
    for bytes in [0, 1, 16 << 10, 64 << 10, 100_001] {
        let small = cpus::builder().width(3).stack_size(bytes);
        assert_eq!(seen(small, |slot| slot), [(1, 1), (2, 2)], "{bytes} bytes");
    }
}

/// A stack that no system gives: as any thread that cannot be created.
#[test]
#[cfg(target_os = "linux")]
fn an_impossible_stack() {
    bounded!();
    for bytes in [1 << 60, usize::MAX / 2, usize::MAX - 4096, usize::MAX] {
        let builder = || cpus::builder().width(3).stack_size(bytes);
        let pool = builder().build().unwrap();
        assert_eq!(pool.num_threads(), 1, "{bytes} bytes");
        let mut rows = [0; 100];
        pool.for_each_row(&mut rows, |row, out| *out = row);
        assert_eq!(rows[99], 99);
        assert!(builder().strict(true).build().is_err());
    }
}

#[test]
fn extreme_windows() {
    bounded!();
    for window in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let pool = cpus::builder().width(3).spin_window(window).build().unwrap();
        for _ in 0..100 {
            let mut rows = [0; 100];
            pool.for_each_row(&mut rows, |row, out| *out = row);
            assert!(rows.iter().enumerate().all(|(row, out)| row == *out));
        }
        on_all_threads(&pool, |_| ());
    }
}

/// A function for names that panics leaves no thread behind.
#[test]
#[cfg(target_os = "linux")]
fn a_name_that_panics() {
    bounded!();
    let name = |slot: usize| match slot {
        3 => panic!("no name for {slot}"),
        _ => format!("named-{slot}"),
    };
    let build = || drop(cpus::builder().width(5).thread_name(name).build());
    assert_eq!(common::text_of(&*common::panic_of(build)), "no name for 3");
    common::tasks::await_named("named-", 0);
}
