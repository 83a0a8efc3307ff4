//! The pool: what everything stands on. The protocol between callers and
//! workers is described in `PROTOCOL.md` beside this file.

#[cfg_attr(loom, path = "../../tests/loom/backoff.rs")]
mod backoff;
mod builder;
mod caller_cpu;
mod caller_lock;
mod caller_queue;
mod caller_state;
mod context;
mod failpoint;
mod gate;
mod guest;
mod hint;
mod job;
mod join;
mod panics;
mod park;
mod steps;
mod team;
mod threads;
mod wait_word;
mod worker;
mod worker_state;

#[cfg(loom)]
#[path = "../../tests/loom/team.rs"]
pub mod model;

pub use builder::{BuildError, PoolBuilder};
pub(crate) use context::{inside, Inside};
pub(crate) use gate::MAX_WIDTH;
#[doc(hidden)]
pub use guest::Guest;
pub use hint::Work;
pub(crate) use job::Region;

use crate::machine::Plan;
use crate::partition::Split;
use crate::sync::{AtomicBool, Ordering};
use crate::topology::Reason;
use job::OwnedJob;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use team::Team;

/// A worker that refreshes the width is waited for: it takes long only if it loses
/// its CPU meanwhile.
const REFRESH_PATIENCE: Duration = Duration::from_millis(10);

/// Multiply-adds per nanosecond that a work hint is converted with: those of a good
/// kernel in cache (MEASUREMENTS, "multiply-add"). Slower kernels fork a little later
/// than they could, which costs less than a fork.
const OPS_PER_NS: u64 = 20;

/// A team of workers for fork-join regions; the calling thread is one of them.
///
/// One region runs at a time: a second caller waits, first come first served, and
/// slot numbers are unique among the threads that run slots. One case is apart: a
/// caller that has waited while every thread of the open region slept (by the
/// system's account, for 20 ms; a slot may be waiting for a lock which this very
/// caller holds) runs its region inline. Who must never overlap, not even then,
/// keeps scratch per slot by the `_init` shapes, or a mutex around the pool. A call from
/// inside a region, of this or of another pool, runs inline on its thread.
/// Rows are split statically and never between slots, so that results are
/// bitwise the same at every width. After a region the workers spin for
/// [`spin_window`](PoolBuilder::spin_window), then park.
///
/// A panic in a slot is raised on the caller, once, the first in time, after
/// all slots have ended; which rows ran is then unspecified, each at most once.
/// The pool stays usable.
///
/// In a `fork()` child the pool has no threads: it runs everything serially.
/// Dropping a pool ends its threads and joins them, except in such a child and
/// when one of its own workers drops it.
///
/// ```
/// let pool = rowpool::Pool::new(2)?;
/// let mut squares = vec![0u64; 1000];
/// pool.for_each_row(&mut squares, |row, out| *out = (row * row) as u64);
/// assert_eq!(squares[31], 961);
/// # Ok::<(), rowpool::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    team: Arc<Team>,
    own: Arc<Own>,
    keep_caller_qos: bool,
    /// What a [`Work`] says of an item.
    ops_per_item: Option<u64>,
}

/// What only the pool has, and not its team.
#[derive(Debug)]
struct Own {
    workers: Vec<JoinHandle<()>>,
    plan: Arc<Plan>,
    /// Whether a region has been run serially.
    ran_serially: AtomicBool,
}

