//! Threads that cannot be created: the pool works with those it got, or says
//! why it does not exist.

#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/group.rs"]
mod group;

use common::tasks::{await_named, named};
use group::Group;
use rowpool::{BuildError, Pool, PoolBuilder};
use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const WANTED: usize = 8;

fn builder() -> PoolBuilder {
    Pool::builder().width(WANTED).thread_name("few")
}

/// Every shape gives what it should.
fn works(pool: &Pool) {
    for _ in 0..10 {
        let mut rows = vec![0; 1000];
        pool.for_each_row(&mut rows, |row, out| *out = row + 1);
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row + 1));
        pool.with_work(usize::MAX).for_each_chunk(&mut rows, 7, |i, chunk| chunk.fill(i));
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row / 7));
        let slots = AtomicUsize::new(0);
        pool.broadcast(|_| common::tick(&slots));
        assert_eq!(slots.into_inner(), pool.num_threads());
        assert!((1..=pool.num_threads()).contains(&pool.active_width()));
    }
}

/// Pools of a process that may have only so many threads more; `limit` sets
/// that.
fn pools_under(limit: &dyn Fn(Option<usize>)) {
    common::record_logs();
    for (round, more) in [0, 1, 3, WANTED - 2].into_iter().enumerate() {
        limit(Some(more));
        let pool = builder().build().unwrap();
        assert_eq!(pool.num_threads(), more + 1);
        let warnings = common::warnings();
        assert_eq!(warnings.len(), round + 1, "{warnings:?}");
        let said = format!("only {} of {WANTED} threads", more + 1);
        assert!(warnings[round].contains(&said), "{warnings:?}");
        works(&pool);
        drop(pool);
        await_named("few-", 0);

        limit(Some(more));
        match builder().strict(true).build() {
            Err(BuildError::Spawn { got, wanted, source }) => {
                assert_eq!((got, wanted), (more + 1, WANTED));
                assert_eq!(source.kind(), io::ErrorKind::WouldBlock, "EAGAIN: {source}");
            }
            other => panic!("{other:?}"),
        }
        await_named("few-", 0);
        assert_eq!(common::warnings().len(), round + 1, "an error is enough");

        limit(None);
        let pool = builder().strict(true).build().unwrap();
        assert_eq!(pool.num_threads(), WANTED);
        works(&pool);
        drop(pool);
        await_named("few-", 0);
    }
    // The process-wide pool is never strict.
    limit(Some(2));
    assert_eq!(rowpool::threads::gemv_num_threads(), 3);
    works(rowpool::global());
    limit(None);
    rowpool::threads::for_each_row(&mut [0.0; 2], 2, 1 << 20, |_, _| ());
    assert_eq!(rowpool::threads::init_cpu_pool(), None, "it has run");
}

/// A group that counts this process's threads.
fn pids() -> io::Result<Group> {
    let group = Group::enter("pids", &[])?;
    fs::read_to_string(group.file("pids.current"))?;
    Ok(group)
}

/// Lets the process in a pids group have so many more threads.
fn limit(group: &Group, more: Option<usize>) {
    let max = match more {
        None => "max".to_owned(),
        Some(more) => {
            // Threads that were joined may be counted for a moment: what
            // procfs lists is what will be left.
            let mine = fs::read_dir("/proc/self/task").unwrap().count();
            let current = || fs::read_to_string(group.file("pids.current")).unwrap();
            while current().trim() != mine.to_string() {
                common::tasks::nap();
            }
            (mine + more).to_string()
        }
    };
    fs::write(group.file("pids.max"), max).unwrap();
}

#[test]
fn refused_by_the_kernel() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", WANTED.to_string()).run(|| match pids() {
        Ok(group) => pools_under(&|more| limit(&group, more)),
        Err(error) => cannot_check!("cgroup1-pids", "{error}"),
    });
}

