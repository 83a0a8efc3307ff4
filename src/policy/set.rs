//! Which policies there are, and which are on.

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
    /// `placement`: a late worker that the scheduler has put on its caller's
    /// CPU moves to another. Without it, the two take turns until the scheduler
    /// parts them.
    Placement,
    /// `oversubscription`: workers of a pool that waits offer their CPU to the
    /// pool whose region is open. Without it, they spin.
    Oversubscription,
}

impl Policy {
    /// All of them, with the names that `ROWPOOL_WITHOUT` takes.
    const ALL: [(Policy, &'static str); 6] = [
        (Policy::Wake, "wake"),
        (Policy::Spin, "spin"),
        (Policy::Quota, "quota"),
        (Policy::Timeslice, "timeslice"),
        (Policy::Placement, "placement"),
        (Policy::Oversubscription, "oversubscription"),
    ];
}

/// Which policies are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policies(u8);

impl Policies {
    pub(crate) const ALL: Policies = Policies(u8::MAX);
    #[cfg(test)]
    pub(crate) const NONE: Policies = Policies(0);

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

#[cfg(test)]
#[path = "../../tests/unit/policy_set.rs"]
mod tests;
