//! Pools of their own, and their builder.

use super::join;
use super::region::{as_caller, number_worker};
use crate::global;
use crate::pool::{BuildError, Pool, PoolBuilder};
use crate::sync::StaticMutex;
use std::fmt;

/// Why a pool could not be built.
///
/// ```
/// let _ = rowpool::rayon::ThreadPoolBuilder::new().build_global();
/// let error = rowpool::rayon::ThreadPoolBuilder::new().build_global().unwrap_err();
/// assert_eq!(error.to_string(), "the process-wide pool has already been built");
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError(Option<BuildError>);

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(error) => error.fmt(f),
            None => f.write_str("the process-wide pool has already been built"),
        }
    }
}

impl std::error::Error for ThreadPoolBuildError {}

/// Settings of a [`ThreadPool`] or of the process-wide one.
///
/// ```
/// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.current_num_threads(), 2);
/// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
/// ```
#[derive(Default)]
pub struct ThreadPoolBuilder {
    threads: usize,
    stack_size: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    start: Option<Box<dyn Fn(usize) + Send + Sync>>,
}

impl fmt::Debug for ThreadPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.threads)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

impl ThreadPoolBuilder {
    /// The default settings.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().build()?;
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Threads of the pool, among them the one that calls it: a pool of 4 has 3
    /// of its own. 0, the default, means rowpool's default width; more than
    /// [`max_num_threads`](super::max_num_threads) means that many.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.current_num_threads(), 3);
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.threads = num_threads.min(super::max_num_threads());
        self
    }

    /// Names the pool's own threads, `1..num_threads`. Number 0 is the caller,
    /// which keeps its name.
    ///
    /// ```
    /// let build = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = build.thread_name(|i| format!("gemv {i}")).build()?;
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(mut self, closure: F) -> Self {
        self.name = Some(Box::new(closure));
        self
    }

    /// Stack of each of the pool's own threads, in bytes.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().stack_size(8 << 20).build()?;
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Calls `start_handler` on each of the pool's own threads, with its number
    /// from 1 on, before it does anything else. It is not called on callers.
    ///
    /// ```
    /// let build = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = build.start_handler(|i| assert_eq!(i, 1)).build()?;
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, start_handler: H) -> Self {
        self.start = Some(Box::new(start_handler));
        self
    }

    /// Builds a pool. Threads that the system refuses are gone without.
    ///
    /// # Errors
    /// None today.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let pool = self.settings().build().map_err(|error| ThreadPoolBuildError(Some(error)))?;
        Ok(ThreadPool { pool })
    }

    /// Builds the process-wide pool, [`rowpool::global`](crate::global) too.
    ///
    /// # Errors
    /// Where there is one already, by this function or by first use.
    ///
    /// ```
    /// let built = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build_global();
    /// assert!(built.is_ok());
    /// assert_eq!(rowpool::global().num_threads(), 2);
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        // One of several callers is let through.
        static BUILDING: StaticMutex<()> = StaticMutex::new(());
        let _building = BUILDING.lock();
        if global::built().is_some() {
            return Err(ThreadPoolBuildError(None));
        }
        let built = self.settings().build_global();
        built.map(|_| ()).map_err(|error| ThreadPoolBuildError(Some(error)))
    }

    fn settings(self) -> PoolBuilder {
        let ThreadPoolBuilder { threads, stack_size, name, start } = self;
        let mut settings = Pool::builder().width(threads).on_worker_start(move |slot| {
            number_worker(slot);
            if let Some(start) = &start {
                start(slot);
            }
        });
        if let Some(bytes) = stack_size {
            settings = settings.stack_size(bytes);
        }
        if let Some(name) = name {
            let name = std::cell::RefCell::new(name);
            settings = settings.thread_name(move |slot: usize| (name.borrow_mut())(slot));
        }
        settings
    }
}

/// A pool of threads: a [`rowpool::Pool`](crate::Pool) with rayon's face.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let sum = pool.install(|| (0..100).into_par_iter().sum::<i32>());
/// assert_eq!(sum, 4950);
/// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
/// ```
#[derive(Debug)]
pub struct ThreadPool {
    pool: Pool,
}

impl ThreadPool {
    /// Runs `op` with this pool as the one that its loops go to. `op` itself
    /// runs on the calling thread, where rayon would send it to a worker: its
    /// thread-locals are the caller's, and it is not a slot of a region, so
    /// that each loop in it has the pool's full width.
    ///
    /// ```
    /// use rowpool::rayon::{self, prelude::*};
    /// let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let here = std::thread::current().id();
    /// pool.install(|| {
    ///     assert_eq!(std::thread::current().id(), here);
    ///     assert_eq!(rayon::current_num_threads(), 3);
    /// });
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        as_caller(&self.pool, op)
    }

    /// [`join`](super::join) on this pool.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join::join(oper_a, oper_b))
    }

    /// [`scope`](super::scope) on this pool.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut done = false;
    /// pool.scope(|s| s.spawn(|_| done = true));
    /// assert!(done);
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&join::Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| join::scope(op))
    }

    /// Threads of this pool, the caller among them.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// assert_eq!(pool.current_num_threads(), 4);
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn current_num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// The number of the calling thread, if it works for this pool now.
    ///
    /// ```
    /// let pool = rowpool::rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_index()), Some(0));
    /// # Ok::<(), rowpool::rayon::ThreadPoolBuildError>(())
    /// ```
    pub fn current_thread_index(&self) -> Option<usize> {
        let here =
            super::raw::current_pool(|pool| pool.is_some_and(|p| std::ptr::eq(p, &self.pool)));
        here.then(super::current_thread_index).flatten()
    }
}
