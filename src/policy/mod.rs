//! Decisions of a pool, one file each: plain data that decides from facts
//! handed to it (time, counts, what the system says) and knows nothing of the
//! fork protocol. Each meets the protocol at a named point and can be switched
//! off; a pool is right without any of them.
//!
//! | policy | decides | asked |
//! |---|---|---|
//! | [`wake`] | whether sleepers are worth waking | before a region that finds some |
//! | [`spin`] | how long a worker looks before it parks | after a vain window |
//! | [`quota`] | when a worker works that the quota feeds in part | between two slots |
//! | [`timeslice`] | when a worker whose CPU is shared gives it away | between two slots |
//! | [`oversubscription`] | whether a waiting worker offers its CPU to another pool | in a window |

#![cfg_attr(loom, allow(dead_code, reason = "the model waits without time"))]

pub(crate) mod oversubscription;
pub(crate) mod quota;
pub(crate) mod spin;
pub(crate) mod timeslice;
pub(crate) mod wake;

use crate::sync::Instant;
use quota::{QuotaShare, QuotaShift};
use std::time::Duration;
use timeslice::Timeslice;

/// A decision that a pool makes by itself and that can be switched off, by
/// [`PoolBuilder::without`](crate::PoolBuilder::without) or
/// `ROWPOOL_WITHOUT`: for who hunts a fault or measures what it gains.
///
/// ```
/// use rowpool::{Policy, Pool};
/// let pool = Pool::builder().width(2).without(Policy::Timeslice).build()?;
/// # Ok::<(), rowpool::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// `wake`: sleepers are woken when they have cost what a wake costs.
    /// Without it, by every region that finds some.
    Wake,
    /// `spin`: the default spin window gets shorter where nothing comes within
    /// it. Without it, it is always whole.
    Spin,
    /// `quota`: of a CPU quota that is no whole number, one worker uses up the
    /// fraction. Without it, that is left.
    Quota,
    /// `timeslice`: a worker that shares its CPU with a busy neighbour gives it
    /// away between two slots. Without it, the kernel takes it inside of slots.
    Timeslice,
    /// `oversubscription`: workers of a pool that waits offer their CPU to the
    /// pool whose region is open. Without it, they spin.
    Oversubscription,
}

impl Policy {
    /// All of them, with the names that `ROWPOOL_WITHOUT` takes.
    const ALL: [(Policy, &'static str); 5] = [
        (Policy::Wake, "wake"),
        (Policy::Spin, "spin"),
        (Policy::Quota, "quota"),
        (Policy::Timeslice, "timeslice"),
        (Policy::Oversubscription, "oversubscription"),
    ];
}

/// Which policies are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policies(u8);

impl Policies {
    pub(crate) const ALL: Policies = Policies(u8::MAX);

    pub(crate) fn without(self, policy: Policy) -> Policies {
        Policies(self.0 & !(1 << policy as u8))
    }

    /// Without those of a list of names; unknown ones are handed to `unknown`.
    pub(crate) fn without_named(self, names: &str, mut unknown: impl FnMut(&str)) -> Policies {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.fold(self, |on, name| match Policy::ALL.iter().find(|known| known.1 == name) {
            Some(known) => on.without(known.0),
            None => {
                unknown(name);
                on
            }
        })
    }

    #[inline(always)]
    pub(crate) fn has(self, policy: Policy) -> bool {
        self.0 & 1 << policy as u8 != 0
    }
}

/// A worker is to go away between two slots, and to come back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    pub(crate) time: Duration,
    /// The width that regions have meanwhile, where it is to be narrower.
    pub(crate) width: Option<usize>,
}

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

    /// The worker has slept for want of regions.
    pub(crate) fn slept(&mut self) {
        if let Some(quota) = &mut self.quota {
            quota.slept();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn policies_go_by_name() {
        let unknown = std::cell::RefCell::new(Vec::new());
        let note = |name: &str| unknown.borrow_mut().push(name.to_owned());
        let on = Policies::ALL.without_named(" timeslice,,nap , wake", note);
        let off: Vec<_> = Policy::ALL.iter().filter(|known| !on.has(known.0)).collect();
        assert_eq!(off, [&(Policy::Wake, "wake"), &(Policy::Timeslice, "timeslice")]);
        assert_eq!(unknown.into_inner(), ["nap"]);
        assert_eq!(Policies::ALL.without_named("", |_| ()), Policies::ALL);
    }

    #[test]
    fn who_has_no_policy_goes_nowhere() {
        let mut none = BetweenSlots::new(Policies(0), None, 0);
        assert!(!none.concerned(false));
        assert_eq!(none.decide(Instant::now(), true, false, || unreachable!()), None);
    }
}
