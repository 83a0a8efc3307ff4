//! S37: loggers, start hooks, names and what they capture are other people's
//! code. It may use pools, take locks and panic, and runs under no lock of ours.

#[macro_use]
mod common;

use common::{cpus, on_all_threads, panic_of, text_of, Latch};
use log::{LevelFilter, Log, Metadata, Record};
use rowpool::Pool;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The default width here, which no pool of these tests has by itself.
const DEFAULT: usize = 5;

/// Runs the rest of a test in a process where the global pool is not there yet.
macro_rules! first_use {
    ($body:expr) => {
        isolated!().env("ROWPOOL_NUM_THREADS", DEFAULT.to_string()).run($body)
    };
}

/// Rows of the pool are right.
fn works(pool: &Pool) {
    let mut rows = vec![0; 1000];
    pool.with_work(usize::MAX).for_each_row(&mut rows, |row, out| *out = row + 1);
    assert!(rows.iter().enumerate().all(|(row, out)| *out == row + 1));
}

/// A logger by a function.
struct Logger(fn(&Record<'_>));

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &Record<'_>) {
        self.0(record);
    }
    fn flush(&self) {}
}

impl Logger {
    fn install(&'static self) {
        log::set_logger(self).expect("the first logger");
        log::set_max_level(LevelFilter::Trace);
    }
}

/// A logger that stamps each line with the width of the global pool, and uses it.
#[test]
fn s37_a_logger_that_uses_the_global_pool() {
    bounded!();
    first_use!(|| {
        static STAMPS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        Logger(|_| {
            works(rowpool::global());
            STAMPS.lock().unwrap().push(rowpool::global().num_threads());
        })
        .install();
        works(rowpool::global());
        works(&Pool::new(2).unwrap());
        let stamps = STAMPS.lock().unwrap();
        assert!(!stamps.is_empty(), "nothing was logged");
        assert!(stamps.iter().all(|&stamp| stamp == DEFAULT), "{stamps:?}");
    });
}

/// A logger that takes a lock, as one in Python does: who holds it calls the pool
/// while another thread's first use logs.
#[test]
fn s37_a_logger_that_waits_for_who_uses_the_global_pool() {
    bounded!();
    first_use!(|| {
        static INTERPRETER: Mutex<()> = Mutex::new(());
        static WAITING: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static HOLDS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
        Logger(|_| {
            if !HOLDS.get() {
                common::tick(&WAITING);
                drop(INTERPRETER.lock().unwrap());
            }
        })
        .install();
        let held = INTERPRETER.lock().unwrap();
        HOLDS.set(true);
        let other = thread::spawn(|| {
            works(rowpool::global());
            std::ptr::from_ref(rowpool::global()) as usize
        });
        while WAITING.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        works(rowpool::global());
        works(&Pool::new(2).unwrap());
        assert_eq!(rowpool::global().num_threads(), DEFAULT);
        drop(held);
        let same = std::ptr::from_ref(rowpool::global()) as usize;
        assert_eq!(other.join().unwrap(), same, "one pool for all");
    });
}

/// A logger that panics: who builds hears of it, and there is a pool.
#[test]
fn s37_a_logger_that_panics() {
    bounded!();
    first_use!(|| {
        Logger(|_| std::panic::resume_unwind(Box::new("no log"))).install();
        assert_eq!(text_of(&*panic_of(|| works(rowpool::global()))), "no log");
        works(rowpool::global());
        assert_eq!(rowpool::global().num_threads(), DEFAULT);
        on_all_threads(rowpool::global(), |_| ());
    });
}

/// The first to be ready counts: here the one that a name asked for.
#[test]
fn s37_a_name_that_uses_the_global_pool() {
    bounded!();
    first_use!(|| {
        let name = |slot: usize| {
            works(rowpool::global());
            format!("{slot} of {}", rowpool::global().num_threads())
        };
        let pool = Pool::builder().width(3).thread_name(name).build_global().unwrap();
        assert!(std::ptr::eq(pool, rowpool::global()));
        assert_eq!(pool.num_threads(), DEFAULT);
        works(pool);
    });
}

