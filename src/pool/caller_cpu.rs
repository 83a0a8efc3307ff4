//! What the workers know of their caller's CPU: hints, for the policies.

use crate::policy::placement;
use crate::sync::{AtomicBool, AtomicU32, Ordering};

#[derive(Debug)]
pub(super) struct CallerCpu {
    /// Its number, and 1, when the caller waited for long, woke somebody or took
    /// the slot of somebody who was up last; 0: unknown.
    number: AtomicU32,
    /// Whether it was shared with others, when the caller looked last.
    shared: AtomicBool,
    /// Where each worker is bound to a CPU: that which is left free for the caller,
    /// and 1. 0: none.
    seat: AtomicU32,
}

// Relaxed, all of it: hints that order nothing. The model, whose runs must not
// depend on the machine, has no CPUs.
impl CallerCpu {
    pub(super) fn new() -> Self {
        let (number, seat) = (AtomicU32::new(0), AtomicU32::new(0));
        CallerCpu { number, shared: AtomicBool::new(false), seat }
    }

    /// Each worker is bound to a CPU, and this one is left free.
    pub(super) fn set_seat(&self, cpu: usize) {
        self.seat.store(u32::try_from(cpu).map_or(0, |cpu| cpu.wrapping_add(1)), Ordering::Relaxed);
    }

    pub(super) fn shared(&self) -> bool {
        self.shared.load(Ordering::Relaxed)
    }

    pub(super) fn set_shared(&self, shared: bool) {
        self.shared.store(shared, Ordering::Relaxed);
    }

    /// Workers are about to compare their CPU with the calling thread's.
    #[cold]
    pub(super) fn note(&self) {
        if !cfg!(loom) {
            let number = crate::sys::current_cpu().map_or(0, |cpu| cpu + 1);
            self.number.store(number, Ordering::Relaxed);
        }
    }

    /// Moves the calling worker off it; whether it has.
    #[cold]
    pub(super) fn leave(&self) -> bool {
        if cfg!(loom) {
            return false;
        }
        let caller = self.number.load(Ordering::Relaxed).checked_sub(1);
        let own = crate::sys::current_cpu().filter(|&own| placement::collides(Some(own), caller));
        own.is_some_and(|own| {
            crate::sys::leave_cpu(own) || self.change_seats(own, crate::sys::pin_to)
        })
    }

    /// A worker that is bound to the CPU which its caller has come to leaves it to
    /// it, and is bound to the one that was left free before.
    fn change_seats(&self, own: u32, pin_to: impl FnOnce(usize) -> bool) -> bool {
        let seat = self.seat.load(Ordering::Relaxed);
        let order = Ordering::Relaxed;
        if seat.checked_sub(1).is_none_or(|cpu| cpu == own)
            || self.seat.compare_exchange(seat, own + 1, order, order).is_err()
        {
            return false;
        }
        let moved = pin_to(seat as usize - 1);
        if !moved {
            self.seat.store(seat, Ordering::Relaxed);
        }
        moved
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_caller_cpu.rs"]
mod tests;
