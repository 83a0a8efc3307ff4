//! S42: signals of the process are for the host's threads. Workers block them
//! from their first instruction on, but those that a thread raises by what it
//! does, and the profilers' one.

#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/forked.rs"]
mod forked;

use common::cpus;
use common::tasks::await_named;
use forked::{fork, GOOD};
use rowpool::PoolBuilder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a worker may get.
const OPEN: [i32; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// Those that the kernel lets nobody block, and the C library's own two.
const NEVER: [i32; 4] = [libc::SIGKILL, libc::SIGSTOP, 32, 33];

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn set_of(signals: &[i32]) -> u64 {
    signals.iter().fold(0, |set, &signal| set | bit(signal))
}

/// The calling thread's blocked signals, by the kernel.
fn blocked_here() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

/// A signal set of one.
fn only(signal: i32) -> libc::sigset_t {
    // SAFETY: all zeros are a value of it, and it is ours.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        set
    }
}

/// A builder whose workers have started when there are as many masks as workers.
fn recording(name: &'static str, masks: &Arc<Mutex<Vec<u64>>>) -> PoolBuilder {
    let masks = Arc::clone(masks);
    let hook = move |_| masks.lock().unwrap().push(blocked_here());
    cpus::builder().width(4).thread_name(name).on_worker_start(hook)
}

/// In its hook already, and for good; the builder's own mask is as it was.
#[test]
fn s42_the_masks_of_workers() {
    bounded!();
    let before = blocked_here();
    let masks = Arc::default();
    let pool = recording("masks", &masks).build().unwrap();
    assert_eq!(blocked_here(), before, "the builder's");
    let workers = await_named("masks-", 3);
    common::on_all_threads(&pool, |_| ());
    let all = set_of(&(1..=64).collect::<Vec<_>>());
    let (open, never) = (set_of(&OPEN), set_of(&NEVER));
    for mask in masks.lock().unwrap().iter().copied() {
        assert_eq!(mask | never, all & !open | never, "in the hook: {mask:#x}");
    }
    assert_eq!(masks.lock().unwrap().len(), 3);
    for worker in workers {
        assert_eq!(worker.blocked_signals(), masks.lock().unwrap().first().copied());
    }
}

/// A host's own blocks stay, also of the signals that workers leave open.
#[test]
fn s42_what_the_builder_blocks_stays_blocked() {
    bounded!();
    let masks = Arc::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: a live set, for the calling thread.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, &only(libc::SIGPROF), std::ptr::null_mut())
            };
            let pool = recording("inherit", &masks).build().unwrap();
            common::on_all_threads(&pool, |_| ());
            assert_ne!(blocked_here() & bit(libc::SIGPROF), 0);
        });
    });
    assert!(masks.lock().unwrap().iter().all(|mask| mask & bit(libc::SIGPROF) != 0));
}

/// A signal that the host blocks after the pool was built is the host's to wait
/// for; a worker that took it would end the process. In a child whose only other
/// threads are workers.
#[test]
fn s42_sigwait_gets_what_the_host_waits_for() {
    bounded!();
    let end = fork(|| {
        let pool = cpus::pool(4);
        common::on_all_threads(&pool, |_| ());
        for signal in [libc::SIGUSR1, libc::SIGTERM, libc::SIGALRM, libc::SIGRTMIN() + 3] {
            let mut got = 0;
            // SAFETY: live sets and numbers; this thread's mask.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, &only(signal), std::ptr::null_mut());
                libc::kill(libc::getpid(), signal);
            }
            common::on_all_threads(&pool, |_| ());
            // SAFETY: as above.
            assert_eq!(unsafe { libc::sigwait(&only(signal), &mut got) }, 0);
            assert_eq!(got, signal);
        }
    });
    assert_eq!(end, GOOD);
}

/// Profilers sample workers.
#[test]
fn s42_sigprof_reaches_workers() {
    bounded!();
    isolated!().run(|| {
        static SAMPLES: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
        thread_local!(static SLOT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        extern "C" fn sample(_: libc::c_int) {
            SAMPLES[SLOT.get()].fetch_add(1, Ordering::SeqCst);
        }
        let handler: extern "C" fn(libc::c_int) = sample;
        // SAFETY: the handler touches an atomic and a constant thread-local.
        unsafe { libc::signal(libc::SIGPROF, handler as libc::sighandler_t) };
        let pool = cpus::builder().width(4).on_worker_start(|slot| SLOT.set(slot));
        let pool = pool.build().unwrap();
        // To each thread by itself: who gets one that the process gets is chance.
        common::on_all_threads(&pool, |slot| {
            if slot > 0 {
                // SAFETY: the calling thread itself.
                unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGPROF) };
            }
        });
        let samples = SAMPLES.iter().map(|samples| samples.load(Ordering::SeqCst));
        let samples: Vec<usize> = samples.collect();
        assert!(samples[1..].iter().all(|&samples| samples > 0), "{samples:?}");
    });
}
