//! Slices: elements and chunks, shared and mutable.

use super::raw::{Exact, Iterate, Positions, Rows};
use crate::sync::StaticMutex;
use std::ops::Range;

/// Chunks of a slice that is only read.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let sums: Vec<i32> = [1, 2, 3].par_chunks(2).map(|chunk| chunk.iter().sum()).collect();
/// assert_eq!(sums, [3, 3]);
/// ```
pub trait ParallelSlice<T: Sync> {
    /// The slice itself.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!(vec![1, 2].as_parallel_slice(), [1, 2]);
    /// ```
    fn as_parallel_slice(&self) -> &[T];

    /// Chunks of `chunk_size` elements, the last of which may be shorter.
    ///
    /// # Panics
    /// Where `chunk_size` is 0.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let lens: Vec<usize> = [0; 5].par_chunks(2).map(<[i32]>::len).collect();
    /// assert_eq!(lens, [2, 2, 1]);
    /// ```
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks::new(self.as_parallel_slice(), chunk_size)
    }

    /// Chunks of `chunk_size` elements without the short one at the end.
    ///
    /// # Panics
    /// Where `chunk_size` is 0.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let data = [1, 2, 3, 4, 5];
    /// assert_eq!(data.par_chunks_exact(2).map(|pair| pair[0] * pair[1]).sum::<i32>(), 14);
    /// ```
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice();
        let (whole, rest) = slice.split_at(slice.len() / chunk_size * chunk_size);
        ChunksExact { chunks: Chunks::new(whole, chunk_size), rest }
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Chunks of a mutable slice.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut y = [0; 5];
/// y.par_chunks_mut(2).enumerate().for_each(|(i, chunk)| chunk.fill(i));
/// assert_eq!(y, [0, 0, 1, 1, 2]);
/// ```
pub trait ParallelSliceMut<T: Send> {
    /// The slice itself.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!(vec![1, 2].as_parallel_slice_mut(), [1, 2]);
    /// ```
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// Chunks of `chunk_size` elements, the last of which may be shorter.
    ///
    /// # Panics
    /// Where `chunk_size` is 0.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = [3, 1, 2];
    /// y.par_chunks_mut(2).for_each(|chunk| chunk.sort());
    /// assert_eq!(y, [1, 3, 2]);
    /// ```
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksMut { rows: Rows::new(self.as_parallel_slice_mut(), chunk_size) }
    }

    /// Chunks of `chunk_size` elements without the short one at the end.
    ///
    /// # Panics
    /// Where `chunk_size` is 0.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = [1; 5];
    /// y.par_chunks_exact_mut(2).for_each(|pair| pair[1] = 2);
    /// assert_eq!(y, [1, 2, 1, 2, 1]);
    /// ```
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        let slice = self.as_parallel_slice_mut();
        let (whole, rest) = slice.split_at_mut(slice.len() / chunk_size * chunk_size);
        ChunksExactMut { rows: Rows::new(whole, chunk_size), rest: StaticMutex::new(rest) }
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

/// The iterator over references to a slice's elements.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let elements: rowpool::rayon::slice::Iter<u8> = b"qkv".par_iter();
/// assert_eq!(elements.len(), 3);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct Iter<'data, T> {
    slice: &'data [T],
    positions: Positions,
}

impl<'data, T> Iter<'data, T> {
    pub(super) fn new(slice: &'data [T]) -> Self {
        Iter { slice, positions: Positions(slice.len()) }
    }
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter::new(self.slice)
    }
}

impl<'data, T: Sync> Iterate for Iter<'data, T> {
    type Of = &'data T;
    type Source = Positions;

    fn source(&self) -> &Positions {
        &self.positions
    }

    #[inline]
    fn serial(&self, _: usize, part: Range<usize>) -> impl Iterator<Item = &'data T> {
        self.slice[part].iter()
    }
}
impl<T: Sync> Exact for Iter<'_, T> {}

/// The iterator over mutable references to a slice's elements.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut y = [1, 2];
/// let elements: rowpool::rayon::slice::IterMut<i32> = y.par_iter_mut();
/// elements.for_each(|y| *y = 0);
/// assert_eq!(y, [0, 0]);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct IterMut<'data, T> {
    rows: Rows<'data, T>,
}

impl<'data, T> IterMut<'data, T> {
    pub(super) fn new(slice: &'data mut [T]) -> Self {
        IterMut { rows: Rows::new(slice, 1) }
    }
}

impl<'data, T: Send> Iterate for IterMut<'data, T> {
    type Of = &'data mut T;
    type Source = Rows<'data, T>;

    fn source(&self) -> &Rows<'data, T> {
        &self.rows
    }

    #[inline]
    fn serial(&self, _: usize, part: &'data mut [T]) -> impl Iterator<Item = &'data mut T> {
        part.iter_mut()
    }
}
impl<T: Send> Exact for IterMut<'_, T> {}

/// What [`par_chunks`](ParallelSlice::par_chunks) makes.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let chunks: rowpool::rayon::slice::Chunks<i32> = [0; 5].par_chunks(2);
/// assert_eq!(chunks.len(), 3);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct Chunks<'data, T> {
    slice: &'data [T],
    chunk: usize,
    positions: Positions,
}

