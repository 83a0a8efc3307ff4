//! The only file that names atomics and locks, so that the real ones and
//! loom's model of them are one switch.

#[cfg(not(loom))]
pub(crate) use {
    parking_lot::{Condvar, Mutex, MutexGuard},
    std::hint::spin_loop,
    std::sync::atomic::{fence, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
    std::thread::yield_now,
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    atomic::{fence, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
    Condvar, Mutex,
};

#[cfg(not(loom))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Sleeps until rung for.
#[cfg(not(loom))]
pub(crate) fn wait<'a, T>(bell: &Condvar, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    bell.wait(&mut guard);
    guard
}

#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard;

#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics under it")
}

#[cfg(loom)]
pub(crate) fn wait<'a, T>(bell: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    bell.wait(guard).expect("nothing panics under it")
}

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
