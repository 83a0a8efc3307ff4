//! A few different closures, which run once each.

use crate::sync::Mutex;

shape! {
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
        let calls = (Once::new(a), Once::new(b));
        self.run(2, |call| match call {
            0 => calls.0.call(),
            _ => calls.1.call(),
        });
        (calls.0.value(), calls.1.value())
    }

    par:
    /// assert_eq!(rowpool::par::join(|| 1, || "two"), (1, "two"));
}

shape! {
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
        let calls = (Once::new(a), Once::new(b), Once::new(c));
        self.run(3, |call| match call {
            0 => calls.0.call(),
            1 => calls.1.call(),
            _ => calls.2.call(),
        });
        (calls.0.value(), calls.1.value(), calls.2.value())
    }

    par:
    /// assert_eq!(rowpool::par::join3(|| 1, || "two", || 3.0), (1, "two", 3.0));
}

/// A closure that one slot calls, and its value then. Nobody ever waits for
/// the locks: they are there for the compiler to see that.
struct Once<F, R> {
    waiting: Mutex<Option<F>>,
    value: Mutex<Option<R>>,
}

impl<R, F: FnOnce() -> R> Once<F, R> {
    fn new(f: F) -> Self {
        Once { waiting: Mutex::new(Some(f)), value: Mutex::new(None) }
    }

    #[inline(always)]
    fn call(&self) {
        let waiting = self.waiting.lock().take();
        let value = waiting.map(|f| f());
        *self.value.lock() = value;
    }

    fn value(self) -> R {
        self.value.into_inner().expect("a region that has not panicked has called it")
    }
}
