//! Other pools of this process, where all their workers together are more than
//! the CPUs: pools that are used in turn must not hold each other up.
//!
//! A worker that spins for its next region would keep its CPU from the worker
//! of the pool whose region is open. So each region says whose it is, and a
//! worker who sees that it is another pool's turn offers its CPU at each look
//! (MEASUREMENTS, "two pools in turn").

use crate::sync::{Line, Ordering, StaticU32};

/// One pool's part in it; `None` where the policy is off.
#[derive(Debug)]
pub(crate) struct Oversubscription {
    pool: Option<u32>,
}

/// The pool whose region was opened last. Read at each region, written where
/// pools share CPUs.
static ACTIVE: Line<StaticU32> = Line::new(StaticU32::new(0));
static COUNTS: Line<Counts> = Line::new(Counts {
    pools: StaticU32::new(0),
    workers: StaticU32::new(0),
    spare: StaticU32::new(u32::MAX),
});

struct Counts {
    /// Pools so far, wrapping: two that have the same number do not see
    /// each other, which costs time only.
    pools: StaticU32,
    /// Active workers of all pools.
    workers: StaticU32,
    /// CPUs for them, a caller's apart.
    spare: StaticU32,
}

impl Counts {
    #[inline(always)]
    fn exceeded(&self) -> bool {
        // Relaxed: an estimate.
        self.workers.load(Ordering::Relaxed) > self.spare.load(Ordering::Relaxed)
    }
}

impl Oversubscription {
    pub(crate) fn new(on: bool) -> Self {
        // Relaxed, all of these: numbers that order nothing.
        Oversubscription { pool: on.then(|| COUNTS.pools.fetch_add(1, Ordering::Relaxed)) }
    }

    /// The number of active workers changes.
    pub(crate) fn count(&self, before: usize, now: usize) {
        COUNTS.workers.fetch_add((now as u32).wrapping_sub(before as u32), Ordering::Relaxed);
    }

    /// How many CPUs the process may use.
    pub(crate) fn set_cpus(&self, cpus: usize) {
        COUNTS.spare.store(cpus.saturating_sub(1) as u32, Ordering::Relaxed);
    }

    /// A region of this pool is open.
    #[inline(always)]
    pub(crate) fn opened(&self) {
        if COUNTS.exceeded() {
            let pool = self.pool.unwrap_or(u32::MAX);
            if ACTIVE.load(Ordering::Relaxed) != pool {
                ACTIVE.store(pool, Ordering::Relaxed);
            }
        }
    }

    /// Whether pools share CPUs.
    pub(crate) fn crowded(&self) -> bool {
        self.pool.is_some() && COUNTS.exceeded()
    }

    /// Whether the CPUs, if pools share them, are another pool's now.
    pub(crate) fn elsewhere(&self) -> bool {
        self.pool.is_some_and(|pool| ACTIVE.load(Ordering::Relaxed) != pool)
    }
}
