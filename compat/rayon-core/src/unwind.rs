//! Panics: caught, kept and raised elsewhere.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What is caught is always raised again or reported, so what a closure leaves
/// half done is seen by nobody who has not been told.
#[inline]
pub(crate) fn catch<R>(func: impl FnOnce() -> R) -> std::thread::Result<R> {
    catch_unwind(AssertUnwindSafe(func))
}

pub(crate) fn resume(payload: Box<dyn Any + Send>) -> ! {
    std::panic::resume_unwind(payload)
}

/// Drops a payload that lost; one whose `Drop` panics is leaked.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch(|| drop(payload)) {
        std::mem::forget(worse);
    }
}

/// Stands where unwinding would leave others with what is gone.
pub(crate) struct AbortIfPanic;

impl Drop for AbortIfPanic {
    fn drop(&mut self) {
        eprintln!("rayon-core: a panic where there is nobody to raise it; aborting");
        std::process::abort();
    }
}
