//! Iterators that know their length, one item per position.

use super::adapters::{Enumerate, MaxLen, MinLen, Zip};
use super::gather::vector;
use super::{IntoParallelIterator, ParallelIterator};
use crate::rayon::raw::{Exact, Source};

/// A parallel iterator of known length whose items have indices. It runs as one
/// region: as many contiguous ranges of items as the pool is wide, settled
/// beforehand.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// fn dot(a: impl IndexedParallelIterator<Item = f32>, b: &[f32]) -> f32 {
///     a.zip(b).map(|(a, b)| a * b).sum()
/// }
/// assert_eq!(dot(vec![2.0; 8].into_par_iter(), &[0.5; 8]), 8.0);
/// ```
#[allow(clippy::len_without_is_empty)] // rayon's has none
pub trait IndexedParallelIterator: ParallelIterator + Exact {
    /// The number of items.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([0; 7].par_chunks(2).len(), 4);
    /// ```
    fn len(&self) -> usize {
        self.source().positions()
    }

    /// Items with their indices.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = [0; 5];
    /// y.par_chunks_mut(2).enumerate().for_each(|(i, chunk)| chunk.fill(i));
    /// assert_eq!(y, [0, 0, 1, 1, 2]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate { base: self }
    }

    /// Pairs of items with the same index, as many as the shorter has.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let (mut y, x) = ([1, 2, 3], [10, 20, 30]);
    /// y.par_iter_mut().zip(&x).for_each(|(y, x)| *y += x);
    /// assert_eq!(y, [11, 22, 33]);
    /// ```
    fn zip<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip { a: self, b: zip_op.into_par_iter() }
    }

    /// [`zip`](Self::zip) of two of the same length.
    ///
    /// # Panics
    /// Where the lengths differ.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let sum: i32 = [1, 2].par_iter().zip_eq(&[3, 4]).map(|(a, b)| a * b).sum();
    /// assert_eq!(sum, 11);
    /// ```
    #[track_caller]
    fn zip_eq<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let zip = self.zip(zip_op);
        assert_eq!(zip.a.len(), zip.b.len(), "iterators must have the same length");
        zip
    }

    /// Gives each thread at least `min` items, or runs inline where there are
    /// fewer than twice that: worth saying where an item is little work.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let sum: usize = (0..1000).into_par_iter().with_min_len(256).sum();
    /// assert_eq!(sum, 499_500);
    /// ```
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        MinLen { base: self, min }
    }

    /// Accepted for rayon's sake, without effect: there is one range of items
    /// per thread, and no stealing that smaller ranges would serve.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let sum: usize = (0..1000).into_par_iter().with_max_len(10).sum();
    /// assert_eq!(sum, 499_500);
    /// ```
    fn with_max_len(self, _max: usize) -> MaxLen<Self> {
        MaxLen { base: self }
    }

    /// Collects into `target`, whose elements before are dropped.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut squares = vec![7];
    /// (0..4).into_par_iter().map(|n| n * n).collect_into_vec(&mut squares);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        target.append(&mut vector(self));
    }

    /// The index of an item that fits, not always of the first.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 5, 3].par_iter().position_any(|&n| n == 5), Some(1));
    /// ```
    fn position_any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        self.enumerate().find_map_any(|(i, item)| predicate(item).then_some(i))
    }

    /// The index of the first item that fits.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 5, 5].par_iter().position_first(|&n| n == 5), Some(1));
    /// ```
    fn position_first<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.enumerate().find_map_first(|(i, item)| predicate(item).then_some(i))
    }
}

impl<T: Exact> IndexedParallelIterator for T {}
