//! Several slices as one run of rows, shared out together by what rows cost.

use super::Shared;
use crate::partition::{unit, Split};
use crate::pool::{Pool, Region};
use std::ops::Range;

/// One output of a region that has several ([`Pool::rows_of`]): its rows, and
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

struct Fused<'a, 'b, T, F> {
    outputs: &'a [Rows<'b, T>],
    total: usize,
    /// Costs are divided by 2 to this, or their sum would be no `usize`.
    scale: u32,
    f: F,
}

/// Opens a region over the rows of all outputs: `f(output, first, part)` gets
/// the rows of one output that a slot has, in one piece. `ops` is the work that
/// a cost of 1 stands for.
///
/// # Panics
/// If there are more rows than `usize` has room for.
#[inline(always)]
pub(crate) fn fused<T: Send>(
    pool: &Pool,
    ops: Option<u64>,
    outputs: &mut [Rows<'_, T>],
    f: impl Fn(usize, usize, &mut [T]) + Sync,
) {
    let (total, scale) = match sum(outputs, 0) {
        Some(total) => (total, 0),
        None => scale_of(outputs),
    };
    let rows = outputs.iter().fold(0usize, |rows, output| rows.saturating_add(output.rows.len));
    if rows > 0 {
        let work = ops.map(|ops| ops.saturating_mul(total as u64).saturating_mul(1 << scale));
        // SAFETY: the outputs are borrowed mutably until the region has ended,
        // which nobody else can use then; `f` and what it borrows live as long.
        unsafe { pool.fork(rows, work, Fused { outputs, total, scale, f }) };
    }
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

impl<T, F> Fused<'_, '_, T, F> {
    /// Calls `f` with the rows that each output has in this share of the costs.
    #[inline(always)]
    fn each(&self, share: Range<usize>, width: usize, mut f: impl FnMut(usize, Range<usize>)) {
        let mut before = 0;
        for (i, output) in self.outputs.iter().enumerate() {
            let at =
                |boundary: usize| output.row_at(boundary.saturating_sub(before), self.scale, width);
            let rows = at(share.start)..at(share.end);
            if !rows.is_empty() {
                f(i, rows);
            }
            before += output.total(self.scale).expect("part of a sum that there is");
        }
    }
}

// SAFETY: a slot touches the rows of its own share; shares of different slots
// of one split do not overlap, nor do the rows that they stand for, since both
// take a boundary for the same row (`row_at` depends on the boundary alone).
unsafe impl<T: Send, F> Region for Fused<'_, '_, T, F>
where
    F: Fn(usize, usize, &mut [T]) + Sync,
{
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let share = split.range(self.total, slot, 1);
        self.each(share, split.width, |i, rows| {
            // SAFETY: no other slot has these rows, and this one runs once
            // (contract).
            (self.f)(i, rows.start, unsafe { self.outputs[i].rows.part(rows) });
        });
    }
}
