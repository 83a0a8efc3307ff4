//! A pool of the program's own, and what a thread may ask about its pool.

use crate::broadcast::{broadcast_in, spawn_broadcast_in, BroadcastContext};
use crate::registry::Registry;
use crate::scope::{run_scope, run_scope_fifo, Scope, ScopeFifo};
use crate::seat::Seat;
use crate::spawn::{spawn_fifo_in, spawn_in};
use std::fmt;
use std::sync::Arc;

/// A pool. Dropping it lets its threads end when all that was spawned has run;
/// it does not wait for them.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (index, _) = pool.join(rayon_core::current_thread_index, || ());
/// assert!(index.is_some());
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
}

impl ThreadPool {
    pub(crate) fn from_registry(registry: Arc<Registry>) -> ThreadPool {
        ThreadPool { registry }
    }

    /// Runs `op` on one of this pool's workers: all that it does in parallel is
    /// done here. A panic is raised where this was called.
    ///
    /// A worker of another pool works for its own while it waits, so thread
    /// locals that it has borrowed may be met again.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(|_, _| op())
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, op)
    }

    /// How many threads the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// The index of this thread in this pool, `None` if it is not in it. Two
    /// threads never have the same at one time.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.own_seat().map(|seat| seat.index)
    }

    /// Whether this thread, if it is in this pool, has queued work that nobody
    /// has begun.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.registry.own_seat().map(Seat::has_own_work)
    }

    /// [`join`](crate::join()) in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) that spawns in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        run_scope(Seat::current(), Some(&self.registry), op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) that spawns in this
    /// pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        run_scope_fifo(Seat::current(), Some(&self.registry), op)
    }

    /// [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_in(&self.registry, op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_fifo_in(&self.registry, op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, op);
    }

    /// [`yield_now`] if this thread is in this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.registry.own_seat().map(|seat| run_one(seat, seat.find()))
    }

    /// [`yield_local`] if this thread is in this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.registry.own_seat().map(|seat| run_one(seat, seat.take_local()))
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.release();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.registry.id())
            .finish()
    }
}

/// The index of this thread in its pool, `None` outside of any. Two threads of
/// a pool never have the same at one time.
///
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Seat::current().map(|seat| seat.index)
}

/// Whether this thread has queued work that nobody has begun; `None` outside of
/// any pool.
///
/// ```
/// assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Seat::current().map(Seat::has_own_work)
}

/// Runs one piece of work of this thread's pool, if there is any; `None` outside
/// of any pool.
///
/// ```
/// assert_eq!(rayon_core::yield_now(), None);
/// ```
pub fn yield_now() -> Option<Yield> {
    Seat::current().map(|seat| run_one(seat, seat.find()))
}

/// Runs one piece of this thread's own queued work, if there is any; `None`
/// outside of any pool.
///
/// ```
/// assert_eq!(rayon_core::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    Seat::current().map(|seat| run_one(seat, seat.take_local()))
}

fn run_one(seat: &Seat, job: Option<crate::job::JobRef>) -> Yield {
    match job {
        Some(job) => {
            seat.execute(job);
            Yield::Executed
        }
        None => Yield::Idle,
    }
}

/// What came of [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// Work was found and has run.
    Executed,
    /// There was none.
    Idle,
}
