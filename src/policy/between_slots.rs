//! The policies that are asked between two slots of a worker, as one.

use super::quota::{QuotaShare, QuotaShift};
use super::set::{Policies, Policy};
use super::timeslice::Timeslice;
use super::Absence;
use crate::sync::Instant;
use std::time::Duration;

/// What one worker decides between two slots.
#[derive(Debug)]
pub(crate) struct BetweenSlots {
    timeslice: Option<Timeslice>,
    quota: Option<QuotaShift>,
    /// For the model: away once after each slot.
    #[cfg(loom)]
    pub(crate) always: Option<Absence>,
}

impl BetweenSlots {
    /// For `worker`, where the quota leaves a share to one of them.
    pub(crate) fn new(on: Policies, quota: Option<QuotaShare>, worker: usize) -> Self {
        BetweenSlots {
            timeslice: on.has(Policy::Timeslice).then(Timeslice::new),
            quota: quota.filter(|share| share.feeds(worker)).map(QuotaShift::new),
            #[cfg(loom)]
            always: None,
        }
    }

    /// Whether there may be something to decide. Read after each slot.
    #[inline(always)]
    pub(crate) fn concerned(&self, stalled: bool) -> bool {
        #[cfg(loom)]
        if self.always.is_some() {
            return true;
        }
        stalled || self.quota.is_some() || self.timeslice.as_ref().is_some_and(Timeslice::sharing)
    }

    /// Whether to go away now. `stalled`: a caller has waited long for a slot of
    /// this worker; `caller_shares`: that caller's CPU is shared too;
    /// `run_delay`: how long the thread has wanted a CPU and had none, ever.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        stalled: bool,
        caller_shares: bool,
        run_delay: impl FnOnce() -> Option<Duration>,
    ) -> Option<Absence> {
        #[cfg(loom)]
        if self.always.is_some() {
            return self.always;
        }
        if let Some(absence) = self.quota.as_mut().and_then(|quota| quota.between_slots(now)) {
            return Some(absence);
        }
        let timeslice = self.timeslice.as_mut()?;
        if stalled {
            timeslice.stalled(now, run_delay()?, caller_shares);
        }
        timeslice.between_slots(now, caller_shares)
    }

    /// The worker is back from an absence that began at `left`.
    pub(crate) fn returned(&mut self, left: Instant, now: Instant) {
        if let Some(quota) = &mut self.quota {
            quota.returned(left, now);
        }
        if let Some(timeslice) = &mut self.timeslice {
            timeslice.returned(now);
        }
    }

    /// The worker has another CPU: what it lacked on the old one says nothing.
    pub(crate) fn moved(&mut self) {
        self.timeslice = self.timeslice.take().map(|_| Timeslice::new());
    }

    /// The worker has slept for want of regions.
    pub(crate) fn slept(&mut self) {
        if let Some(quota) = &mut self.quota {
            quota.slept();
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/policy_between_slots.rs"]
mod tests;
