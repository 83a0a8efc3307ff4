//! The process-wide pool: built at first use, never dropped.

use crate::machine::Notes;
use crate::pool::{BuildError, Pool, PoolBuilder};
use crate::sync::{Ordering, StaticPtr};

/// No lock and no once-cell: a `fork()` child would wait in them for a thread of
/// its parent's, and a logger or a start hook for this very thread.
static POOL: StaticPtr<Pool> = StaticPtr::new(std::ptr::null_mut());

/// The process-wide pool; the first call builds it, with the
/// [default width](crate#environment-variables). It is never joined, not even
/// at exit.
///
/// ```
/// let mut rows = [0; 8];
/// rowpool::global().for_each_row(&mut rows, |row, out| *out = row * 2);
/// assert_eq!(rows[7], 14);
/// ```
pub fn global() -> &'static Pool {
    if let Some(pool) = built() {
        return pool;
    }
    match install(Pool::builder()) {
        Ok(pool) => pool,
        // The default width is in bounds and the pool is not strict.
        Err(error) => unreachable!("rowpool: {error}"),
    }
}

impl PoolBuilder {
    /// Builds the process-wide pool that [`global`](crate::global) and
    /// [`threads`](crate::threads) use. If it exists already, it stays as it is
    /// and is returned; ask it for its width.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).build_global()?;
    /// assert!(std::ptr::eq(pool, rowpool::global()));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn build_global(self) -> Result<&'static Pool, BuildError> {
        install(self)
    }
}

/// The pool, if it has been built.
pub(crate) fn built() -> Option<&'static Pool> {
    // Acquire, from `install`: the pool is there.
    let pool = POOL.load(Ordering::Acquire);
    // SAFETY: null, or a leaked box.
    unsafe { pool.as_ref() }
}

/// Builds the pool unless there is one. Of several threads at once each builds
/// one, and the first to be ready counts.
pub(crate) fn install(builder: PoolBuilder) -> Result<&'static Pool, BuildError> {
    if let Some(pool) = built() {
        return Ok(pool);
    }
    let mut notes = Notes::default();
    let pool = builder.build_with(&mut notes).map(|pool| {
        let pool = Box::into_raw(Box::new(pool));
        // Release: the pool is there; Acquire: as in `built`.
        let empty = std::ptr::null_mut();
        match POOL.compare_exchange(empty, pool, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: a box that is leaked from now on.
            Ok(_) => unsafe { &*pool },
            Err(first) => {
                // SAFETY: nobody has seen ours.
                drop(unsafe { Box::from_raw(pool) });
                // SAFETY: as in `built`, and not null.
                unsafe { &*first }
            }
        }
    });
    // A logger may ask for the pool.
    notes.log();
    pool
}
