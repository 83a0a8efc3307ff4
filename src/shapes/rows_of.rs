//! The rows of several slices, as one run of rows that is shared out by what
//! they cost: one region for operations that share their input.

use super::Shared;
use crate::partition::{unit, Split};
use crate::pool::Pool;

impl Pool {
    /// Calls `f(output, first, part)` for several outputs in one region: their
    /// rows are shared out together, as if they lay end to end, by what they
    /// [cost](crate::Rows::cost). `part` is what a slot has of output number
    /// `output`, in one piece, from row `first` on; no part is empty. Operations
    /// of one input (q, k and v; gate and up; the experts of a token) take one
    /// fork so, and small ones fill the slots together. Nothing is allocated.
    ///
    /// # Panics
    /// If there are more rows than `usize` has room for.
    ///
    /// ```
    /// use rowpool::Rows;
    /// let (mut q, mut k, mut v) = (vec![0; 576], vec![0; 192], vec![0; 192]);
    /// let mut outputs = [Rows::new(&mut q), Rows::new(&mut k), Rows::new(&mut v)];
    /// rowpool::Pool::new(2)?.rows_of(&mut outputs, |output, first, part| {
    ///     (first..).zip(part).for_each(|(row, out)| *out = 1000 * output + row);
    /// });
    /// assert_eq!((q[575], k[0], v[191]), (575, 1000, 2191));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    ///
    /// The outputs are different memory:
    ///
    /// ```compile_fail
    /// use rowpool::Rows;
    /// let mut q = [0; 576];
    /// let mut outputs = [Rows::new(&mut q), Rows::new(&mut q)];
    /// rowpool::Pool::new(2).unwrap().rows_of(&mut outputs, |_, _, part| part.fill(1));
    /// ```
    #[inline]
    pub fn rows_of<T: Send>(
        &self,
        outputs: &mut [Rows<'_, T>],
        f: impl Fn(usize, usize, &mut [T]) + Sync,
    ) {
        let outputs = &*outputs;
        let (total, scale) = match sum(outputs, 0) {
            Some(total) => (total, 0),
            None => scale_of(outputs),
        };
        let rows = outputs.iter().fold(0usize, |rows, output| rows.saturating_add(output.rows.len));
        let work = self.ops(total).map(|ops| ops.saturating_mul(1 << scale));
        self.open(rows, work, move |slot, split| {
            let share = split.range(total, slot, 1);
            let mut before = 0;
            for (i, output) in outputs.iter().enumerate() {
                let at = |boundary: usize| {
                    output.row_at(boundary.saturating_sub(before), scale, split.width)
                };
                let rows = at(share.start)..at(share.end);
                if !rows.is_empty() {
                    // SAFETY: the part that this slot has by its region's split:
                    // a boundary between two slots is the same row for both,
                    // since `row_at` depends on the boundary alone. The outputs
                    // are borrowed mutably until the region has ended.
                    f(i, rows.start, unsafe { output.rows.part(rows) });
                }
                before += output.total(scale).expect("part of a sum that there is");
            }
        });
    }
}

/// One output of a region that has several ([`Pool::rows_of`](crate::Pool::rows_of)): its rows, and
/// what one of them costs.
///
/// ```
/// let (mut gate, mut up) = (vec![0.0f32; 1536], vec![0.0f32; 1536]);
/// // One in 4-bit blocks, one in 6-bit blocks, which take half as long again.
/// let outputs = [rowpool::Rows::new(&mut gate).cost(2), rowpool::Rows::new(&mut up).cost(3)];
/// ```
#[derive(Debug)]
pub struct Rows<'a, T> {
    rows: Shared<'a, T>,
    /// At least 1.
    cost: usize,
}

impl<'a, T> Rows<'a, T> {
    /// All rows of an output, each at a cost of 1.
    ///
    /// ```
    /// let mut q = [0.0f32; 576];
    /// let output = rowpool::Rows::new(&mut q);
    /// ```
    pub fn new(rows: &'a mut [T]) -> Self {
        Rows { rows: Shared::new(rows), cost: 1 }
    }

    /// The same rows where one costs `cost`, in any unit that is common to the
    /// outputs of a region, such as bytes of weights; 0 counts as 1.
    ///
    /// ```
    /// let mut q = [0.0f32; 576];
    /// let output = rowpool::Rows::new(&mut q).cost(576);
    /// ```
    #[must_use]
    pub fn cost(self, cost: usize) -> Self {
        Rows { cost: cost.max(1), ..self }
    }

    /// What all rows cost, where costs are divided by 2 to the `scale`.
    #[inline(always)]
    fn total(&self, scale: u32) -> Option<usize> {
        self.rows.len.checked_mul(scaled(self.cost, scale))
    }

    /// The row at which a boundary lies that has `before` of the cost of this
    /// output before it; the number of rows for all that lie behind it. Grows
    /// with `before`, so that boundaries share the rows out.
    #[inline(always)]
    fn row_at(&self, before: usize, scale: u32, width: usize) -> usize {
        let (rows, cost) = (self.rows.len, scaled(self.cost, scale));
        let row = before.div_ceil(cost).min(rows);
        Split { width, weights: None }.snapped(row, rows, const { unit(size_of::<T>(), 1) })
    }
}

#[inline(always)]
fn scaled(cost: usize, scale: u32) -> usize {
    (cost >> scale).max(1)
}

/// What all of them cost together, where that can be said.
#[inline(always)]
fn sum<T>(outputs: &[Rows<'_, T>], scale: u32) -> Option<usize> {
    outputs.iter().try_fold(0usize, |sum, output| sum.checked_add(output.total(scale)?))
}

/// The smallest scale by which the costs have a sum, and the sum.
#[cold]
fn scale_of<T>(outputs: &[Rows<'_, T>]) -> (usize, u32) {
    let scales = 0..usize::BITS;
    scales
        .filter_map(|scale| Some((sum(outputs, scale)?, scale)))
        .next()
        .expect("rowpool: more rows than usize has room for")
}
