//! Scopes: any number of closures that may borrow from outside of the scope.

use crate::broadcast::BroadcastContext;
use crate::count_latch::CountLatch;
use crate::global::{global, in_worker};
use crate::job::{Fifo, HeapJob, JobRef};
use crate::latch::Latch;
use crate::registry::Registry;
use crate::seat::Seat;
use crate::sync::{AtomicPtr, Ordering};
use crate::unwind;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

/// Where closures are spawned that end before [`scope`] does.
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// As [`Scope`], with closures of one worker begun in the order of their
/// spawning. See [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    queues: Vec<Fifo>,
}

struct Base<'scope> {
    registry: Arc<Registry>,
    /// The first panic: a box of its payload.
    panic: AtomicPtr<Box<dyn Any + Send>>,
    jobs: CountLatch,
    /// Invariant in `'scope`: closures take a `&Scope<'scope>` in.
    #[allow(clippy::type_complexity)]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

/// Opens a scope on a worker of this thread's pool, or of the global one, and
/// returns when all that was spawned in it has ended.
///
/// Closures of one worker begin with the newest. The first panic, of the
/// scope's closure or of a spawned one, is raised here at the end; everything
/// that was spawned runs nevertheless.
///
/// ```
/// let mut halves = [0, 0];
/// let (a, b) = halves.split_at_mut(1);
/// rayon_core::scope(|scope| {
///     scope.spawn(|_| a[0] = 1);
///     scope.spawn(|_| b[0] = 2);
/// });
/// assert_eq!(halves, [1, 2]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|seat, _| run_scope(Some(seat), None, op))
}

/// [`scope`] whose closures begin in the order in which one worker spawned
/// them.
///
/// ```
/// let count = std::sync::atomic::AtomicUsize::new(0);
/// rayon_core::scope_fifo(|scope| {
///     for _ in 0..3 {
///         scope.spawn_fifo(|_| drop(count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
///     }
/// });
/// assert_eq!(count.into_inner(), 3);
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|seat, _| run_scope_fifo(Some(seat), None, op))
}

/// [`scope`] whose own closure runs on the calling thread, which need not be a
/// worker, so it need not be `Send`.
///
/// ```
/// let local = std::rc::Rc::new(1);
/// let seen = rayon_core::in_place_scope(|scope| {
///     scope.spawn(|_| ());
///     *local
/// });
/// assert_eq!(seen, 1);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    run_scope(Seat::current(), None, op)
}

/// [`scope_fifo`] whose own closure runs on the calling thread. See
/// [`in_place_scope`].
///
/// ```
/// assert_eq!(rayon_core::in_place_scope_fifo(|_| 1), 1);
/// ```
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    run_scope_fifo(Seat::current(), None, op)
}

/// `owner` is the seat of this thread; without a registry the scope is in its
/// pool, or in the global one.
pub(crate) fn run_scope<'scope, OP, R>(
    owner: Option<&Seat>,
    registry: Option<&Arc<Registry>>,
    op: OP,
) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let scope = Scope { base: Base::new(owner, registry) };
    scope.base.complete(owner, || op(&scope))
}

pub(crate) fn run_scope_fifo<'scope, OP, R>(
    owner: Option<&Seat>,
    registry: Option<&Arc<Registry>>,
    op: OP,
) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let base = Base::new(owner, registry);
    let queues = (0..base.registry.num_threads()).map(|_| Fifo::new()).collect();
    let scope = ScopeFifo { base, queues };
    scope.base.complete(owner, || op(&scope))
}

/// A scope, for a job that ends before it.
struct ScopePtr<T>(*const T);

// SAFETY: it stands for a `&T`, which may be sent if `T` is `Sync`.
unsafe impl<T: Sync> Send for ScopePtr<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ScopePtr<T> {}

impl<T> ScopePtr<T> {
    /// # Safety
    /// The scope has not ended.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}

impl<'scope> Scope<'scope> {
    /// Queues a closure that may borrow what outlives the scope. It is given
    /// the scope, to spawn more. See [`scope`].
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let this = ScopePtr(self);
        // SAFETY: it runs before the scope ends, as it is counted.
        let job = self.base.job(move || body(unsafe { this.get() }));
        // The spawner may be no worker, and the scope's own may be elsewhere.
        self.base.registry.inject_or_push(job);
    }

