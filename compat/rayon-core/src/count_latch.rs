//! A latch that is set when all of a number of jobs have run.

use crate::latch::{Flag, Latch, LockLatch};
use crate::registry::Registry;
use crate::seat::Seat;
use crate::sync::{AtomicUsize, Ordering};
use std::fmt;
use std::sync::Arc;

pub(crate) struct CountLatch {
    missing: AtomicUsize,
    waiter: Waiter,
}

enum Waiter {
    Worker { flag: Flag, registry: Arc<Registry>, index: usize },
    Outside(LockLatch),
}

impl CountLatch {
    /// For `count` jobs, and whoever holds this seat, or no seat.
    pub(crate) fn new(count: usize, owner: Option<&Seat>) -> Self {
        let waiter = match owner {
            Some(seat) => Waiter::Worker {
                flag: Flag::new(),
                registry: seat.registry().share(),
                index: seat.index,
            },
            None => Waiter::Outside(LockLatch::new()),
        };
        CountLatch { missing: AtomicUsize::new(count), waiter }
    }

    /// One job more. Somebody must hold one that has not run.
    pub(crate) fn add(&self) {
        self.missing.fetch_add(1, Ordering::Relaxed);
    }

    /// `owner` as it was given to `new`.
    pub(crate) fn wait(&self, owner: Option<&Seat>) {
        match (&self.waiter, owner) {
            (Waiter::Worker { flag, .. }, Some(seat)) => seat.wait(flag),
            (Waiter::Outside(latch), _) => latch.wait(),
            (Waiter::Worker { .. }, None) => unreachable!("the owner waits"),
        }
    }
}

impl Latch for CountLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: the waiter waits until the last one has set the flag, so the
        // latch is alive until then, and the others do not touch it after
        // their part of the count (release for their work, acquire for the
        // last one, who hands all of it on).
        unsafe {
            if (*this).missing.fetch_sub(1, Ordering::AcqRel) != 1 {
                return;
            }
            match &(*this).waiter {
                Waiter::Worker { flag, registry, index } => {
                    let (registry, index) = (Arc::clone(registry), *index);
                    if Flag::set(flag) {
                        registry.seat(index).notify();
                    }
                }
                Waiter::Outside(latch) => LockLatch::set(latch),
            }
        }
    }
}

impl fmt::Debug for CountLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.load(Ordering::Relaxed);
        f.debug_struct("CountLatch").field("missing", &missing).finish()
    }
}