/// S37: a strict build of the global pool that fails joins a worker whose hook asks
/// for that pool. It gets one, of the threads that there are.
fn a_strict_build_fails_beside_a_hook(limit: &dyn Fn(Option<usize>)) {
    let seen = Arc::new(AtomicUsize::new(0));
    let hook = {
        let seen = Arc::clone(&seen);
        move |_| {
            // The builder has met the limit, and is about to join this worker.
            std::thread::sleep(std::time::Duration::from_millis(20));
            works(rowpool::global());
            seen.store(rowpool::global().num_threads(), Ordering::SeqCst);
        }
    };
    limit(Some(1));
    match Pool::builder().width(3).strict(true).on_worker_start(hook).build_global() {
        Err(BuildError::Spawn { got, wanted, .. }) => assert_eq!((got, wanted), (2, 3)),
        other => panic!("{other:?}"),
    }
    limit(None);
    assert_eq!(seen.load(Ordering::SeqCst), 1, "the worker itself was the last");
    assert_eq!(rowpool::global().num_threads(), 1);
    works(rowpool::global());
}

#[test]
fn s37_refused_by_the_kernel_beside_a_hook() {
    bounded!();
    isolated!().run(|| match pids() {
        Ok(group) => a_strict_build_fails_beside_a_hook(&|more| limit(&group, more)),
        Err(error) => cannot_check!("cgroup1-pids", "{error}"),
    });
}

#[test]
#[cfg(target_env = "gnu")]
fn s37_refused_by_a_fake_beside_a_hook() {
    bounded!();
    isolated!().run(|| {
        a_strict_build_fails_beside_a_hook(&|more| {
            fake::ALLOWED.store(more.unwrap_or(usize::MAX), Ordering::SeqCst);
        });
    });
}

/// The same where no group can be had: `pthread_create` refuses by itself.
#[test]
#[cfg(target_env = "gnu")]
fn refused_by_a_fake() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", WANTED.to_string()).run(|| {
        pools_under(&|more| fake::ALLOWED.store(more.unwrap_or(usize::MAX), Ordering::SeqCst));
    });
}

#[cfg(target_env = "gnu")]
mod fake {
    use libc::{c_int, c_void, pthread_attr_t, pthread_t};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Threads that may still be created; `usize::MAX`: as many as one likes.
    pub static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);

    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    type Create =
        unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;

    /// The C library's, with a limit: this one is found first.
    ///
    /// # Safety
    /// As `pthread_create`.
    #[no_mangle]
    unsafe extern "C" fn pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int {
        let take = |left: usize| match left {
            usize::MAX => Some(left),
            _ => left.checked_sub(1),
        };
        if ALLOWED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            return libc::EAGAIN;
        }
        // SAFETY: looks up the next definition of a name, given as a C string.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
        assert!(!next.is_null());
        // SAFETY: that is the C library's function, which has this type.
        let next: Create = unsafe { std::mem::transmute(next) };
        // SAFETY: the arguments are our caller's.
        unsafe { next(thread, attributes, start, argument) }
    }
}

#[test]
fn widths_at_the_limit() {
    bounded!();
    for width in [513, 514, 100_000, usize::MAX] {
        match Pool::new(width) {
            Err(error @ BuildError::TooWide(it)) => {
                assert_eq!(it, width);
                assert!(error.to_string().contains(&width.to_string()));
                assert!(std::error::Error::source(&error).is_none());
            }
            other => panic!("{other:?}"),
        }
        assert!(Pool::builder().width(width).strict(true).build().is_err());
    }
    let pool = Pool::builder().width(512).thread_name("wide").build().unwrap();
    assert_eq!(pool.num_threads(), 512);
    await_named("wide-", 511);
    works(&pool);
    drop(pool);
    await_named("wide-", 0);
}

#[test]
fn a_width_of_one_has_no_thread() {
    bounded!();
    let pool = Pool::builder().width(1).thread_name("lone").build().unwrap();
    assert_eq!((pool.num_threads(), pool.active_width()), (1, 1));
    works(&pool);
    assert!(named("lone-").is_empty());
}

#[test]
fn a_width_of_zero_is_the_default() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "5").run(|| {
        assert_eq!(Pool::new(0).unwrap().num_threads(), 5);
        assert_eq!(Pool::builder().build().unwrap().num_threads(), 5);
        std::env::set_var("ROWPOOL_NUM_THREADS", "3");
        assert_eq!(Pool::new(0).unwrap().num_threads(), 3);
        assert_eq!(Pool::new(4).unwrap().num_threads(), 4, "the program's own number comes first");
    });
}

/// What may be sent where.
#[test]
fn auto_traits() {
    fn shared<T: Send + Sync + 'static>() {}
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    shared::<Pool>();
    error::<BuildError>();
}
