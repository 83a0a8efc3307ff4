//! What of this machine a pool may use: topology, settings of the environment
//! and the builder's wishes brought together, once per pool. Knows no pool.

use crate::config::{self, Setting};
use crate::partition::Weights;
use crate::policy::Policies;
use crate::sync::{Instant, Mutex};
use crate::topology::{
    caller_has, note_unbound_worker, CpuSet, Quota, Settings, Topology, Usable, Watch, Width,
};
use log::Level;
use std::time::Duration;

/// How long a reading of the quota is good for: a new one acts by periods of 100 ms
/// (MEASUREMENTS, "mask and quota").
const QUOTA_IS_GOOD_FOR: Duration = Duration::from_millis(100);

/// What there is to log of a build, kept until it is through: a logger is foreign
/// code, which may take locks and use pools.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<(Level, String)>);

impl Notes {
    pub(crate) fn add(&mut self, level: Level, text: String) {
        self.0.push((level, text));
    }

    pub(crate) fn log(self) {
        self.0.into_iter().for_each(|(level, text)| log::log!(level, "{text}"));
    }
}

/// How wide a pool is, and where its workers go.
#[derive(Debug)]
pub(crate) struct Plan {
    topology: Topology,
    pub(crate) width: Width,
    /// `None`: the facts were given, and stay as they are.
    system: Option<Mutex<System>>,
}

/// What the system says again and again.
#[derive(Debug)]
struct System {
    watch: Watch,
    quota: Option<Quota>,
    read: Instant,
}

/// Where a worker may run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The process's mask: the worker may have inherited another one from a
    /// pinned creator. Empty: nothing to take.
    process: Vec<usize>,
    /// Of all CPUs, or those of one kind where its slot is sized for them, or
    /// one. Empty: wherever the process may.
    own: Vec<usize>,
    /// Whether the mask is one that the system told.
    real: bool,
}

impl Plan {
    /// For `asked` threads; 0 asks the environment, then the machine. The
    /// machine is the one that is `given`, or else this one; not more than
    /// `most` threads.
    pub(crate) fn new(
        asked: usize,
        most: usize,
        given: Option<Topology>,
        notes: &mut Notes,
    ) -> Self {
        let settings = match asked {
            0 => config::gemv_threads(config::env)
                .map_or_else(Settings::default, |set| clamped(set, most, notes)),
            _ => Settings { threads: Some(asked), source: "the program".into() },
        };
        let real = given.is_none();
        let topology = given.unwrap_or_else(Topology::detect);
        let mut width = Width::new(&topology, &settings);
        width.threads = width.threads.min(most);
        let system =
            || System { watch: Watch::default(), quota: topology.quota, read: Instant::now() };
        let system = real.then(|| Mutex::new(system()));
        Plan { topology, width, system }
    }

    /// Hands on what CPUs the process may use now: its mask is read again by each
    /// call, its quota seldom. Nothing where the facts were given, or where another
    /// thread does this for longer than `patience` (or did when this process was
    /// forked off). One at a time, so that nobody acts on an older reading later.
    ///
    /// Some system calls (MEASUREMENTS, "mask and quota"); allocates.
    pub(crate) fn usable_now(&self, patience: Duration, then: &mut dyn FnMut(Usable)) {
        let Some(system) = &self.system else { return };
        let Some(mut system) = system.try_lock_for(patience) else { return };
        let system = &mut *system;
        let now = Instant::now();
        if now.saturating_duration_since(system.read) >= QUOTA_IS_GOOD_FOR {
            system.read = now;
            system.quota = system.watch.quota(&self.topology);
        }
        then(Usable { allowed: Watch::allowed(&self.topology), quota: system.quota });
    }

    /// As it was when the plan was made.
    pub(crate) fn usable_at_first(&self) -> Usable {
        Usable::of(&self.topology)
    }

    /// Sizes of the slots, if the CPUs differ and workers can be kept on theirs.
    pub(crate) fn weights(&self) -> Option<Weights> {
        if !crate::sys::BINDS_TO_SETS {
            return None;
        }
        // Of those that share the CPUs: slots above these are not active.
        let active = self.width.threads.min(self.usable_at_first().cpus());
        let mut weights = self.width.weights(active)?;
        weights.resize(self.width.threads, *weights.last()?);
        Some(Weights::new(&weights))
    }

    /// The CPU that is left to the caller where all others' workers are bound.
    pub(crate) fn seat(&self, pin: bool) -> Option<usize> {
        self.width.cpus.first().copied().filter(|_| pin && self.system.is_some())
    }

    /// Where the worker of `slot` goes: `pin` binds it to a CPU; otherwise it
    /// is kept to a kind of CPU only where slots are `weighted`.
    pub(crate) fn binding(&self, slot: usize, pin: bool, weighted: bool) -> Binding {
        let capacity =
            |id| self.topology.cpus.iter().find(|cpu| cpu.id == id).map(|cpu| cpu.capacity);
        let own = match self.width.cpus.get(slot).filter(|_| weighted) {
            _ if pin => Vec::from_iter(self.width.pin(slot)),
            Some(&own) => {
                let mut kind = self.width.cpus.clone();
                kind.retain(|&id| capacity(id) == capacity(own));
                kind
            }
            None => Vec::new(),
        };
        // Who has inherited the process's mask keeps it: the process may get another
        // one before the worker runs.
        let inherits = |mask: &&CpuSet| self.system.is_some() && caller_has(mask);
        let mask = self.topology.mask.iter().filter(|_| crate::sys::BINDS_TO_SETS);
        let mask = mask.filter(|mask| !inherits(mask));
        let process = mask.flat_map(|mask| mask.iter()).collect();
        Binding { process, own, real: self.system.is_some() }
    }
}

impl Binding {
    /// Binds the calling worker; goes on unbound where that fails.
    pub(crate) fn apply(&self, slot: usize) {
        if !self.process.is_empty() {
            // Failure leaves the inherited mask, with which we can live.
            crate::sys::bind_to(&self.process);
        }
        let bound = match self.own[..] {
            [] if self.real => return note_unbound_worker(),
            [] => true,
            [cpu] => crate::sys::pin_to(cpu),
            _ => crate::sys::bind_to(&self.own),
        };
        if !bound {
            log::debug!("rowpool: worker {slot} could not be bound: {self:?}");
        }
    }
}

fn clamped(set: Setting, most: usize, notes: &mut Notes) -> Settings {
    if set.threads > most {
        let text = format!("rowpool: {}={} is clamped to {most}", set.name, set.threads);
        notes.add(Level::Warn, text);
    }
    Settings { threads: Some(set.threads.min(most)), source: set.name.into() }
}

/// The policies that the environment leaves on.
pub(crate) fn policies(notes: &mut Notes) -> Policies {
    config::policies(config::env, |name| {
        notes.add(Level::Warn, format!("rowpool: ROWPOOL_WITHOUT={name}: no such policy"));
    })
}
