//! The chunks of one slice.

use super::{elements, Shared};
use crate::partition::unit;

shape! {
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
        self.for_each_chunk_init(data, chunk_len, || (), move |(), i, chunk| f(i, chunk));
    }

    par:
    /// let mut data = [0; 5];
    /// rowpool::par::for_each_chunk(&mut data, 2, |i, chunk| chunk.fill(i));
    /// assert_eq!(data, [0, 0, 1, 1, 2]);
}

shape! {
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
        if chunk_len == 0 {
            return;
        }
        let data = Shared::new(data);
        let n = data.len.div_ceil(chunk_len);
        self.open(n, self.ops(n), move |slot, split| {
            let n = data.len.div_ceil(chunk_len);
            let chunks = split.range(n, slot, unit(size_of::<T>(), chunk_len));
            if chunks.is_empty() {
                return;
            }
            // SAFETY: the part that this slot has by its region's split: chunks
            // do not overlap.
            let part = unsafe { data.part(elements(&chunks, chunk_len, data.len)) };
            // Dropped here, before the slot is reported.
            let mut state = init();
            chunks.zip(part.chunks_mut(chunk_len)).for_each(|(i, chunk)| f(&mut state, i, chunk));
        });
    }

    par:
    /// let mut data = [0; 5];
    /// rowpool::par::for_each_chunk_init(&mut data, 2, || 7, |seven, _, chunk| chunk.fill(*seven));
    /// assert_eq!(data, [7; 5]);
}
