//! Two slices in step: row, or chunk, `i` of both belongs to one slot.

use super::{elements, Shared};
use crate::partition::unit;
use crate::pool::Pool;

impl Pool {
    /// Calls `f(row, &mut a[row], &mut b[row])` for each row of two outputs.
    ///
    /// # Panics
    /// If their lengths differ.
    ///
    /// ```
    /// let (mut sums, mut counts) = ([0.0f32; 3], [0u8; 3]);
    /// rowpool::Pool::new(2)?.for_each_row2(&mut sums, &mut counts, |row, sum, count| {
    ///     *sum = row as f32 / 2.0;
    ///     *count = 1;
    /// });
    /// assert_eq!((sums, counts), ([0.0, 0.5, 1.0], [1; 3]));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_row2<A: Send, B: Send>(
        &self,
        a: &mut [A],
        b: &mut [B],
        f: impl Fn(usize, &mut A, &mut B) + Sync,
    ) {
        let n = a.len();
        assert!(n == b.len(), "rowpool: {n} rows and {}: not the same number", b.len());
        self.pairs(n, (a, 1), (b, 1), move |first, a, b| {
            (first..first + a.len()).zip(a).zip(b).for_each(|((row, a), b)| f(row, a, b));
        });
    }
}

shape! {
    /// Calls `f(i, chunk, chunk)` for chunk `i` of two outputs: of `a_len`
    /// elements of `a` and `b_len` of `b`, which may be the same number. The
    /// last chunk of each may be shorter; a length of 0 makes no chunks.
    ///
    /// # Panics
    /// If one has more chunks than the other.
    ///
    /// ```
    /// // Three heads: a state of 2 x 2 each, and an output of 2.
    /// let (mut state, mut out) = ([1.0f32; 12], [0.0f32; 6]);
    /// rowpool::Pool::new(2)?.for_each_chunk2(&mut state, 4, &mut out, 2, |head, state, out| {
    ///     out[0] = state[0] + state[1] + head as f32;
    ///     state.fill(0.0);
    /// });
    /// assert_eq!((state, out), ([0.0; 12], [2.0, 0.0, 3.0, 0.0, 4.0, 0.0]));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn for_each_chunk2<A: Send, B: Send>(
        &self,
        a: &mut [A],
        a_len: usize,
        b: &mut [B],
        b_len: usize,
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let count = |len: usize, chunk: usize| if chunk == 0 { 0 } else { len.div_ceil(chunk) };
        let (n, of_b) = (count(a.len(), a_len), count(b.len(), b_len));
        assert!(n == of_b, "rowpool: {n} chunks and {of_b}: not the same number");
        self.pairs(n, (a, a_len), (b, b_len), move |first, a, b| {
            let chunks = a.chunks_mut(a_len).zip(b.chunks_mut(b_len));
            chunks.zip(first..).for_each(|((a, b), i)| f(i, a, b));
        });
    }

    par:
    /// let (mut a, mut b) = ([0; 5], [0; 3]);
    /// rowpool::par::for_each_chunk2(&mut a, 2, &mut b, 1, |i, a, b| {
    ///     a.fill(i);
    ///     b.fill(i);
    /// });
    /// assert_eq!((a, b), ([0, 0, 1, 1, 2], [0, 1, 2]));
}

impl Pool {
    /// Calls `f(first, part, part)` with the chunks, of the lengths given, that
    /// a slot has of two slices, and the index of the first; there are `n` of
    /// each.
    #[inline(always)]
    fn pairs<A: Send, B: Send>(
        &self,
        n: usize,
        (a, a_len): (&mut [A], usize),
        (b, b_len): (&mut [B], usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let (a, b) = (Shared::new(a), Shared::new(b));
        self.open(n, self.ops(n), move |slot, split| {
            // Powers of two: a multiple of the larger is one of both.
            let step = unit(size_of::<A>(), a_len).max(unit(size_of::<B>(), b_len));
            let chunks = split.range(n, slot, step);
            if chunks.is_empty() {
                return;
            }
            // SAFETY: the part that this slot has by its region's split: chunks
            // do not overlap.
            let part_a = unsafe { a.part(elements(&chunks, a_len, a.len)) };
            // SAFETY: as above; the other slice is another borrow.
            let part_b = unsafe { b.part(elements(&chunks, b_len, b.len)) };
            f(chunks.start, part_a, part_b);
        });
    }
}