/// A start hook that does, on the worker of a pool that is given up meanwhile.
#[test]
fn s37_a_hook_that_uses_the_global_pool_while_a_name_panics() {
    bounded!();
    first_use!(|| {
        let (began, seen) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
        let hook = {
            let (began, seen) = (began.clone(), Arc::clone(&seen));
            move |_| {
                began.open();
                // The builder is about to join this worker.
                thread::sleep(Duration::from_millis(20));
                works(rowpool::global());
                seen.store(rowpool::global().num_threads(), Ordering::SeqCst);
            }
        };
        let name = move |slot: usize| {
            if slot == 2 {
                began.wait();
                std::panic::resume_unwind(Box::new("no name"));
            }
            "named".to_owned()
        };
        let build = || {
            let builder = Pool::builder().width(3).on_worker_start(hook).thread_name(name);
            drop(builder.build_global().map(Pool::num_threads));
        };
        assert_eq!(text_of(&*panic_of(build)), "no name");
        assert_eq!(seen.load(Ordering::SeqCst), DEFAULT, "the worker was joined");
        assert_eq!(rowpool::global().num_threads(), DEFAULT);
        works(rowpool::global());
    });
}

/// A hook that uses the global pool while that is built, by its own workers.
#[test]
fn s37_the_global_pools_own_hook_uses_it() {
    bounded!();
    first_use!(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let hook = {
            let ran = Arc::clone(&ran);
            move |_| {
                works(rowpool::global());
                common::tick(&ran);
            }
        };
        let builder = cpus::builder().width(3).on_worker_start(hook);
        let pool = builder.build_global().unwrap();
        // A worker may have been first, with a pool of the default width.
        assert!([3, DEFAULT].contains(&pool.num_threads()), "{}", pool.num_threads());
        works(pool);
        while ran.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
    });
}

/// Panics when it is dropped, on whatever thread that is.
struct Bad(&'static AtomicUsize);

impl Drop for Bad {
    fn drop(&mut self) {
        common::tick(self.0);
        std::panic::resume_unwind(Box::new("dropped"));
    }
}

/// What a hook has captured is dropped by the last to have it, on a worker here.
/// That may panic, and ends no worker: all take part afterwards.
#[test]
fn s37_a_hooks_captured_value_panics_in_its_drop() {
    bounded!();
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    for width in [2, 4] {
        DROPS.store(0, Ordering::SeqCst);
        let built = Latch::default();
        let hook = {
            let (bad, built) = (Bad(&DROPS), built.clone());
            move |_| {
                let _ = &bad;
                // The builder has let go of its own.
                built.wait();
            }
        };
        let pool = cpus::builder().width(width).on_worker_start(hook).build().unwrap();
        built.open();
        while DROPS.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        for _ in 0..3 {
            assert_eq!(on_all_threads(&pool, |_| ()).len(), width);
        }
        assert_eq!((pool.num_threads(), pool.active_width()), (width, width));
        assert_eq!(DROPS.load(Ordering::SeqCst), 1);
    }
}

/// So may the payload of a hook's panic, and the logger that hears of it.
#[test]
fn s37_a_hooks_panic_panics_in_its_drop() {
    bounded!();
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    isolated!().run(|| {
        Logger(|record| {
            if record.level() == log::Level::Error {
                std::panic::resume_unwind(Box::new(Bad(&DROPS)));
            }
        })
        .install();
        let hook = |_| std::panic::resume_unwind(Box::new(Bad(&DROPS)));
        let pool = cpus::builder().width(4).on_worker_start(hook).build().unwrap();
        for _ in 0..3 {
            assert_eq!(on_all_threads(&pool, |_| ()).len(), 4);
        }
        assert_eq!((pool.num_threads(), pool.active_width()), (4, 4));
    });
}
