//! The process-wide pool: built at first use, never dropped.

use crate::pool::{BuildError, Pool, PoolBuilder};
use crate::sync::{OnceLock, StaticMutex};

static POOL: OnceLock<Pool> = OnceLock::new();

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
    if let Some(pool) = POOL.get() {
        return pool;
    }
    match install(Pool::builder()) {
        Ok(pool) => pool,
        // The default width is in bounds and the pool is not strict.
        Err(error) => unreachable!("rowpool: {error}"),
    }
}

/// The pool, if it has been built.
pub(crate) fn built() -> Option<&'static Pool> {
    POOL.get()
}

/// Builds the pool unless there is one.
pub(crate) fn install(builder: PoolBuilder) -> Result<&'static Pool, BuildError> {
    // `OnceLock` cannot be filled by something that may fail.
    static BUILDING: StaticMutex<()> = StaticMutex::new(());
    let _building = BUILDING.lock();
    if POOL.get().is_none() {
        let pool = builder.build()?;
        if POOL.set(pool).is_err() {
            unreachable!("the lock is held");
        }
    }
    Ok(POOL.get().expect("filled above"))
}
