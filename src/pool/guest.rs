//! Work of another kind for a pool's workers: what they do while no region is
//! open. The package `compat/rayon-core` is the one guest there is, so that its
//! tasks and this pool's regions are run by one team.
//!
//! To a region, a worker that works for the guest is away (W6): the caller runs
//! its slot at once. To the guest, a worker in a slot has stopped looking.

use crate::sync::{Ordering, StaticPtr};

/// Who has work for workers between regions. All but `pending` is called by the
/// worker of that slot alone, on its own thread, `work` outside of all regions.
#[doc(hidden)]
pub trait Guest: Sync {
    /// Whether there is work for this worker: asked at each look at the gate.
    fn look(&self, slot: usize) -> bool;
    /// Does it; must not unwind.
    fn work(&self, slot: usize);
    /// This worker turns to a region; false if there is work to be done first.
    fn stop_looking(&self, slot: usize) -> bool;
    /// This worker is about to park (before P1).
    fn park(&self, slot: usize);
    /// Whether there is work after all (P3).
    fn pending(&self, slot: usize) -> bool;
    /// This worker is up again.
    fn rise(&self, slot: usize);
}

/// A team's guest, if there is one.
#[derive(Debug, Default)]
pub(super) struct GuestSlot(StaticPtr<&'static dyn Guest>);

impl GuestSlot {
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&'static dyn Guest> {
        // Acquire, from `host`: the guest is there.
        let guest = self.0.load(Ordering::Acquire);
        // SAFETY: null, or a leaked box.
        unsafe { guest.as_ref() }.copied()
    }

    /// Lets a guest in; false if there is another.
    pub(super) fn host(&self, guest: &'static dyn Guest) -> bool {
        if self.get().is_none() {
            let new = Box::into_raw(Box::new(guest));
            // Release, to `get`; Relaxed: nothing is read.
            let order = (Ordering::Release, Ordering::Relaxed);
            // Who comes second leaves a box: that is once per process at most.
            let _ = self.0.compare_exchange(std::ptr::null_mut(), new, order.0, order.1);
        }
        self.get().is_some_and(|first| std::ptr::addr_eq(first, guest))
    }
}
