//! The model's way to wait between two looks: loom knows no time. A window of zero
//! parks after the first failed look, any other spins for ever.

use crate::policy::oversubscription::Oversubscription;
use crate::policy::spin::SpinWindow;

#[derive(Clone, Copy, Debug)]
pub(super) struct Relax;

impl Relax {
    pub(super) fn measured() -> Self {
        Relax
    }

    pub(super) fn relax(self) {
        crate::sync::spin_loop();
    }
}

#[derive(Debug)]
pub(super) struct WorkerBackoff(SpinWindow);

impl WorkerBackoff {
    pub(super) fn new(window: SpinWindow) -> Self {
        WorkerBackoff(window)
    }
    pub(super) fn reset(&mut self) {}
    pub(super) fn woken(&mut self) {}
    pub(super) fn step(&mut self, _: &Oversubscription, _: impl Fn() -> bool) -> bool {
        if self.0.is_zero() {
            return true;
        }
        crate::sync::yield_now();
        false
    }
}

#[derive(Debug)]
pub(super) struct JoinBackoff;

impl JoinBackoff {
    pub(super) fn new() -> Self {
        JoinBackoff
    }
    pub(super) fn step(&mut self) -> bool {
        crate::sync::yield_now();
        false
    }
}
