//! Closures that nobody waits for.

use crate::global;
use crate::job::{HeapJob, JobRef};
use crate::registry::Registry;
use std::sync::Arc;

/// Queues a closure in this thread's pool, or in the global one, and returns at
/// once.
///
/// A worker begins with its newest closure. A panic goes to the pool's
/// [panic handler](crate::ThreadPoolBuilder::panic_handler); without one the
/// process aborts.
///
/// ```
/// let (done, wait) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || done.send(1).unwrap());
/// assert_eq!(wait.recv(), Ok(1));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(&global::current(), func);
}

/// [`spawn`] whose closures begin in the order in which one worker spawned
/// them.
///
/// ```
/// let (done, wait) = std::sync::mpsc::channel();
/// rayon_core::spawn_fifo(move || done.send(1).unwrap());
/// assert_eq!(wait.recv(), Ok(1));
/// ```
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_in(&global::current(), func);
}

pub(crate) fn spawn_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = job(registry, func);
    registry.inject_or_push(job);
}

pub(crate) fn spawn_fifo_in(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) {
    let job = job(registry, func);
    match registry.own_seat() {
        // SAFETY: the queue is the registry's, which the job keeps alive.
        Some(seat) => seat.push(unsafe { seat.fifo.push(job) }),
        None => registry.inject(job),
    }
}

/// A job that keeps the pool's threads until it has run.
pub(crate) fn job(registry: &Arc<Registry>, func: impl FnOnce() + Send + 'static) -> JobRef {
    registry.retain();
    let registry = Arc::clone(registry);
    // SAFETY: it borrows nothing.
    unsafe {
        HeapJob::boxed(move || {
            registry.report_panic(func);
            registry.release();
        })
    }
}