    /// Queues a closure that every worker of the pool runs once.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopePtr(self);
        // SAFETY: it runs before the scope ends, as it is counted.
        self.base.broadcast(move |context| body(unsafe { this.get() }, context));
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Queues a closure that may borrow what outlives the scope. It is given
    /// the scope, to spawn more. See [`scope_fifo`].
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let this = ScopePtr(self);
        // SAFETY: it runs before the scope ends, as it is counted.
        let job = self.base.job(move || body(unsafe { this.get() }));
        match self.base.registry.own_seat() {
            // SAFETY: the queue is the scope's, which waits for its jobs.
            Some(seat) => seat.push(unsafe { self.queues[seat.index].push(job) }),
            None => self.base.registry.inject(job),
        }
    }

    /// Queues a closure that every worker of the pool runs once.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopePtr(self);
        // SAFETY: it runs before the scope ends, as it is counted.
        self.base.broadcast(move |context| body(unsafe { this.get() }, context));
    }
}

impl<'scope> Base<'scope> {
    fn new(owner: Option<&Seat>, registry: Option<&Arc<Registry>>) -> Self {
        let registry = match (registry, owner) {
            (Some(registry), _) => Arc::clone(registry),
            (None, Some(seat)) => seat.registry().share(),
            (None, None) => Arc::clone(global()),
        };
        Base {
            registry,
            panic: AtomicPtr::new(ptr::null_mut()),
            // One for the scope's own closure.
            jobs: CountLatch::new(1, owner),
            marker: PhantomData,
        }
    }

    fn job(&self, body: impl FnOnce() + Send + 'scope) -> JobRef {
        self.jobs.add();
        let this = ScopePtr(self);
        // SAFETY: what the closure borrows outlives the scope, and the scope
        // ends after it; `run` does not use it afterwards.
        unsafe { HeapJob::boxed(move || _ = Self::run(this.get(), body)) }
    }

    fn broadcast(&self, body: impl Fn(BroadcastContext<'_>) + Send + Sync + 'scope) {
        let body = Arc::new(body);
        let jobs = (0..self.registry.num_threads()).map(|_| {
            let body = Arc::clone(&body);
            // The last share of the closure is dropped inside of the job, as
            // what it holds may borrow from outside of the scope.
            self.job(move || BroadcastContext::with(&*body))
        });
        self.registry.inject_broadcast(jobs);
    }

    /// Runs a part of the scope, and counts it as done.
    ///
    /// Takes a pointer, since the scope may end with the last one.
    fn run<R>(this: *const Self, func: impl FnOnce() -> R) -> Option<R> {
        let result = match unwind::catch(func) {
            Ok(result) => Some(result),
            Err(payload) => {
                // SAFETY: this part of the scope is counted still.
                unsafe { (*this).keep_panic(payload) };
                None
            }
        };
        // SAFETY: as above, and not used afterwards.
        unsafe { CountLatch::set(&raw const (*this).jobs) };
        result
    }

    /// Runs the scope's own closure and waits for the rest.
    fn complete<R>(&self, owner: Option<&Seat>, func: impl FnOnce() -> R) -> R {
        let result = Self::run(self, func);
        self.jobs.wait(owner);
        let first = self.panic.swap(ptr::null_mut(), Ordering::Relaxed);
        if !first.is_null() {
            // SAFETY: `keep_panic` put it there, and it is taken once.
            unwind::resume(*unsafe { Box::from_raw(first) });
        }
        result.expect("a panic was kept")
    }

    /// The first one stays. Whoever raises it has seen the count, which is
    /// the edge.
    fn keep_panic(&self, payload: Box<dyn Any + Send>) {
        let payload = Box::into_raw(Box::new(payload));
        let none = ptr::null_mut();
        let order = Ordering::Relaxed;
        if self.panic.compare_exchange(none, payload, order, order).is_err() {
            // SAFETY: it was not put there.
            unwind::discard(*unsafe { Box::from_raw(payload) });
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug("Scope", f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug("ScopeFifo", f)
    }
}

impl Base<'_> {
    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("pool_id", &self.registry.id())
            .field("panicked", &!self.panic.load(Ordering::Relaxed).is_null())
            .field("jobs", &self.jobs)
            .finish()
    }
}
