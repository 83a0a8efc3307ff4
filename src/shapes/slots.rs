//! Slots by their number.

use crate::pool::Pool;

impl Pool {
    /// Calls `f(slot)` once for each slot `0..width`. Slots up to
    /// [`active_width`](Self::active_width) are spread one per thread where
    /// threads are free; those above are folded onto them. Nothing promises one
    /// thread per slot: the caller runs the slots of late workers, so slots
    /// must not wait for each other (no barriers, no channels between them).
    /// Width 0 calls nothing.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// rowpool::Pool::new(2)?.run(10, |slot| {
    ///     sum.fetch_add(slot, Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 45);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn run(&self, width: usize, f: impl Fn(usize) + Sync) {
        self.open(width, self.ops(width), move |slot, split| {
            split.evenly().range(width, slot, 1).for_each(&f);
        });
    }

    /// [`run`](Self::run) with a slot for each of the pool's
    /// [`num_threads`](Self::num_threads) threads; no promise either that each
    /// gets its own.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let calls = AtomicUsize::new(0);
    /// rowpool::Pool::new(4)?.broadcast(|_| { calls.fetch_add(1, Ordering::Relaxed); });
    /// assert_eq!(calls.into_inner(), 4);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn broadcast(&self, f: impl Fn(usize) + Sync) {
        self.run(self.num_threads(), f);
    }
}
