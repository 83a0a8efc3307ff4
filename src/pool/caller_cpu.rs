//! What the workers know of their caller's CPU: hints, for the policies.

use crate::policy::placement;
use crate::sync::{AtomicBool, AtomicU32, Ordering};

#[derive(Debug)]
pub(super) struct CallerCpu {
    /// Its number, and 1, when the caller waited for long or woke somebody last;
    /// 0: unknown.
    number: AtomicU32,
    /// Whether it was shared with others, when the caller looked last.
    shared: AtomicBool,
}

// Relaxed, all of it: hints that order nothing. The model, whose runs must not
// depend on the machine, has no CPUs.
impl CallerCpu {
    pub(super) fn new() -> Self {
        CallerCpu { number: AtomicU32::new(0), shared: AtomicBool::new(false) }
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
        own.is_some_and(crate::sys::leave_cpu)
    }
}
