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
//! | [`placement`] | whether a worker leaves its caller's CPU | between two slots, after a sleep, after a lost claim |
//! | [`oversubscription`] | whether a waiting worker offers its CPU to another pool | in a window |

#![cfg_attr(loom, allow(dead_code, reason = "the model waits without time"))]

mod between_slots;
#[cfg_attr(loom, path = "../../tests/loom/oversubscription.rs")]
pub(crate) mod oversubscription;
pub(crate) mod placement;
pub(crate) mod quota;
mod set;
pub(crate) mod spin;
pub(crate) mod timeslice;
pub(crate) mod wake;

pub(crate) use between_slots::BetweenSlots;
pub(crate) use set::Policies;
pub use set::Policy;

/// A worker is to go away between two slots, and to come back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    pub(crate) time: std::time::Duration,
    /// The width that regions have meanwhile, where it is to be narrower.
    pub(crate) width: Option<usize>,
}
