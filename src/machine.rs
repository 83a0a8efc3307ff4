//! What of this machine a pool may use: topology, settings of the environment
//! and the builder's wishes brought together, once per pool.

use crate::config::{self, Setting};
use crate::partition::Weights;
use crate::policy::quota::QuotaShare;
use crate::policy::spin::SpinWindow;
use crate::policy::Policies;
use crate::pool::{Notes, MAX_WIDTH};
use crate::topology::{allowed_cpus_now, within_quota, Settings, Topology, Width};

/// How wide a pool is, and where its workers go.
#[derive(Debug)]
pub(crate) struct Plan {
    topology: Topology,
    pub(crate) width: Width,
}

/// Where a worker may run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Wherever the process may.
    Free,
    /// On this CPU.
    Cpu(usize),
    /// On these CPUs, all of one kind: its slot is sized for them.
    Kind(Vec<usize>),
}

impl Plan {
    /// For `asked` threads; 0 asks the environment, then the machine.
    pub(crate) fn new(asked: usize, notes: &mut Notes) -> Self {
        let settings = match asked {
            0 => config::gemv_threads(config::env)
                .map_or_else(Settings::default, |set| clamped(set, notes)),
            _ => Settings { threads: Some(asked), source: "the program".into() },
        };
        let topology = Topology::detect();
        let mut width = Width::new(&topology, &settings);
        width.threads = width.threads.min(MAX_WIDTH);
        Plan { topology, width }
    }

    /// CPUs that the process may use now: its mask, and the quota of its
    /// container as it was when the pool was built.
    pub(crate) fn usable_cpus(&self) -> usize {
        self.within_quota(self.allowed_cpus())
    }

    /// CPUs in the process's mask now.
    pub(crate) fn allowed_cpus(&self) -> usize {
        allowed_cpus_now(&self.topology)
    }

    /// How many of so many CPUs the quota leaves.
    pub(crate) fn within_quota(&self, allowed: usize) -> usize {
        within_quota(&self.topology, allowed)
    }

    /// What the quota of the container leaves beyond whole CPUs.
    pub(crate) fn quota_share(&self) -> Option<QuotaShare> {
        self.topology.quota.and_then(QuotaShare::new)
    }

    /// Sizes of the slots, if the CPUs differ and workers can be kept on theirs.
    pub(crate) fn weights(&self) -> Option<Weights> {
        if !crate::sys::BINDS_TO_SETS {
            return None;
        }
        // Of those that share the CPUs: slots above these are not active.
        let active = self.width.threads.min(self.usable_cpus());
        let mut weights = self.width.weights(active)?;
        weights.resize(self.width.threads, *weights.last()?);
        Some(Weights::new(&weights))
    }

    /// Where the worker of `slot` goes: `pin` binds it to a CPU; otherwise it
    /// is kept to a kind of CPU only where slots are `weighted`.
    pub(crate) fn binding(&self, slot: usize, pin: bool, weighted: bool) -> Binding {
        if pin {
            return self.width.pin(slot).map_or(Binding::Free, Binding::Cpu);
        }
        let Some(&own) = self.width.cpus.get(slot).filter(|_| weighted) else {
            return Binding::Free;
        };
        let capacity =
            |id| self.topology.cpus.iter().find(|cpu| cpu.id == id).map(|cpu| cpu.capacity);
        let mut kind = self.width.cpus.clone();
        kind.retain(|&id| capacity(id) == capacity(own));
        Binding::Kind(kind)
    }
}

impl Binding {
    /// Binds the calling worker; goes on unbound where that fails.
    pub(crate) fn apply(&self, slot: usize) {
        let bound = match self {
            Binding::Free => return crate::sys::note_unbound_worker(),
            Binding::Cpu(cpu) => crate::sys::pin_to(*cpu),
            Binding::Kind(cpus) => crate::sys::bind_to(cpus),
        };
        if !bound {
            log::debug!("rowpool: worker {slot} could not be bound: {self:?}");
        }
    }
}

fn clamped(set: Setting, notes: &mut Notes) -> Settings {
    if set.threads > MAX_WIDTH {
        let text = format!("rowpool: {}={} is clamped to {MAX_WIDTH}", set.name, set.threads);
        notes.add(log::Level::Warn, text);
    }
    Settings { threads: Some(set.threads.min(MAX_WIDTH)), source: set.name.into() }
}

/// Whether workers are bound where the program has not said.
pub(crate) fn pin_by_default() -> bool {
    config::pin(config::env)
}

/// The spin window where the program has not said.
pub(crate) fn spin_window() -> SpinWindow {
    config::spin_window(config::env).map_or(SpinWindow::DEFAULT, SpinWindow::fixed)
}

/// Whether callers keep their scheduling class where the program has not said.
pub(crate) fn keep_caller_qos() -> bool {
    config::keep_caller_qos(config::env)
}

/// The policies that the environment leaves on.
pub(crate) fn policies(notes: &mut Notes) -> Policies {
    config::policies(config::env, |name| {
        notes.add(log::Level::Warn, format!("rowpool: ROWPOOL_WITHOUT={name}: no such policy"));
    })
}
