//! A caller from outside takes seat 0 for the time of its call, where the pool
//! is free: nobody is woken for it, and its own CPU does not look on.
//!
//! The global pool alone lends its seat: what a program installs in a pool of
//! its own runs on *that* pool's threads. And only if nothing about its threads
//! was asked for: name, stack size, handlers and spawn handlers all promise the
//! same. A caller with little stack left is sent to them as well.

use crate::registry::Registry;
use crate::seat::Seat;
use crate::stack;

pub(crate) struct Lease<'a>(&'a Seat);

impl<'a> Lease<'a> {
    /// For a thread that has no seat.
    #[inline]
    pub(crate) fn take(registry: &'a Registry) -> Option<Self> {
        if !registry.lends() || !stack::suffices() {
            return None;
        }
        let seat = registry.seat(0);
        if !seat.bell.occupy(registry.sleepers()) {
            return None;
        }
        // SAFETY: `occupy` gives the seat to one; the lease borrows the
        // registry and gets up when it is dropped.
        unsafe { Seat::set_current(Some(seat)) };
        seat.width().set(registry.num_threads());
        Some(Lease(seat))
    }

    pub(crate) fn seat(&self) -> &'a Seat {
        self.0
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let seat = self.0;
        // SAFETY: this thread uses the seat no more.
        unsafe { Seat::set_current(None) };
        leave(seat);
    }
}

/// Vacates a seat; if there is work for it, its own thread is called.
pub(crate) fn leave(seat: &Seat) {
    let sleepers = seat.registry().sleepers();
    seat.bell.vacate(sleepers);
    if seat.is_wanted() {
        seat.call();
    }
}
