//! The only file that names atomics and locks: everything else imports them
//! from here, so that real and loom-modelled primitives are one switch.

// Locks where the target has none; pools get no workers there (`ONE_WORD`).
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(crate) use portable_atomic::AtomicU64;
#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use std::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use {
    parking_lot::{Condvar, Mutex, MutexGuard},
    std::hint::spin_loop,
    std::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicUsize, Ordering},
    std::thread::{sleep, yield_now},
    std::time::Instant,
};

#[cfg(loom)]
#[path = "../tests/loom/sync.rs"]
pub(crate) mod model;
#[cfg(loom)]
pub(crate) use {
    loom::hint::spin_loop,
    loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    loom::thread::yield_now,
    model::{fence, guess, overwrite, sleep, Condvar, Instant, Mutex, MutexGuard},
};

/// For statics, which the model cannot have.
#[cfg(all(loom, any(target_os = "linux", target_os = "android")))]
pub(crate) use std::sync::atomic::AtomicU64 as StaticU64;
pub(crate) use std::sync::atomic::{AtomicPtr as StaticPtr, AtomicU32 as StaticU32};
#[cfg(all(not(loom), any(target_os = "linux", target_os = "android")))]
pub(crate) use AtomicU64 as StaticU64;

/// Reads something that may be stale without harm: whatever comes out is
/// right. The model does not try all that could come out.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn guess<T>(read: impl FnOnce() -> T) -> T {
    read()
}

/// A plain store to a word that others change by read-modify-write.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn overwrite(word: &AtomicU64, value: u64, order: Ordering) {
    word.store(value, order);
}

/// Values on cache lines of their own, at least 128 bytes apart: x86 fetches
/// lines in pairs and Apple's lines are 128 bytes (S34). `CachePadded` adds
/// what a CPU needs beyond that (256 on s390x), but is 32 or 64 on some.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Line<T>(crossbeam_utils::CachePadded<T>);

impl<T> Line<T> {
    pub(crate) const fn new(value: T) -> Self {
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

/// An `UnsafeCell` with loom's methods: access goes through a closure, so that
/// the model sees when each access begins and ends.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// Whether epoch and width can travel in one atomic word; without that a
/// region cannot be published safely, and all regions run serially.
pub(crate) const ONE_WORD: bool = cfg!(target_has_atomic = "64");

/// What a thread knows of itself, all zero at first: `const` and without `Drop`,
/// so that it can be read in the destructors of other thread-locals.
#[allow(
    clippy::missing_const_for_thread_local,
    reason = "it is const, which clippy does not see on Windows"
)]
pub(crate) mod context {
    use std::cell::Cell;

    struct Context {
        inside: Cell<usize>,
        scope: Cell<u32>,
    }

    #[cfg(not(loom))]
    thread_local! {
        static CONTEXT: Context =
            const { Context { inside: Cell::new(0), scope: Cell::new(0) } };
    }
    #[cfg(loom)]
    loom::thread_local! {
        static CONTEXT: Context = Context { inside: Cell::new(0), scope: Cell::new(0) };
    }

    #[inline(always)]
    pub(crate) fn get() -> usize {
        CONTEXT.with(|context| context.inside.get())
    }

    #[inline(always)]
    pub(crate) fn set(value: usize) {
        CONTEXT.with(|context| context.inside.set(value));
    }

    #[inline(always)]
    pub(crate) fn scope() -> u32 {
        CONTEXT.with(|context| context.scope.get())
    }

    pub(crate) fn set_scope(value: u32) {
        CONTEXT.with(|context| context.scope.set(value));
    }

    /// A number that no other living thread has.
    pub(crate) fn id() -> usize {
        CONTEXT.with(|context| std::ptr::from_ref(context) as usize)
    }
}
