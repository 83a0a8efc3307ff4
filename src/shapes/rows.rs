//! The rows of one slice.

use super::Shared;
use crate::partition::unit;
use crate::pool::Pool;

shape! {
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
        self.parts_of(self.ops(rows.len()), rows, move |first, part| {
            (first..first + part.len()).zip(part).for_each(|(row, out)| f(row, out));
        });
    }

    par:
    /// let mut rows = [0; 5];
    /// rowpool::par::for_each_row(&mut rows, |row, out| *out = row);
    /// assert_eq!(rows, [0, 1, 2, 3, 4]);
}

impl Pool {
    /// Calls `f(first, part)` with the part of `rows` of each slot that has
    /// rows, where all rows are `work` together.
    #[inline(always)]
    pub(super) fn parts_of<T: Send>(
        &self,
        work: Option<u64>,
        rows: &mut [T],
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let rows = Shared::new(rows);
        self.open(rows.len, work, move |slot, split| {
            let range = split.range(rows.len, slot, const { unit(size_of::<T>(), 1) });
            if !range.is_empty() {
                // SAFETY: the part that this slot has by its region's split.
                f(range.start, unsafe { rows.part(range) });
            }
        });
    }
}
