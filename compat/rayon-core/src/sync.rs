//! The only file that names atomics and locks, so that the real ones and
//! loom's model of them are one switch.

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        atomic::{fence, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
        Condvar, Mutex,
    },
    thread::yield_now,
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    atomic::{fence, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
    Condvar, Mutex,
};

/// Nothing panics under these locks, so a poisoned one is as good as new.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard;
#[cfg(not(loom))]
pub(crate) use std::sync::MutexGuard;

/// A value on cache lines of its own, 128 bytes apart: x86 fetches lines in
/// pairs.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(crossbeam_utils::CachePadded<T>);

impl<T> Line<T> {
    pub(crate) fn new(value: T) -> Self {
        Line(crossbeam_utils::CachePadded::new(value))
    }
}

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
