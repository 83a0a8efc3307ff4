//! What a waiting thread waits for.
//!
//! A latch usually lies on the stack of whoever waits for it, so it may be gone
//! as soon as it is set: `set` takes a pointer, and reads all that it needs
//! before the one access that sets it.

use crate::sync::{lock, AtomicUsize, Condvar, Mutex, Ordering};

/// Something that is set once.
pub(crate) trait Latch {
    /// Sets it and wakes who waits.
    ///
    /// # Safety
    /// `this` is alive until the moment it is set.
    unsafe fn set(this: *const Self);
}

const UNSET: usize = 0;
const DOZING: usize = 1;
const SET: usize = 2;

/// The state of a latch that a worker waits for while it does other work.
#[derive(Debug)]
pub(crate) struct Flag(AtomicUsize);

impl Flag {
    pub(crate) fn new() -> Self {
        Flag(AtomicUsize::new(UNSET))
    }

    /// Acquire: what was done before it was set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire) == SET
    }

    /// The waiter is about to sleep: whoever sets the flag must wake it. False
    /// if it is set.
    pub(crate) fn doze(&self) -> bool {
        self.0.compare_exchange(UNSET, DOZING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The waiter is awake again.
    pub(crate) fn rise(&self) {
        // If it fails the flag is set, which the waiter sees by `is_set`.
        let _ = self.0.compare_exchange(DOZING, UNSET, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// True if the waiter must be woken. Release: the work that was waited
    /// for. The flag may be gone when this returns.
    ///
    /// # Safety
    /// `this` is alive until the exchange.
    #[inline]
    pub(crate) unsafe fn set(this: *const Flag) -> bool {
        // SAFETY: alive, by the caller's promise; not used after the exchange.
        unsafe { (*this).0.swap(SET, Ordering::AcqRel) == DOZING }
    }
}

/// For threads that are nobody's worker: they look for as long as a short job takes,
/// then they block.
pub(crate) struct LockLatch {
    set: AtomicUsize,
    /// Whether the waiter has blocked.
    blocked: Mutex<bool>,
    bell: Condvar,
}

impl LockLatch {
    pub(crate) fn new() -> Self {
        LockLatch { set: AtomicUsize::new(UNSET), blocked: Mutex::new(false), bell: Condvar::new() }
    }

    pub(crate) fn wait(&self) {
        look_for_a_while(|| self.set.load(Ordering::Relaxed) == SET);
        let mut blocked = lock(&self.blocked);
        // Relaxed: the lock orders it, and what was done before it was set.
        while self.set.load(Ordering::Relaxed) != SET {
            *blocked = true;
            blocked = self.bell.wait(blocked).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Latch for LockLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: the waiter leaves only when it has the lock and sees it set, so
        // the latch is alive until the guard is dropped; the bell is rung under
        // the lock for the same reason.
        let this = unsafe { &*this };
        let blocked = lock(&this.blocked);
        this.set.store(SET, Ordering::Relaxed);
        if *blocked {
            this.bell.notify_all();
        }
    }
}

/// Until `done`, or so long: less than it takes to wake a thread.
#[cfg(not(loom))]
fn look_for_a_while(done: impl Fn() -> bool) {
    const LOOKS: std::time::Duration = std::time::Duration::from_micros(10);
    let begun = std::time::Instant::now();
    while !done() && begun.elapsed() < LOOKS {
        (0..8).for_each(|_| crate::sync::spin_loop());
    }
}

/// The model has no time.
#[cfg(loom)]
fn look_for_a_while(_: impl Fn() -> bool) {}

impl<L: Latch> Latch for &L {
    unsafe fn set(this: *const Self) {
        // SAFETY: as for the latch that is referred to.
        unsafe { L::set(*this) }
    }
}
