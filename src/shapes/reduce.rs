//! Values that are reduced to one.

use crate::partition::Split;
use std::ops::Range;

/// Most leaves of a reduction. It has as many as it has items up to here, so
/// that wide pools have something to share; combining them takes a caller less
/// than a µs where that is cheap.
const LEAVES: usize = 256;

shape! {
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
        let mut combine = combine;
        let mut values: [Option<T>; LEAVES] = [const { None }; LEAVES];
        let values = &mut values[..n.min(LEAVES)];
        let leaves = Split { width: values.len(), weights: None };
        self.parts_of(self.ops(n), values, |first, part| {
            for (i, value) in (first..).zip(part) {
                *value = Some(leaf(leaves.range(n, i, 1)));
            }
        });
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

    par:
    /// let sum = rowpool::par::reduce(100, |range| range.sum::<usize>(), |a, b| a + b);
    /// assert_eq!(sum, Some(4950));
}
