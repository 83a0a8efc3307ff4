//! The spin pool of ferrox-core 0.25, with the same names and signatures, over
//! a [`Pool`]: the seam through which that engine reaches its cores.
//!
//! What differs from the original, on purpose:
//! - `run` waits its turn where another thread is inside of a region, and
//!   returns true: the original refuses with false, and its caller goes to
//!   rayon, with a second team on the same cores. It returns true always.
//! - Tasks are shared out statically, in contiguous runs, one per thread, where
//!   the original's threads take one after another off a shared counter. Which
//!   thread runs a task is the same in each region, and unequal tasks are not
//!   balanced. Tasks must not wait for each other: the caller may run them all.
//! - After a panic a thread that has begun with its tasks finishes them; the
//!   original abandons all that have not begun. The panic raised is the first in
//!   time in both.
//! - Threads are counted as [`Pool`]s count them: at most 512, none that the
//!   system refuses (the original panics), and a region uses no more than the
//!   CPUs that the process may use.
//! - In a `fork()` child all tasks run on the caller; the original hangs.
//! - Workers are named `rowpool-1` and so on, and spin for `ROWPOOL_SPIN_US`, not
//!   for `FERROX_CPU_POOL_SPIN_US`.
//!
//! ```
//! use rowpool::cpu_pool::CpuPool;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! let sum = AtomicUsize::new(0);
//! let done = CpuPool::new(2).run(100, &|task: usize| {
//!     sum.fetch_add(task, Ordering::Relaxed);
//! });
//! assert!(done && sum.into_inner() == 4950);
//! ```

use crate::pool::{inside, Inside, Pool, MAX_WIDTH};

/// Whether the calling thread runs tasks now, or a slot of any region: where
/// `run` runs its tasks inline.
///
/// ```
/// use rowpool::cpu_pool::{in_region, CpuPool};
/// assert!(!in_region());
/// CpuPool::new(2).run(8, &|_: usize| assert!(in_region()));
/// ```
pub fn in_region() -> bool {
    inside()
}

/// A persistent pool that runs numbered tasks; the caller is one of its threads.
///
/// ```
/// let pool = rowpool::cpu_pool::CpuPool::new(2);
/// assert_eq!(pool.num_threads(), 2);
/// ```
#[derive(Debug)]
pub struct CpuPool {
    pool: Pool,
}

impl CpuPool {
    /// A pool of `threads` threads, the caller among them; 0 is as 1, and what
    /// is above 512 is as 512, with a warning.
    ///
    /// ```
    /// assert_eq!(rowpool::cpu_pool::CpuPool::new(0).num_threads(), 1);
    /// ```
    pub fn new(threads: usize) -> Self {
        if threads > MAX_WIDTH {
            log::warn!("rowpool: a CpuPool of {threads} threads is clamped to {MAX_WIDTH}");
        }
        let width = threads.clamp(1, MAX_WIDTH);
        // It is not strict, and in bounds.
        let pool = Pool::new(width).expect("a pool of a width that there is");
        CpuPool { pool }
    }

    /// Threads, the caller among them: as asked for, or fewer where the system
    /// refused some.
    ///
    /// ```
    /// assert_eq!(rowpool::cpu_pool::CpuPool::new(3).num_threads(), 3);
    /// ```
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Calls `f(task)` for each task in `0..n_tasks`, each once, and returns
    /// true when all are done. Waits its turn; from inside of a task, or of any
    /// region, the tasks run inline on the calling thread.
    ///
    /// # Panics
    /// If a task does, with the first panic in time, after all threads have
    /// ended theirs. The pool stays usable.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let pool = rowpool::cpu_pool::CpuPool::new(2);
    /// let cells: Vec<AtomicU32> = (0..9).map(AtomicU32::new).collect();
    /// assert!(pool.run(9, &|task: usize| cells[task].store(7, Ordering::Relaxed)));
    /// assert!(cells.iter().all(|cell| cell.load(Ordering::Relaxed) == 7));
    /// ```
    pub fn run<F: Fn(usize) + Sync>(&self, n_tasks: usize, f: &F) -> bool {
        self.pool.for_each_range(n_tasks, |tasks| {
            // Also where a small region runs on the caller without a fork.
            let _inside = Inside::enter();
            tasks.for_each(f);
        });
        true
    }
}
