//! Indices, one by one or as the ranges of the slots.

use crate::pool::Pool;
use std::ops::Range;

impl Pool {
    /// Calls `f(range)` with contiguous ranges that cover `0..n`, at most one
    /// per active slot, none of them empty.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// let parts = Mutex::new(Vec::new());
    /// rowpool::Pool::new(2)?.for_each_range(100, |range| parts.lock().unwrap().push(range));
    /// assert_eq!(parts.into_inner().unwrap().iter().map(|part| part.len()).sum::<usize>(), 100);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_range(&self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        self.open(n, self.ops(n), move |slot, split| {
            let range = split.range(n, slot, 1);
            if !range.is_empty() {
                f(range);
            }
        });
    }
}

shape! {
    /// Calls `f(i)` for each `i` in `0..n`, in order within a slot.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// rowpool::Pool::new(2)?.for_each_index(100, |i| {
    ///     sum.fetch_add(i, Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 4950);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_index(&self, n: usize, f: impl Fn(usize) + Sync) {
        self.for_each_range(n, move |range| range.for_each(&f));
    }

    par:
    /// rowpool::par::for_each_index(9, |i| assert!(i < 9));
}

shape! {
    /// [`for_each_index`](Self::for_each_index) with scratch: each slot that has
    /// an index makes one state by `init` and drops it before the region ends.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// rowpool::Pool::new(2)?.for_each_index_init(100, Vec::new, |scratch, i| {
    ///     scratch.clear();
    ///     scratch.extend(0..i);
    ///     sum.fetch_add(scratch.len(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 4950);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_index_init<S>(
        &self,
        n: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize) + Sync,
    ) {
        self.for_each_range(n, move |range| {
            // Dropped here, before the slot is reported.
            let mut state = init();
            range.for_each(|i| f(&mut state, i));
        });
    }

    par:
    /// rowpool::par::for_each_index_init(9, Vec::new, |scratch, i| {
    ///     scratch.clear();
    ///     scratch.extend(0..i);
    /// });
}
