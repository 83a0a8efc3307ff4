//! What may change while a program runs: the affinity mask and the quota.

use super::facts::{within, Quota, Topology};

/// How many CPUs the process may use, at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usable {
    /// CPUs that are online and in the mask, at least 1.
    pub(crate) allowed: usize,
    pub(crate) quota: Option<Quota>,
}

impl Usable {
    /// As it was when `topology` was read.
    pub(crate) fn of(topology: &Topology) -> Usable {
        Usable { allowed: topology.allowed().len().max(1), quota: topology.quota }
    }

    /// Whole CPUs, at least 1.
    pub(crate) fn cpus(self) -> usize {
        within(self.quota, self.allowed)
    }
}

/// Reads both again.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    groups: super::cgroup::Groups,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Watch {
    /// CPUs in the process's mask of this moment: a system call or two.
    pub(crate) fn allowed(topology: &Topology) -> usize {
        let masks = super::masks();
        let mask = masks.process(&topology.cpus);
        topology.allowed_by(Some(mask).filter(|mask| !mask.is_empty())).len().max(1)
    }

    /// The quota of this moment: some small files.
    pub(crate) fn quota(&mut self, _: &Topology) -> Option<Quota> {
        self.groups.quota(&super::tree::Tree::new("/".as_ref()))
    }
}

/// Nothing that changes is known of other systems.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl Watch {
    pub(crate) fn allowed(topology: &Topology) -> usize {
        Usable::of(topology).allowed
    }

    pub(crate) fn quota(&mut self, topology: &Topology) -> Option<Quota> {
        topology.quota
    }
}
