//! The global pool: the one that is used where none is named.

use crate::builder::ThreadSpawn;
use crate::host;
use crate::registry::Registry;
use crate::seat::Seat;
use crate::{ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, OnceLock};

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
/// Held while the global pool is built: its handlers may use it already, and
/// one that fails to build leaves the next one the place.
static BUILDING: Mutex<()> = Mutex::new(());

/// The pool that is used where none is named.
#[inline]
pub(crate) fn global() -> &'static Arc<Registry> {
    built().unwrap_or_else(|| build_default())
}

/// The same, if it is there.
#[inline]
pub(crate) fn built() -> Option<&'static Arc<Registry>> {
    GLOBAL.get()
}

#[cold]
fn build_default() -> &'static Arc<Registry> {
    // Not under the lock: a logger may come back here.
    let host = host::pool(0);
    let built = build_global_by(|| {
        Registry::new(ThreadPoolBuilder::new(), true, host).or_else(|error| {
            match error.is_unsupported() && Seat::current().is_none() {
                // A system without threads: this one does it all.
                true => {
                    let here = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
                    Registry::new(here, true, None)
                }
                false => Err(error),
            }
        })
    });
    match built {
        Some(Err(error)) => panic!("the global thread pool could not be built: {error}"),
        _ => GLOBAL.get().expect("it is there now"),
    }
}

/// Makes the global pool, if there is none yet.
pub(crate) fn init_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let hosted = builder.is_plain() && built().is_none();
    let host = if hosted { host::pool(builder.threads_in_code()) } else { None };
    build_global_by(|| Registry::new(builder, true, host))
        .unwrap_or_else(|| Err(ThreadPoolBuildError::already_initialized()))
        .map(|()| global())
}

/// `None`: there is one.
fn build_global_by(
    build: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Option<Result<(), ThreadPoolBuildError>> {
    let _building = BUILDING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if GLOBAL.get().is_some() {
        return None;
    }
    let built = build().map(|registry| {
        assert!(GLOBAL.set(registry).is_ok(), "set under the lock only");
    });
    Some(built)
}

/// The pool of this thread, or the global one.
pub(crate) fn current() -> Arc<Registry> {
    match Seat::current() {
        Some(seat) => seat.registry().share(),
        None => Arc::clone(global()),
    }
}

/// Runs `op` on a worker of this thread's pool, or of the global one.
#[inline]
pub(crate) fn in_worker<OP, R>(op: OP) -> R
where
    OP: FnOnce(&Seat, bool) -> R + Send,
    R: Send,
{
    match Seat::current() {
        Some(seat) => op(seat, false),
        None => global().in_worker_from_outside(op),
    }
}
