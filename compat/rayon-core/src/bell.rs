//! How a worker sleeps and is woken, without losing a wake.
//!
//! Sleeper: (1) count + 1 and state `ASLEEP`; (2) fence; (3) look once more at
//! its latch and for work, get up if there is any; (4) wait while `ASLEEP`.
//! Waker: (1) the news: a job that others can see, or a latch; (2) fence; (3)
//! read the count or the state; (4) `ASLEEP` to `AWAKE`, count - 1, ring. Either
//! the sleeper sees the news in its (3), or the waker the sleeper in its (3).
//!
//! A `join` that pushes or posts a half reads the count without the fence (2),
//! which would double its price. If it reads too early the sleeper has announced
//! itself within that one store's way to memory, and finds the half when it looks
//! again after `NAP`, which it does once per sleep.
//!
//! `PARKED` is the state of a seat whose worker sleeps at its host's (see
//! `host.rs`), by the same four steps; the host looks again after `NAP` too.
//! `FREE` is that of a seat that a caller from outside may take (see `lease.rs`);
//! its own thread sleeps at the `door`.

use crate::latch::Flag;
use crate::sync::{fence, lock, AtomicU32, AtomicUsize, Condvar, Mutex, Ordering};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const FREE: u32 = 2;
const PARKED: u32 = 3;

/// The first wait of a sleep ends after this time, for one more look.
#[cfg(not(loom))]
const NAP: std::time::Duration = std::time::Duration::from_millis(1);

pub(crate) struct Bell {
    state: AtomicU32,
    /// Whether the seat's own thread has been called to its free seat.
    called: Mutex<bool>,
    ring: Condvar,
    door: Condvar,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Bell {
            state: AtomicU32::new(AWAKE),
            called: Mutex::new(false),
            ring: Condvar::new(),
            door: Condvar::new(),
        }
    }

    #[inline]
    pub(crate) fn is_awake(&self) -> bool {
        self.state.load(Ordering::Relaxed) == AWAKE
    }

    fn change(&self, from: u32, to: u32, order: Ordering) -> bool {
        self.state.compare_exchange(from, to, order, Ordering::Relaxed).is_ok()
    }

    /// Sleeps until it is roused, or not at all if the flag is set or there is
    /// something to do.
    pub(crate) fn sleep(&self, sleepers: &AtomicUsize, flag: &Flag, pending: impl Fn() -> bool) {
        if !flag.doze() {
            return;
        }
        sleepers.fetch_add(1, Ordering::Relaxed);
        self.state.store(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let awaited = || flag.is_set() || pending();
        if awaited() || (!self.nap() && awaited()) {
            // Whoever changes the state counts; if it was a waker, it has.
            if self.change(ASLEEP, AWAKE, Ordering::Relaxed) {
                sleepers.fetch_sub(1, Ordering::Relaxed);
            }
        } else {
            let mut guard = lock(&self.called);
            while self.state.load(Ordering::Relaxed) == ASLEEP {
                guard = self.ring.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
        }
        flag.rise();
    }

    /// True if it was roused within the time.
    #[cfg(not(loom))]
    fn nap(&self) -> bool {
        let guard = lock(&self.called);
        let asleep = |_: &mut bool| self.state.load(Ordering::Relaxed) == ASLEEP;
        let _guard = self.ring.wait_timeout_while(guard, NAP, asleep);
        self.state.load(Ordering::Relaxed) != ASLEEP
    }

    /// The model has no time, and no push without its fence either.
    #[cfg(loom)]
    fn nap(&self) -> bool {
        true
    }

    /// The worker is about to park at its host's, who makes steps (2) to (4).
    pub(crate) fn park(&self, sleepers: &AtomicUsize) {
        sleepers.fetch_add(1, Ordering::Relaxed);
        self.state.store(PARKED, Ordering::Relaxed);
    }

    /// The worker is up, or is woken by the host after this. True for one.
    pub(crate) fn unpark(&self, sleepers: &AtomicUsize) -> bool {
        let unparked = self.state.load(Ordering::Relaxed) == PARKED
            && self.change(PARKED, AWAKE, Ordering::Relaxed);
        if unparked {
            sleepers.fetch_sub(1, Ordering::Relaxed);
        }
        unparked
    }

    /// Wakes whoever holds this seat, if it sleeps by this bell. After a fence.
    pub(crate) fn rouse_holder(&self, sleepers: &AtomicUsize) -> bool {
        let woken = self.state.load(Ordering::Relaxed) == ASLEEP
            && self.change(ASLEEP, AWAKE, Ordering::Relaxed);
        if woken {
            sleepers.fetch_sub(1, Ordering::Relaxed);
            // The sleeper either looks at the state after this, or waits.
            drop(lock(&self.called));
            self.ring.notify_all();
        }
        woken
    }

    /// Calls the seat's own thread to its free seat.
    pub(crate) fn call(&self, sleepers: &AtomicUsize) -> bool {
        let called = self.state.load(Ordering::Relaxed) == FREE && self.occupy(sleepers);
        if called {
            *lock(&self.called) = true;
            self.door.notify_all();
        }
        called
    }

    /// Takes the call back: there is no such thread.
    pub(crate) fn call_off(&self, sleepers: &AtomicUsize) {
        *lock(&self.called) = false;
        self.vacate(sleepers);
    }

    /// Takes a free seat. Acquire: what its last holder left in it.
    #[inline]
    pub(crate) fn occupy(&self, sleepers: &AtomicUsize) -> bool {
        let taken = self.change(FREE, AWAKE, Ordering::Acquire);
        if taken {
            sleepers.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// Leaves the seat free. Release: see `occupy`. The caller looks for work
    /// that came meanwhile.
    #[inline]
    pub(crate) fn vacate(&self, sleepers: &AtomicUsize) {
        sleepers.fetch_add(1, Ordering::Relaxed);
        self.state.store(FREE, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Where the seat's own thread waits while the seat is free or somebody
    /// else's. False: the pool ends.
    pub(crate) fn wait_for_call(&self, stop: &Flag) -> bool {
        let mut called = lock(&self.called);
        loop {
            if std::mem::take(&mut *called) {
                return true;
            }
            if stop.is_set() {
                return false;
            }
            called = self.door.wait(called).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// After `stop` was set.
    pub(crate) fn stop(&self) {
        drop(lock(&self.called));
        self.door.notify_all();
    }
}
