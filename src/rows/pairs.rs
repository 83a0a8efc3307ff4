//! The shapes that hand out two slices in step.

use super::Work;
use crate::pool::Pool;
use crate::shapes::pairs;

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
        self.plain().for_each_row2(a, b, f);
    }

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
        self.plain().for_each_chunk2(a, a_len, b, b_len, f);
    }
}

impl Work<'_> {
    /// As [`Pool::for_each_row2`].
    ///
    /// # Panics
    /// If their lengths differ.
    ///
    /// ```
    /// let (mut a, mut b) = ([0; 5], [0; 5]);
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.with_work(1000).for_each_row2(&mut a, &mut b, |row, a, b| (*a, *b) = (row, 2 * row));
    /// assert_eq!((a, b), ([0, 1, 2, 3, 4], [0, 2, 4, 6, 8]));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_row2<A: Send, B: Send>(
        self,
        a: &mut [A],
        b: &mut [B],
        f: impl Fn(usize, &mut A, &mut B) + Sync,
    ) {
        let n = a.len();
        assert!(n == b.len(), "rowpool: {n} rows and {}: not the same number", b.len());
        pairs(self.pool, self.ops(n), n, (a, 1), (b, 1), move |first, a, b| {
            (first..first + a.len()).zip(a).zip(b).for_each(|((row, a), b)| f(row, a, b));
        });
    }

    /// As [`Pool::for_each_chunk2`].
    ///
    /// # Panics
    /// If one has more chunks than the other.
    ///
    /// ```
    /// let (mut a, mut b) = ([0; 5], [0; 3]);
    /// let view = rowpool::Pool::new(2)?;
    /// let view = view.with_work(1000);
    /// view.for_each_chunk2(&mut a, 2, &mut b, 1, |i, a, b| {
    ///     a.fill(i);
    ///     b.fill(i);
    /// });
    /// assert_eq!((a, b), ([0, 0, 1, 1, 2], [0, 1, 2]));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn for_each_chunk2<A: Send, B: Send>(
        self,
        a: &mut [A],
        a_len: usize,
        b: &mut [B],
        b_len: usize,
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let count =
            |len: usize, chunk_len| if chunk_len == 0 { 0 } else { len.div_ceil(chunk_len) };
        let (n, of_b) = (count(a.len(), a_len), count(b.len(), b_len));
        assert!(n == of_b, "rowpool: {n} chunks and {of_b}: not the same number");
        if n == 0 {
            return;
        }
        pairs(self.pool, self.ops(n), n, (a, a_len), (b, b_len), move |first, a, b| {
            let chunks = a.chunks_mut(a_len).zip(b.chunks_mut(b_len));
            chunks.zip(first..).for_each(|((a, b), i)| f(i, a, b));
        });
    }
}
