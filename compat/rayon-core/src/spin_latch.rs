//! A latch that a worker waits for while it does other work.

use crate::latch::{Flag, Latch};
use crate::registry::Registry;
use crate::seat::Seat;

pub(crate) struct SpinLatch {
    flag: Flag,
    registry: *const Registry,
    index: usize,
    /// It is set by a worker of another pool, who must keep this one alive.
    across: bool,
}

impl SpinLatch {
    #[inline]
    pub(crate) fn new(seat: &Seat) -> Self {
        SpinLatch { flag: Flag::new(), registry: seat.registry(), index: seat.index, across: false }
    }

    pub(crate) fn across(seat: &Seat) -> Self {
        SpinLatch { across: true, ..SpinLatch::new(seat) }
    }

    #[inline]
    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }
}

impl Latch for SpinLatch {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive until the flag is set, so all is read
        // before. The registry is alive until then since the waiter is its
        // worker; afterwards because the setter is its worker too, or has a
        // share of it.
        unsafe {
            let (registry, index) = (&*(*this).registry, (*this).index);
            let share = (*this).across.then(|| registry.share());
            if Flag::set(&raw const (*this).flag) {
                registry.seat(index).notify();
            }
            drop(share);
        }
    }
}
