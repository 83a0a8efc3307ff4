//! S50: coroutines end frames in another order than they began. Where that is a
//! frame of a region, a scope of steps or a pool, the process says so and ends:
//! what the thread would go back to may be a pool that is gone.

#![cfg(target_os = "linux")]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/forked.rs"]
mod forked;

use common::cpus;
use corosensei::Coroutine;
use forked::{fork_and_listen, End, GOOD};
use rowpool::Pool;
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

type Suspended = Coroutine<(), (), ()>;

/// A coroutine that goes to another thread, as runtimes of them do it.
struct Moved(Suspended);

// SAFETY: only the closures of this file are in it, which hold nothing of a
// thread: pools and atomics.
unsafe impl Send for Moved {}

impl Moved {
    fn resume(mut self) {
        self.0.resume(());
        assert!(self.0.done());
    }

    /// Unwinds it.
    fn end(self) {
        drop(self.0);
    }
}

/// What suspends, for closures that have to be `Send` or `Sync`.
struct Here<'a>(&'a dyn Fn());

// SAFETY: called on the thread that made it only, by all tests.
unsafe impl Sync for Here<'_> {}

impl Here<'_> {
    fn suspend(&self) {
        self.0();
    }
}

/// One that was suspended by the given function on this thread.
fn suspended(within: impl FnOnce(&dyn Fn()) + 'static) -> Suspended {
    let mut coroutine = Coroutine::new(|yielder, ()| within(&|| yielder.suspend(())));
    coroutine.resume(());
    coroutine
}

/// Fails unless a process that does this ends by an abort, with the library's line
/// last, whatever else it says.
fn aborts(what: &str, program: impl FnOnce()) {
    let (end, errors) = fork_and_listen(program);
    assert_eq!(end, End::Signal(libc::SIGABRT), "{what}: {errors}");
    let line = errors.lines().last().unwrap_or_default();
    assert!(line.starts_with("rowpool: a ") && line.contains("out of order"), "{what}: {errors}");
    assert!(line.ends_with(", aborting"), "{what}: {errors}");
}

/// In a scope of steps, between two of them.
fn in_steps(pool: &Arc<Pool>) -> Suspended {
    let pool = Arc::clone(pool);
    suspended(move |suspend| {
        pool.scope_steps(|| {
            pool.for_each_index(10, |_| ());
            suspend();
            pool.for_each_index(10, |_| ());
        });
    })
}

/// In a slot of a region: the caller's.
fn in_a_slot(pool: &Arc<Pool>) -> Suspended {
    let pool = Arc::clone(pool);
    suspended(move |suspend| {
        let thread = thread::current().id();
        let here = Here(suspend);
        pool.run(2, |slot| {
            if slot == 0 && thread::current().id() == thread {
                here.suspend();
            }
        });
    })
}

#[test]
fn s50_resumed_on_another_thread() {
    bounded!();
    aborts("in steps", || {
        let moved = Moved(in_steps(&Arc::new(cpus::pool(2))));
        let _ = thread::spawn(move || moved.resume()).join();
    });
    aborts("in a slot", || {
        let moved = Moved(in_a_slot(&Arc::new(cpus::pool(2))));
        let _ = thread::spawn(move || moved.resume()).join();
    });
}

#[test]
fn s50_dropped_on_another_thread() {
    bounded!();
    aborts("in steps", || {
        let moved = Moved(in_steps(&Arc::new(cpus::pool(2))));
        let _ = thread::spawn(move || moved.end()).join();
    });
}

/// All on one thread, in safe code: a frame of the pool is left in a frame of
/// another one.
#[test]
fn s50_resumed_inside_of_another_region() {
    bounded!();
    aborts("in steps", || {
        let pool = Arc::new(cpus::pool(2));
        thread_local!(static ONE: RefCell<Option<Suspended>> = const { RefCell::new(None) });
        ONE.set(Some(in_steps(&pool)));
        pool.run(2, |slot| {
            if slot == 0 {
                ONE.with_borrow_mut(|one| one.as_mut().unwrap().resume(()));
            }
        });
    });
}

/// In order is well: suspended and resumed on one thread, which does other things
/// in between that need no pool, or uses the same one.
#[test]
fn s50_frames_that_end_in_order() {
    bounded!();
    let (end, errors) = fork_and_listen(|| {
        let pool = Arc::new(cpus::pool(2));
        for _ in 0..3 {
            let mut coroutine = in_steps(&pool);
            // The thread keeps the pool: these are steps.
            pool.for_each_index(10, |_| ());
            coroutine.resume(());
            assert!(coroutine.done());
            assert_eq!(common::on_all_threads(&pool, |_| ()).len(), 2);
        }
        drop(in_steps(&pool));
        assert_eq!(common::on_all_threads(&pool, |_| ()).len(), 2);
    });
    assert_eq!(end, GOOD, "{errors}");
}
