//! Closures that every worker of a pool runs.

use crate::count_latch::CountLatch;
use crate::global;
use crate::job::StackJob;
use crate::lease::Lease;
use crate::registry::Registry;
use crate::seat::Seat;
use crate::spawn;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Runs the closure on every worker of this thread's pool, or of the global
/// one, each once, and returns their results in the order of their indices.
///
/// Each call is on a thread of its own, so they may wait for each other. A
/// worker begins with it when it has nothing else of its own to do. A panic is
/// raised here after all have ended.
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&global::current(), op)
}

/// Queues a closure that every worker of this thread's pool, or of the global
/// one, runs once, and returns at once. A panic is as with
/// [`spawn`](crate::spawn).
///
/// ```
/// let (done, wait) = std::sync::mpsc::channel();
/// rayon_core::spawn_broadcast(move |context| done.send(context.index()).unwrap());
/// assert_eq!(wait.into_iter().count(), rayon_core::current_num_threads());
/// ```
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&global::current(), op);
}

pub(crate) fn broadcast_in<OP, R>(registry: &Arc<Registry>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // Seat 0's part is the caller's own, where it may have the seat.
    let _lease = match Seat::current() {
        Some(_) => None,
        None => Lease::take(registry),
    };
    let owner = Seat::current();
    let latch = CountLatch::new(registry.num_threads(), owner);
    let run = |_| BroadcastContext::with(&op);
    let jobs: Vec<_> = (0..registry.num_threads()).map(|_| StackJob::new(&run, &latch)).collect();
    // SAFETY: they stay here until the latch is set, which all of them do.
    registry.inject_broadcast(jobs.iter().map(|job| unsafe { job.as_job() }));
    latch.wait(owner);
    jobs.into_iter().map(StackJob::into_result).collect()
}

pub(crate) fn spawn_broadcast_in<OP>(registry: &Arc<Registry>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let op = Arc::new(op);
    let jobs = (0..registry.num_threads()).map(|_| {
        let op = Arc::clone(&op);
        spawn::job(registry, move || BroadcastContext::with(&*op))
    });
    registry.inject_broadcast(jobs);
}

/// Which of the workers it is that runs a [`broadcast`].
pub struct BroadcastContext<'a> {
    seat: &'a Seat,
    /// It stays on its worker.
    _here: PhantomData<*const ()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn with<R>(func: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let seat = Seat::current().expect("jobs run on workers");
        func(BroadcastContext { seat, _here: PhantomData })
    }

    /// The worker's index in its pool.
    #[inline]
    pub fn index(&self) -> usize {
        self.seat.index
    }

    /// How many workers run the broadcast.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.seat.registry().num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &self.seat.registry().id())
            .finish()
    }
}
