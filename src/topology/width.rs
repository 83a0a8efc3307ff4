//! The width rule: facts and settings in, width and reason out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use super::facts::{within, CoreKind, Cpu, Topology, FULL_CAPACITY};
use super::reason::Reason;

/// Capacities within this share (1/32) of the largest are taken as equal: they
/// tell the bins of one kind of core apart (997 to 1024 on a GB10), whose clocks
/// meet once all of them work.
const EQUAL_WITHIN: u32 = 32;

/// What the user asked for.
///
/// ```
/// use rowpool::topology::Settings;
/// let settings = Settings { threads: Some(4), source: "ROWPOOL_NUM_THREADS".into() };
/// assert_eq!(Settings::default().threads, None);
/// # let _ = settings;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Number of threads, the caller included; `None` or 0: choose one.
    pub threads: Option<usize>,
    /// Where the number comes from, for the reason; unused without one.
    pub source: String,
}

/// How wide a pool should be, where, and why.
///
/// ```
/// use rowpool::topology::{Settings, Topology, Width};
/// let width = Width::new(&Topology::detect(), &Settings::default());
/// assert!(width.threads >= 1);
/// println!("{}", width.reason); // 8 of 20 CPUs: performance cores by cpu_core; no quota
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Width {
    /// Threads, the caller included; at least 1. More than `cpus.len()` only
    /// where a setting asks for more CPUs than the process may use.
    pub threads: usize,
    /// The CPUs to use, in the order in which slots should take them: one CPU of
    /// each performance core, then of each other core, then their further
    /// siblings; within each of these round the clusters (last-level caches), the
    /// fastest CPU of each first. The first is the caller's, which is never bound
    /// to it: the one that it is bound to already ([`Topology::caller`]), if any.
    pub cpus: Vec<usize>,
    /// Relative capacity of each of `cpus`, from 1 to
    /// [`FULL_CAPACITY`]: that of its core, divided among
    /// those of `cpus` that share the core.
    pub capacities: Vec<u32>,
    /// Why.
    pub reason: Reason,
    cores: Vec<(usize, u32)>,
    bindable: usize,
}

impl Width {
    /// Applies the rule. A number in the settings beats all else and may
    /// exceed the CPUs; else one thread for each physical performance core
    /// that the process may use, at most the whole CPUs of the quota.
    ///
    /// ```
    /// use rowpool::topology::{Settings, Topology, Width};
    /// let topology = Topology::detect();
    /// let five = Settings { threads: Some(5), source: "--threads".into() };
    /// assert_eq!(Width::new(&topology, &five).threads, 5);
    /// ```
    pub fn new(topology: &Topology, settings: &Settings) -> Width {
        let (fast, mask_has_fast) = candidates(topology);
        let physical = distinct_cores(&fast);
        let (threads, reason) = match settings.threads.filter(|&threads| threads > 0) {
            Some(threads) => (
                threads,
                Reason::Setting {
                    threads,
                    source: settings.source.clone(),
                    usable: topology.usable(),
                },
            ),
            None => {
                let threads = within(topology.quota, physical);
                (threads, Reason::of_rule(topology, threads, physical, mask_has_fast))
            }
        };
        let mut chosen = order(topology);
        chosen.truncate(threads);
        let cores: Vec<(usize, u32)> = chosen.iter().map(|cpu| (cpu.core, cpu.capacity)).collect();
        Width {
            threads,
            cpus: chosen.iter().map(|cpu| cpu.id).collect(),
            capacities: shared(&cores),
            reason,
            cores,
            bindable: topology.bindable,
        }
    }

    /// Weights for the first `active` slots (at most one for each of `cpus`),
    /// where their kinds of CPU differ; `None` where slots should be equal
    /// (within 1/32 of each other). Meant for workers that are kept to CPUs of
    /// their slot's capacity: elsewhere any slot may run on the slow one.
    ///
    /// All slots of one kind weigh the same, also where only some of its cores
    /// run two threads: which thread is alone on its core is then up to the
    /// system.
    ///
    /// ```
    /// use rowpool::topology::{Settings, Topology, Width};
    /// let width = Width::new(&Topology::detect(), &Settings::default());
    /// if let Some(weights) = width.weights(width.threads) {
    ///     assert_eq!(weights.len(), width.threads);
    /// }
    /// ```
    pub fn weights(&self, active: usize) -> Option<Vec<u32>> {
        let cores = &self.cores[..active.min(self.cores.len())];
        // Sum and number of each kind's shares; kinds are told by capacity.
        let mut kinds: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (&(_, kind), share) in cores.iter().zip(shared(cores)) {
            let (sum, count) = kinds.entry(kind).or_insert((0, 0));
            *sum += u64::from(share);
            *count += 1;
        }
        // A mean of capacities is one: at least 1, and no u32 overflows.
        let mean = |kind: u32| (kinds[&kind].0 / kinds[&kind].1) as u32;
        let weights: Vec<u32> = cores.iter().map(|&(_, kind)| mean(kind)).collect();
        let (low, high) = (*weights.iter().min()?, *weights.iter().max()?);
        (high - low > high / EQUAL_WITHIN).then_some(weights)
    }

    /// The CPU to bind the worker of a slot to. `None`: leave it unbound. That
    /// is slot 0 (the caller), slots above the CPUs, ids that the system's
    /// call cannot take, and every slot on macOS.
    pub(crate) fn pin(&self, slot: usize) -> Option<usize> {
        let cpu = self.cpus.get(slot).copied();
        cpu.filter(|&id| slot > 0 && id < self.bindable)
    }
}