impl Pool {
    /// Threads of this pool, the caller among them: as configured, or fewer
    /// where threads could not be created.
    ///
    /// ```
    /// assert_eq!(rowpool::Pool::new(3)?.num_threads(), 3);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn num_threads(&self) -> usize {
        self.own.workers.len() + 1 - self.team.lost()
    }

    /// Slots that a region uses now: [`num_threads`](Self::num_threads), but
    /// never more than the CPUs that the process may use (its affinity mask,
    /// read again by each call of this function, and the CPU quota of its
    /// container). One thread too many costs a spinning pool dearly.
    ///
    /// A quota counts in whole CPUs here. Of what is left of it, one thread more
    /// takes part for a part of the time, so slots may be numbered up to
    /// [`num_threads`](Self::num_threads) all the same.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(500)?;
    /// assert!(pool.active_width() <= pool.num_threads());
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn active_width(&self) -> usize {
        self.team.refresh(REFRESH_PATIENCE);
        if self.team.orphaned() {
            1
        } else {
            self.team.active_always()
        }
    }

    /// Why the pool was made as wide as it was.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(0)?;
    /// println!("{}", pool.reason()); // 8 of 20 CPUs: performance cores by cpu_core; no quota
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn reason(&self) -> &Reason {
        &self.own.plan.width.reason
    }

    /// Hint: work is coming. Sleeping workers get up and spin for a window, so
    /// that the next region finds them. Costs the caller one wake, a system call, if
    /// somebody sleeps; next to nothing if not.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.wake(); // while the prompt is tokenised
    /// pool.for_each_index(1000, |_| ());
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn wake(&self) {
        if !self.team.orphaned() {
            self.team.refresh(REFRESH_PATIENCE);
            self.team.wake();
        }
    }

    /// Hint: nothing is coming. Workers park now instead of spinning for the
    /// rest of their window; a running region is finished first. The next
    /// region, or [`wake`](Self::wake), ends the rest.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.for_each_index(1000, |_| ());
    /// pool.rest(); // the answer is complete
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn rest(&self) {
        if !self.team.orphaned() {
            self.team.rest();
        }
    }

    /// The workers, slots `1..num_threads()`, work for `guest` too, from now on;
    /// false if they have another already. A guest is known by its address.
    #[doc(hidden)]
    pub fn host(&'static self, guest: &'static dyn Guest) -> bool {
        self.team.guest.host(guest)
    }

    /// Wakes the worker of this slot if it is parked: there is work for it, which
    /// it sees in P3 otherwise.
    #[doc(hidden)]
    pub fn rouse(&self, slot: usize) {
        self.team.sleepers.rouse(&self.team.workers[slot - 1]);
    }

    /// Whether a region has been opened, were it of one slot.
    pub(crate) fn has_run(&self) -> bool {
        // Relaxed: says that it happened, orders nothing.
        self.team.has_run() || self.own.ran_serially.load(Ordering::Relaxed)
    }

    /// Runs a region of `items` items in at most so many slots, or as one slot
    /// on the calling thread where a fork cannot be had or is not worth it;
    /// `work` is the size of the whole in multiply-adds, if known.
    ///
    /// # Safety
    /// What the region borrows lives until this returns.
    #[inline(always)]
    pub(crate) unsafe fn fork<R: Region>(&self, items: usize, work: Option<u64>, region: R) {
        let width = items.min(self.team.active());
        let serial =
            width < 2 || work.is_some_and(|ops| ops < self.break_even()) || self.team.orphaned();
        let steps = self.team.between_steps();
        if serial || !(steps || context::outside()) {
            // Relaxed: see `has_run`. Read first: the line stays shared.
            if !self.own.ran_serially.load(Ordering::Relaxed) {
                self.own.ran_serially.store(true, Ordering::Relaxed);
            }
            // SAFETY: the borrows live (contract), and the one slot there is
            // runs once.
            return unsafe { region.run_slot(0, Split::SERIAL) };
        }
        if !self.keep_caller_qos {
            crate::sys::raise_caller_qos();
        }
        let mut owned = OwnedJob::new(region);
        let (team, work) = (&self.team, work.map(time_of));
        let job = owned.lend();
        // SAFETY: the borrows live (contract), and no slot has been run.
        let had = if steps {
            // SAFETY: as above; the thread is between steps.
            unsafe { team.step(width, work, &job) }
        } else {
            // SAFETY: as above.
            unsafe { team.region(width, work, &job) }
        };
        if !had {
            // What waits for this thread would wait for its nested regions too.
            let _inside = Inside::enter();
            // SAFETY: as above.
            unsafe { owned.region().run_slot(0, Split::SERIAL) };
        }
    }

    /// Multiply-adds from which two slots are worth a fork: they save half of
    /// the work and cost one measured fork.
    #[inline]
    pub(crate) fn break_even(&self) -> u64 {
        2 * OPS_PER_NS * self.team.fork_ns()
    }
}

/// How long so much work takes serially.
#[inline(always)]
fn time_of(ops: u64) -> Duration {
    Duration::from_nanos(ops / OPS_PER_NS)
}

impl Drop for Pool {
    fn drop(&mut self) {
        let own = Arc::get_mut(&mut self.own).expect("a hint's copies are not counted");
        let workers = std::mem::take(&mut own.workers);
        if self.team.is_in_child() {
            // Dropping a handle detaches a thread by an id that may belong to
            // another thread in this process by now.
            workers.into_iter().for_each(std::mem::forget);
            return;
        }
        self.team.stop();
        if context::works_for(Arc::as_ptr(&self.team) as usize) {
            // A worker cannot join itself; the team outlives it by its `Arc`.
            return;
        }
        for worker in workers {
            // Nothing of the user's runs outside of a catch on a worker; what comes
            // out all the same is not dropped, since that may panic too.
            let _ = worker.join().map_err(std::mem::forget);
        }
        // A worker may have fitted the width to the CPUs just now.
        self.team.set_most(1);
    }
}
