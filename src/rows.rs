//! The shapes: rows, chunks, indices and slots, over a pool. Each splits its
//! items, hands them to the slots, and is served inline where a region is not
//! worth it.

mod collect;
mod fused;
mod join;
mod pairs;
mod tiles;

use crate::pool::Pool;
use crate::shapes::{chunks, parts, ranges, slots};
use std::ops::Range;

/// A view of a [`Pool`] that knows how much work an item is; made by
/// [`Pool::with_work`].
///
/// ```
/// let pool = rowpool::Pool::new(2)?;
/// let mut y = vec![0.0f32; 64];
/// // 64 rows of 16 multiply-adds are not worth a fork: they run inline.
/// pool.with_work(16).for_each_row(&mut y, |row, out| *out = row as f32);
/// assert_eq!(y[63], 63.0);
/// # Ok::<(), rowpool::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Work<'p> {
    pool: &'p Pool,
    ops_per_item: Option<u64>,
}

impl Pool {
    /// A view whose regions know their size: one item (row, chunk, index or
    /// slot) takes `ops_per_item` multiply-adds. Below the break-even, which
    /// follows the measured cost of a fork, its regions run inline; large ones
    /// wake sleepers at once.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let (w, x) = (vec![1.0f32; 100 * 576], vec![2.0f32; 576]);
    /// let mut y = vec![0.0f32; 100];
    /// pool.with_work(576).for_each_row(&mut y, |row, out| {
    ///     *out = w[row * 576..][..576].iter().zip(&x).map(|(w, x)| w * x).sum();
    /// });
    /// assert_eq!(y[99], 1152.0);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn with_work(&self, ops_per_item: usize) -> Work<'_> {
        Work { pool: self, ops_per_item: Some(ops_per_item as u64) }
    }

    /// The view that knows nothing.
    #[inline(always)]
    fn plain(&self) -> Work<'_> {
        Work { pool: self, ops_per_item: None }
    }

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
    pub fn run(&self, width: usize, f: impl Fn(usize) + Sync) {
        self.plain().run(width, f);
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
    pub fn broadcast(&self, f: impl Fn(usize) + Sync) {
        self.plain().broadcast(f);
    }

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
        self.plain().for_each_index(n, f);
    }

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
        self.plain().for_each_index_init(n, init, f);
    }

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
    pub fn for_each_range(&self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        self.plain().for_each_range(n, f);
    }

    /// Calls `f(row, &mut rows[row])` for each row.
    ///
    /// ```
    /// let mut rows = [0; 5];
    /// rowpool::Pool::new(2)?.for_each_row(&mut rows, |row, out| *out = 10 * row);
    /// assert_eq!(rows, [0, 10, 20, 30, 40]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    ///
    /// A row cannot outlive its call:
    ///
    /// ```compile_fail
    /// let pool = rowpool::Pool::new(2).unwrap();
    /// let mut rows = [0; 5];
    /// let kept = std::sync::Mutex::new(Vec::new());
    /// pool.for_each_row(&mut rows, |_, out| kept.lock().unwrap().push(out));
    /// ```
    ///
    /// and what the closure shares must be `Sync`:
    ///
    /// ```compile_fail
    /// let pool = rowpool::Pool::new(2).unwrap();
    /// let calls = std::cell::Cell::new(0);
    /// pool.for_each_row(&mut [0; 5], |_, _| calls.set(calls.get() + 1));
    /// ```
    pub fn for_each_row<T: Send>(&self, rows: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        self.plain().for_each_row(rows, f);
    }

    /// Calls `f(i, chunk)` for each chunk of `chunk_len` elements; the last may
    /// be shorter. A `chunk_len` of 0 calls nothing.
    ///
    /// ```
    /// let mut data = [0; 5];
    /// rowpool::Pool::new(2)?.for_each_chunk(&mut data, 2, |i, chunk| chunk.fill(i));
    /// assert_eq!(data, [0, 0, 1, 1, 2]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_chunk<T: Send>(
        &self,
        data: &mut [T],
        chunk_len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.plain().for_each_chunk(data, chunk_len, f);
    }

    /// [`for_each_chunk`](Self::for_each_chunk) with scratch: each slot that has
    /// a chunk makes one state by `init` and drops it before the region ends.
    /// Unlike the [`threads`](crate::threads::for_each_chunk_init) function of
    /// this name it delivers a short tail, and calls nothing for empty `data`.
    ///
    /// ```
    /// let mut data = [1u32; 5];
    /// rowpool::Pool::new(2)?.for_each_chunk_init(&mut data, 2, Vec::new, |scratch, i, chunk| {
    ///     scratch.clear();
    ///     scratch.extend(chunk.iter().map(|x| x + i as u32));
    ///     chunk.copy_from_slice(scratch);
    /// });
    /// assert_eq!(data, [1, 1, 2, 2, 3]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_chunk_init<T: Send, S>(
        &self,
        data: &mut [T],
        chunk_len: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &mut [T]) + Sync,
    ) {
        self.plain().for_each_chunk_init(data, chunk_len, init, f);
    }
}

