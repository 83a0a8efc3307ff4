//! The shapes that return values: collected, or reduced to one.

use super::Work;
use crate::partition::Split;
use crate::pool::Pool;
use crate::shapes::{collect, try_collect};
use std::ops::Range;

/// Most leaves of a reduction. It has as many as it has items up to here, so
/// that wide pools have something to share; combining them takes a caller less
/// than a µs where that is cheap.
const LEAVES: usize = 256;

impl Pool {
    /// A `Vec` of `f(0)`, .., `f(n - 1)`. Each value is written once, to its
    /// place, by the slot that made it.
    ///
    /// # Panics
    /// If `f` does: values that were made by then are dropped, once each, and
    /// none is leaked. If `n` values are more than memory can hold.
    ///
    /// ```
    /// let names = rowpool::Pool::new(2)?.map_collect(3, |i| format!("head {i}"));
    /// assert_eq!(names, ["head 0", "head 1", "head 2"]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn map_collect<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        self.plain().map_collect(n, f)
    }

    /// [`map_collect`](Self::map_collect) of what may fail.
    ///
    /// # Errors
    /// The error with the lowest index: the same in every run and at every
    /// width. Whether `f` is called for indices above it is unspecified; what
    /// it made of them is dropped.
    ///
    /// # Panics
    /// As `map_collect`, errors or not.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let texts = ["1", "2", "three", "vier"];
    /// let numbers = pool.try_map_collect(2, |i| texts[i].parse::<u32>());
    /// assert_eq!(numbers, Ok(vec![1, 2]));
    /// let failed = pool.try_map_collect(4, |i| texts[i].parse::<u32>().map_err(|_| i));
    /// assert_eq!(failed, Err(2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn try_map_collect<T: Send, E: Send>(
        &self,
        n: usize,
        f: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        self.plain().try_map_collect(n, f)
    }

    /// Reduces `0..n` to one value: `leaf(range)` makes the values of contiguous
    /// ranges, none of them empty, and `combine(left, right)` joins those of
    /// neighbours. The ranges, and the tree in which they are combined, depend
    /// on `n` alone: a sum of floats is bitwise the same at every width.
    /// `combine` runs on the calling thread. `None` where `n` is 0.
    ///
    /// There are up to 256 ranges of equal length; nothing is allocated.
    ///
    /// ```
    /// let x: Vec<f32> = (0..1000).map(|i| 1.0 / (i + 1) as f32).collect();
    /// let leaf = |range: std::ops::Range<usize>| x[range].iter().sum::<f32>();
    /// let sum = rowpool::Pool::new(2)?.reduce(x.len(), leaf, |a, b| a + b);
    /// assert_eq!(sum, rowpool::Pool::new(1)?.reduce(x.len(), leaf, |a, b| a + b));
    /// assert!((sum.unwrap() - 7.485).abs() < 0.001);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn reduce<T: Send>(
        &self,
        n: usize,
        leaf: impl Fn(Range<usize>) -> T + Sync,
        combine: impl FnMut(T, T) -> T,
    ) -> Option<T> {
        self.plain().reduce(n, leaf, combine)
    }
}

impl Work<'_> {
    /// As [`Pool::map_collect`].
    ///
    /// # Panics
    /// As there.
    ///
    /// ```
    /// let squares = rowpool::Pool::new(2)?.with_work(1000).map_collect(4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn map_collect<T: Send>(self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        collect(self.pool, self.ops(n), n, f)
    }

    /// As [`Pool::try_map_collect`].
    ///
    /// # Errors
    /// The error with the lowest index.
    ///
    /// # Panics
    /// As there.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let below = |i| if i < 3 { Ok(i) } else { Err(i) };
    /// assert_eq!(pool.with_work(1000).try_map_collect(9, below), Err(3));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn try_map_collect<T: Send, E: Send>(
        self,
        n: usize,
        f: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        try_collect(self.pool, self.ops(n), n, f)
    }

    /// As [`Pool::reduce`].
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let sum = pool.with_work(1).reduce(100, |range| range.sum::<usize>(), |a, b| a + b);
    /// assert_eq!(sum, Some(4950));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn reduce<T: Send>(
        self,
        n: usize,
        leaf: impl Fn(Range<usize>) -> T + Sync,
        mut combine: impl FnMut(T, T) -> T,
    ) -> Option<T> {
        let mut values: [Option<T>; LEAVES] = [const { None }; LEAVES];
        let values = &mut values[..n.min(LEAVES)];
        let tree = Split { width: values.len().max(1), weights: None };
        // An item of this region is a leaf, which has many of the caller's.
        let ops = self.ops(n).map(|ops| ops / tree.width as u64);
        let view = Work { pool: self.pool, ops_per_item: ops };
        view.for_each_row(values, |i, value| *value = Some(leaf(tree.range(n, i, 1))));
        let mut apart = 1;
        while apart < values.len() {
            for left in (0..values.len() - apart).step_by(2 * apart) {
                let right = values[left + apart].take();
                let pair = values[left].take().zip(right);
                values[left] = pair.map(|(left, right)| combine(left, right));
            }
            apart *= 2;
        }
        values.first_mut()?.take()
    }
}