impl<'data, T> Chunks<'data, T> {
    fn new(slice: &'data [T], chunk: usize) -> Self {
        Chunks { slice, chunk, positions: Positions(slice.len().div_ceil(chunk)) }
    }
}

impl<T> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Chunks::new(self.slice, self.chunk)
    }
}

impl<'data, T: Sync> Iterate for Chunks<'data, T> {
    type Of = &'data [T];
    type Source = Positions;

    fn source(&self) -> &Positions {
        &self.positions
    }

    #[inline]
    fn serial(&self, _: usize, part: Range<usize>) -> impl Iterator<Item = &'data [T]> {
        // No chunk begins past the end, but the last may reach past it.
        let (start, end) = (part.start * self.chunk, part.end.saturating_mul(self.chunk));
        self.slice[start..end.min(self.slice.len())].chunks(self.chunk)
    }
}
impl<T: Sync> Exact for Chunks<'_, T> {}

/// What [`par_chunks_exact`](ParallelSlice::par_chunks_exact) makes.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let data = [1, 2, 3];
/// let chunks: rowpool::rayon::slice::ChunksExact<i32> = data.par_chunks_exact(2);
/// assert_eq!((chunks.len(), chunks.remainder()), (1, &[3][..]));
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct ChunksExact<'data, T> {
    chunks: Chunks<'data, T>,
    rest: &'data [T],
}

impl<'data, T> ChunksExact<'data, T> {
    /// The elements at the end that are not iterated over.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 2, 3].par_chunks_exact(2).remainder(), [3]);
    /// ```
    pub fn remainder(&self) -> &'data [T] {
        self.rest
    }
}

impl<'data, T: Sync> Iterate for ChunksExact<'data, T> {
    type Of = &'data [T];
    type Source = Positions;

    fn source(&self) -> &Positions {
        &self.chunks.positions
    }

    #[inline]
    fn serial(&self, first: usize, part: Range<usize>) -> impl Iterator<Item = &'data [T]> {
        self.chunks.serial(first, part)
    }
}
impl<T: Sync> Exact for ChunksExact<'_, T> {}

/// What [`par_chunks_mut`](ParallelSliceMut::par_chunks_mut) makes.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut y = [0; 5];
/// let chunks: rowpool::rayon::slice::ChunksMut<i32> = y.par_chunks_mut(2);
/// assert_eq!(chunks.len(), 3);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct ChunksMut<'data, T> {
    rows: Rows<'data, T>,
}

impl<'data, T: Send> Iterate for ChunksMut<'data, T> {
    type Of = &'data mut [T];
    type Source = Rows<'data, T>;

    fn source(&self) -> &Rows<'data, T> {
        &self.rows
    }

    #[inline]
    fn serial(&self, _: usize, part: &'data mut [T]) -> impl Iterator<Item = &'data mut [T]> {
        part.chunks_mut(self.rows.chunk())
    }
}
impl<T: Send> Exact for ChunksMut<'_, T> {}

/// What [`par_chunks_exact_mut`](ParallelSliceMut::par_chunks_exact_mut) makes.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut y = [1, 2, 3];
/// let chunks: rowpool::rayon::slice::ChunksExactMut<i32> = y.par_chunks_exact_mut(2);
/// assert_eq!(chunks.into_remainder(), [3]);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct ChunksExactMut<'data, T> {
    rows: Rows<'data, T>,
    /// Behind a lock only to be `Sync` for any `T: Send`.
    rest: StaticMutex<&'data mut [T]>,
}

impl<'data, T> ChunksExactMut<'data, T> {
    /// The elements at the end that are not iterated over.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).remainder(), [3]);
    /// ```
    pub fn remainder(&mut self) -> &mut [T] {
        self.rest.get_mut()
    }

    /// The elements at the end, in place of the iterator.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 2, 3].par_chunks_exact_mut(2).into_remainder(), [3]);
    /// ```
    pub fn into_remainder(self) -> &'data mut [T] {
        self.rest.into_inner()
    }

    /// The elements at the end, with the iterator left for use; empty after
    /// that.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = [1, 2, 3];
    /// let mut chunks = y.par_chunks_exact_mut(2);
    /// let rest = chunks.take_remainder();
    /// chunks.for_each(|pair| pair.swap(0, 1));
    /// rest[0] = 7;
    /// assert_eq!(y, [2, 1, 7]);
    /// ```
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        std::mem::take(self.rest.get_mut())
    }
}

impl<'data, T: Send> Iterate for ChunksExactMut<'data, T> {
    type Of = &'data mut [T];
    type Source = Rows<'data, T>;

    fn source(&self) -> &Rows<'data, T> {
        &self.rows
    }

    #[inline]
    fn serial(&self, _: usize, part: &'data mut [T]) -> impl Iterator<Item = &'data mut [T]> {
        part.chunks_exact_mut(self.rows.chunk())
    }
}
impl<T: Send> Exact for ChunksExactMut<'_, T> {}
