//! How much work an item is: a pool's regions with a hint, and without.

use super::Pool;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// A [`Pool`] that knows how much work an item is; made by
/// [`Pool::with_work`]. All that a pool can do it can do: see the methods from
/// `Deref` below.
///
/// ```
/// let pool = rowpool::Pool::new(2)?;
/// let mut y = vec![0.0f32; 64];
/// // 64 rows of 16 multiply-adds are not worth a fork: they run inline.
/// pool.with_work(16).for_each_row(&mut y, |row, out| *out = row as f32);
/// assert_eq!(y[63], 63.0);
/// # Ok::<(), rowpool::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Work<'p> {
    pool: ManuallyDrop<Pool>,
    lent: PhantomData<&'p Pool>,
}

impl Deref for Work<'_> {
    type Target = Pool;

    #[inline(always)]
    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl Pool {
    /// The same pool, whose regions know their size: one item (row, chunk,
    /// index, tile, slot, closure; for [`rows_of`](Self::rows_of) a cost of 1)
    /// takes `ops_per_item` multiply-adds. Below the break-even, which follows
    /// the measured cost of a fork, its regions run inline; large ones wake
    /// sleepers at once.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let (w, x) = (vec![1.0f32; 100 * 576], vec![2.0f32; 576]);
    /// let mut y = vec![0.0f32; 100];
    /// pool.with_work(576).for_each_row(&mut y, |row, out| {
    ///     *out = w[row * 576..][..576].iter().zip(&x).map(|(w, x)| w * x).sum();
    /// });
    /// assert_eq!(y[99], 1152.0);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn with_work(&self, ops_per_item: usize) -> Work<'_> {
        // SAFETY: a copy that is never dropped and only lent by `&`, which takes
        // nothing out of it; `self`, whose parts it shares, is borrowed as long
        // as it lives. The parts are `Arc`s and plain values, which may be
        // pointed to from two places.
        let mut pool = ManuallyDrop::new(unsafe { std::ptr::read(self) });
        pool.ops_per_item = Some(ops_per_item as u64);
        Work { pool, lent: PhantomData }
    }

    /// What `n` items are in multiply-adds, where there is a hint.
    #[inline(always)]
    pub(crate) fn ops(&self, n: usize) -> Option<u64> {
        self.ops_per_item.map(|ops| ops.saturating_mul(n as u64))
    }
}
