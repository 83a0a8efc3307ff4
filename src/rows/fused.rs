//! The shape of operations that share their input: one region for several
//! outputs.

use super::Work;
use crate::pool::Pool;
use crate::shapes::{fused, Rows};

impl Pool {
    /// Calls `f(output, first, part)` for several outputs in one region: their
    /// rows are shared out together, as if they lay end to end, by what they
    /// [cost](Rows::cost). `part` is what a slot has of output number `output`,
    /// in one piece, from row `first` on; no part is empty. Operations of one
    /// input (q, k and v; gate and up; the experts of a token) take one fork so,
    /// and small ones fill the slots together. Nothing is allocated.
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
    pub fn rows_of<T: Send>(
        &self,
        outputs: &mut [Rows<'_, T>],
        f: impl Fn(usize, usize, &mut [T]) + Sync,
    ) {
        self.plain().rows_of(outputs, f);
    }
}

impl Work<'_> {
    /// As [`Pool::rows_of`]; an item is a cost of 1, which is a row where no
    /// costs are given.
    ///
    /// # Panics
    /// As there.
    ///
    /// ```
    /// use rowpool::Rows;
    /// let (mut gate, mut up) = (vec![0.0f32; 1536], vec![0.0f32; 1536]);
    /// let mut outputs = [Rows::new(&mut gate), Rows::new(&mut up)];
    /// let pool = rowpool::Pool::new(2)?;
    /// pool.with_work(576).rows_of(&mut outputs, |output, _, part| part.fill(output as f32));
    /// assert_eq!((gate[1535], up[0]), (0.0, 1.0));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn rows_of<T: Send>(
        self,
        outputs: &mut [Rows<'_, T>],
        f: impl Fn(usize, usize, &mut [T]) + Sync,
    ) {
        fused(self.pool, self.ops_per_item, outputs, f);
    }
}