impl Work<'_> {
    /// The work of `n` items.
    #[inline(always)]
    fn ops(self, n: usize) -> Option<u64> {
        self.ops_per_item.map(|ops| ops.saturating_mul(n as u64))
    }

    /// As [`Pool::run`].
    ///
    /// ```
    /// rowpool::Pool::new(2)?.with_work(1000).run(2, |slot| assert!(slot < 2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn run(self, width: usize, f: impl Fn(usize) + Sync) {
        slots(self.pool, self.ops(width), width, f);
    }

    /// As [`Pool::broadcast`].
    ///
    /// ```
    /// rowpool::Pool::new(2)?.with_work(1000).broadcast(|slot| assert!(slot < 2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn broadcast(self, f: impl Fn(usize) + Sync) {
        self.run(self.pool.num_threads(), f);
    }

    /// As [`Pool::for_each_index`].
    ///
    /// ```
    /// rowpool::Pool::new(2)?.with_work(1000).for_each_index(9, |i| assert!(i < 9));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_index(self, n: usize, f: impl Fn(usize) + Sync) {
        self.for_each_range(n, move |range| range.for_each(&f));
    }

    /// As [`Pool::for_each_index_init`].
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.with_work(1000).for_each_index_init(9, || 7, |seven, i| assert!(i < *seven + 2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_index_init<S>(
        self,
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

    /// As [`Pool::for_each_range`].
    ///
    /// ```
    /// rowpool::Pool::new(2)?.with_work(1000).for_each_range(9, |range| assert!(range.end <= 9));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_range(self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        ranges(self.pool, self.ops(n), n, f);
    }

    /// As [`Pool::for_each_row`].
    ///
    /// ```
    /// let mut rows = [0; 5];
    /// rowpool::Pool::new(2)?.with_work(1000).for_each_row(&mut rows, |row, out| *out = row);
    /// assert_eq!(rows, [0, 1, 2, 3, 4]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_row<T: Send>(self, rows: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        self.for_each_part(rows, move |first, part| {
            (first..first + part.len()).zip(part).for_each(|(row, out)| f(row, out));
        });
    }

    /// Calls `f(first, part)` with the part of `rows` of each slot: for kernels
    /// that take many rows at once.
    #[inline(always)]
    pub(crate) fn for_each_part<T: Send>(self, rows: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
        parts(self.pool, self.ops(rows.len()), rows, f);
    }

    /// As [`Pool::for_each_chunk`].
    ///
    /// ```
    /// let mut data = [0; 5];
    /// rowpool::Pool::new(2)?.with_work(1000).for_each_chunk(&mut data, 2, |i, chunk| chunk.fill(i));
    /// assert_eq!(data, [0, 0, 1, 1, 2]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_chunk<T: Send>(
        self,
        data: &mut [T],
        chunk_len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.for_each_chunk_init(data, chunk_len, || (), move |(), i, chunk| f(i, chunk));
    }

    /// As [`Pool::for_each_chunk_init`].
    ///
    /// ```
    /// let mut data = [0; 5];
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.with_work(1000).for_each_chunk_init(&mut data, 2, || 7, |seven, _, chunk| chunk.fill(*seven));
    /// assert_eq!(data, [7; 5]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_chunk_init<T: Send, S>(
        self,
        data: &mut [T],
        chunk_len: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &mut [T]) + Sync,
    ) {
        if chunk_len == 0 {
            return;
        }
        let work = self.ops(data.len().div_ceil(chunk_len));
        chunks(self.pool, work, data, chunk_len, init, f);
    }
}