/// The CPUs in the mask, each once, ascending: facts that a program gives may
/// come in any order.
fn usable(topology: &Topology) -> Vec<&Cpu> {
    let allowed = topology.allowed();
    let mut cpus: Vec<&Cpu> = topology.cpus.iter().filter(|cpu| allowed.contains(cpu.id)).collect();
    cpus.sort_by_key(|cpu| cpu.id);
    cpus.dedup_by_key(|cpu| cpu.id);
    cpus
}

/// The performance cores' CPUs in the mask, and `true`; where there is none,
/// all CPUs in the mask, and `false`.
fn candidates(topology: &Topology) -> (Vec<&Cpu>, bool) {
    let (fast, slow): (Vec<&Cpu>, Vec<&Cpu>) =
        usable(topology).into_iter().partition(|cpu| cpu.kind == CoreKind::Performance);
    match fast.is_empty() {
        true => (slow, false),
        false => (fast, true),
    }
}

fn distinct_cores(cpus: &[&Cpu]) -> usize {
    let mut cores: Vec<usize> = cpus.iter().map(|cpu| cpu.core).collect();
    cores.sort_unstable();
    cores.dedup();
    cores.len()
}

fn order(topology: &Topology) -> Vec<&Cpu> {
    let mut usable = usable(topology);
    // Sorts are stable. Here, so that its siblings come after the caller's CPU.
    let not_the_callers = |cpu: &&Cpu| Some(cpu.id) != topology.caller;
    usable.sort_by_key(not_the_callers);
    // Siblings before a CPU on its core, then kind.
    let mut tiers: BTreeMap<(usize, bool), Vec<&Cpu>> = BTreeMap::new();
    let mut siblings: BTreeMap<usize, usize> = BTreeMap::new();
    for cpu in usable {
        let before = siblings.entry(cpu.core).or_insert(0);
        let slow = cpu.kind == CoreKind::Efficiency;
        tiers.entry((*before, slow)).or_default().push(cpu);
        *before += 1;
    }
    let mut order: Vec<&Cpu> = tiers.into_values().flat_map(round_the_clusters).collect();
    order.sort_by_key(not_the_callers);
    order
}

/// One CPU of each cluster in turn until all are taken.
fn round_the_clusters(mut tier: Vec<&Cpu>) -> Vec<&Cpu> {
    tier.sort_by_key(|cpu| (Reverse(cpu.capacity), cpu.id));
    // Clusters in the order of their best CPU.
    let mut position: BTreeMap<usize, usize> = BTreeMap::new();
    let mut clusters: Vec<VecDeque<&Cpu>> = Vec::new();
    for cpu in tier {
        let at = *position.entry(cpu.cluster).or_insert(clusters.len());
        match clusters.get_mut(at) {
            Some(cluster) => cluster.push_back(cpu),
            None => clusters.push(VecDeque::from([cpu])),
        }
    }
    let mut order = Vec::new();
    while !clusters.is_empty() {
        order.extend(clusters.iter_mut().filter_map(VecDeque::pop_front));
        clusters.retain(|cluster| !cluster.is_empty());
    }
    order
}

/// Capacities of (core, capacity) pairs, each divided among the pairs of its
/// core: what SMT adds to a core that multiplies all the time is small.
fn shared(cores: &[(usize, u32)]) -> Vec<u32> {
    let mut sharers: BTreeMap<usize, u32> = BTreeMap::new();
    for (core, _) in cores {
        *sharers.entry(*core).or_insert(0) += 1;
    }
    cores
        .iter()
        .map(|(core, capacity)| (capacity / sharers[core]).clamp(1, FULL_CAPACITY))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins(topology: &Topology, slots: usize) -> Vec<Option<usize>> {
        let settings = Settings { threads: Some(slots), source: String::new() };
        let width = Width::new(topology, &settings);
        (0..slots).map(|slot| width.pin(slot)).collect()
    }

    /// S26, S28: the caller is never bound, nor a slot to an id that aborts.
    #[test]
    fn what_may_be_bound() {
        let mut topology = Topology::new(3);
        assert_eq!(pins(&topology, 5), [None, Some(1), Some(2), None, None]);
        topology.cpus = (1022..1026).map(Cpu::new).collect();
        topology.bindable = 1024;
        assert_eq!(pins(&topology, 4), [None, Some(1023), None, None]);
    }

    /// Nobody is bound where the caller is, nor to its core while others are left.
    #[test]
    fn a_bound_caller_keeps_its_cpu() {
        let mut topology = Topology::new(8);
        for cpu in &mut topology.cpus {
            cpu.core = cpu.id / 2;
        }
        topology.bindable = 64;
        topology.caller = Some(5);
        let some = |ids: &[usize]| ids.iter().map(|&id| Some(id)).collect::<Vec<_>>();
        assert_eq!(pins(&topology, 8)[1..], some(&[0, 2, 6, 1, 3, 4, 7]));
        assert_eq!(pins(&topology, 2)[1..], some(&[0]));
        topology.caller = Some(99);
        assert_eq!(pins(&topology, 4)[1..], some(&[2, 4, 6]));
        topology.caller = Some(5);
        topology.mask = Some([0, 1, 2].into_iter().collect());
        assert_eq!(pins(&topology, 3)[1..], some(&[2, 1]), "outside of the mask: as if free");
    }
}
