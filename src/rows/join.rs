//! The shapes that run a few different closures.

use super::Work;
use crate::pool::Pool;
use crate::shapes::{once2, once3};

impl Pool {
    /// Runs both closures, on two threads where they are free, and returns what
    /// they return. Regions inside of them run inline, so two threads is what a
    /// `join` occupies: loops are better one region over the rows of both
    /// ([`rows_of`](Self::rows_of)). They must not wait for each other.
    ///
    /// # Panics
    /// If one of them does, with the first panic in time, after both have ended;
    /// the other may not have run, and its value is dropped.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let (mut k, mut v) = ([0.0f32; 4], [0.0f32; 4]);
    /// let (first, second) = pool.join(
    ///     || { k.fill(1.0); "k" },
    ///     || { v.fill(2.0); "v" },
    /// );
    /// assert_eq!((first, k[3], second, v[3]), ("k", 1.0, "v", 2.0));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn join<RA: Send, RB: Send>(
        &self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        self.plain().join(a, b)
    }

    /// [`join`](Self::join) of three.
    ///
    /// # Panics
    /// As `join`.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(3)?;
    /// assert_eq!(pool.join3(|| 1, || "two", || 3.0), (1, "two", 3.0));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn join3<RA: Send, RB: Send, RC: Send>(
        &self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
        c: impl FnOnce() -> RC + Send,
    ) -> (RA, RB, RC) {
        self.plain().join3(a, b, c)
    }
}

impl Work<'_> {
    /// As [`Pool::join`]; a closure is an item.
    ///
    /// # Panics
    /// As there.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// assert_eq!(pool.with_work(100_000).join(|| 1, || 2), (1, 2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn join<RA: Send, RB: Send>(
        self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        once2(self.pool, self.ops(2), a, b)
    }

    /// As [`Pool::join3`]; a closure is an item.
    ///
    /// # Panics
    /// As there.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// assert_eq!(pool.with_work(100_000).join3(|| 1, || 2, || 3), (1, 2, 3));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn join3<RA: Send, RB: Send, RC: Send>(
        self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
        c: impl FnOnce() -> RC + Send,
    ) -> (RA, RB, RC) {
        once3(self.pool, self.ops(3), a, b, c)
    }
}
