//! Other pools of this process, where all their workers together are more than
//! the CPUs: pools that are used in turn must not hold each other up.
//!
//! A worker that spins for its next region would keep its CPU from the worker
//! of the pool whose region is open. So each region says whose it is, and a
//! worker who sees that it is another pool's turn offers its CPU at each look.
//! Measured on 2 CPUs, an int8 token whose regions go to two pools of 2 threads
//! in turn: 1.64 of one pool's time without this, see PROTOCOL.md with it.

/// One pool's part in it.
#[derive(Debug)]
pub(super) struct Rival {
    #[cfg(not(loom))]
    number: u32,
}

#[cfg(not(loom))]
mod shared {
    use super::Rival;
    use crate::sync::{Line, Ordering, StaticU32};

    /// Read at each region, written where pools share CPUs.
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
        fn crowded(&self) -> bool {
            // Relaxed: an estimate.
            self.workers.load(Ordering::Relaxed) > self.spare.load(Ordering::Relaxed)
        }
    }

    impl Rival {
        pub(in crate::pool) fn new() -> Self {
            // Relaxed, all of these: numbers that order nothing.
            Rival { number: COUNTS.pools.fetch_add(1, Ordering::Relaxed) }
        }

        /// The number of active workers changes.
        pub(in crate::pool) fn count(&self, before: usize, now: usize) {
            COUNTS.workers.fetch_add((now as u32).wrapping_sub(before as u32), Ordering::Relaxed);
        }

        /// How many CPUs the process may use.
        pub(in crate::pool) fn set_cpus(&self, cpus: usize) {
            COUNTS.spare.store(cpus.saturating_sub(1) as u32, Ordering::Relaxed);
        }

        /// A region of this pool is open.
        #[inline(always)]
        pub(in crate::pool) fn opened(&self) {
            if COUNTS.crowded() && ACTIVE.load(Ordering::Relaxed) != self.number {
                ACTIVE.store(self.number, Ordering::Relaxed);
            }
        }

        /// Whether pools share CPUs.
        pub(in crate::pool) fn crowded(&self) -> bool {
            COUNTS.crowded()
        }

        /// Whether the CPUs, if pools share them, are another pool's now.
        pub(in crate::pool) fn elsewhere(&self) -> bool {
            ACTIVE.load(Ordering::Relaxed) != self.number
        }
    }
}

/// The model has one pool.
#[cfg(loom)]
impl Rival {
    pub(super) fn new() -> Self {
        Rival {}
    }
    pub(super) fn count(&self, _: usize, _: usize) {}
    pub(super) fn set_cpus(&self, _: usize) {}
    pub(super) fn opened(&self) {}
}
