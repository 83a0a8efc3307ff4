//! Reads a Linux or Android system: `sys/` and `proc/` below a root.
//!
//! Only files are read, so this compiles, and is tested, on every system. CPU
//! counts never come from `/proc/cpuinfo`, which containers do not confine.

use std::collections::BTreeMap;
use std::path::Path;

use super::affinity::Masks;
use super::cgroup::Groups;
use super::cpuset::CpuSet;
use super::facts::{Cpu, Rule, Topology, LINUX_BINDABLE};
use super::kinds::Kinds;
use super::parse;
use super::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// A cache of this level or above makes a cluster; level 1 is private.
const MIN_CLUSTER_LEVEL: u64 = 2;

/// Reads the system below `root`; `masks` and `available_parallelism` are what a
/// running system says beside its files. Whatever is missing or unreadable is
/// done without; with nothing readable at all there is one CPU.
pub(crate) fn read(root: &Path, masks: &Masks, parallelism: Option<usize>) -> Topology {
    let tree = Tree::new(root);
    let written = || parse::status_mask(&tree.text("proc/self/status")?);
    let mask = |cpus: &[Cpu]| {
        let live = Some(masks.process(cpus).clone()).filter(|mask| !mask.is_empty());
        live.or_else(written)
    };
    // Without sysfs the mask is all that is known of the CPUs.
    let online = online(&tree).or_else(|| mask(&[]));
    let mut topology = match (online, parallelism) {
        (Some(online), _) => describe(&tree, &online),
        (None, Some(count)) => Topology::equal(count, Rule::Parallelism, LINUX_BINDABLE),
        (None, None) => Topology::equal(1, Rule::Nothing, LINUX_BINDABLE),
    };
    topology.mask = mask(&topology.cpus);
    topology.caller = topology.mask.as_ref().and_then(|mask| masks.bound(mask, &topology.cpus));
    topology.quota = Groups::default().quota(&tree);
    topology
}

/// The CPUs that are online; `None` where that cannot be read.
fn online(tree: &Tree<'_>) -> Option<CpuSet> {
    let listed = tree.text(&format!("{CPUS}/online"));
    let online = listed.map(|text| parse::cpu_list(&text)).unwrap_or_default();
    if !online.is_empty() {
        return Some(online);
    }
    // Old kernels have no list, and no `online` for CPUs that cannot go off.
    let online: CpuSet = tree
        .numbered(CPUS, "cpu")
        .into_iter()
        .filter(|id| tree.number(&format!("{CPUS}/cpu{id}/online")) != Some(0))
        .collect();
    (!online.is_empty()).then_some(online)
}

fn describe(tree: &Tree<'_>, online: &CpuSet) -> Topology {
    let mut cpus: Vec<Cpu> = online.iter().map(Cpu::new).collect();
    let kinds = kinds(tree, online);
    kinds.apply(&mut cpus);
    cores(tree, online, &mut cpus);
    nodes(tree, &mut cpus);
    clusters(tree, online, &mut cpus);
    Topology::of(cpus, kinds.rule, LINUX_BINDABLE)
}

/// Applies the rules in their order; reads only what the next one needs, since
/// `highest_perf` may cost a call into the firmware for each CPU.
fn kinds(tree: &Tree<'_>, online: &CpuSet) -> Kinds {
    let list = |path: &str| tree.text(path).map(|text| parse::cpu_list(&text));
    if let (Some(p_cores), Some(_)) =
        (list("sys/devices/cpu_core/cpus"), list("sys/devices/cpu_atom/cpus"))
    {
        let figures = by_capacity(tree, online).or_else(|| by_highest_perf(tree, online));
        if let Some(kinds) = Kinds::by_name(&p_cores, online, figures) {
            return kinds;
        }
    }
    by_capacity(tree, online)
        .or_else(|| by_highest_perf(tree, online))
        .or_else(|| by_clock(tree, online))
        .unwrap_or_else(|| Kinds::uniform(online))
}

fn by_capacity(tree: &Tree<'_>, online: &CpuSet) -> Option<Kinds> {
    Kinds::by_figure(Rule::CpuCapacity, &figures(tree, online, "cpu_capacity", parse::number))
}

/// Not on AMD, where `highest_perf` ranks equal cores (166 to 236 on one chip).
fn by_highest_perf(tree: &Tree<'_>, online: &CpuSet) -> Option<Kinds> {
    let figures = figures(tree, online, "acpi_cppc/highest_perf", parse::number);
    Kinds::by_figure(Rule::HighestPerf, &figures).filter(|_| !is_amd(tree))
}

/// By the parts' names and their clocks, or the clocks alone.
fn by_clock(tree: &Tree<'_>, online: &CpuSet) -> Option<Kinds> {
    let mut clocks = figures(tree, online, "cpufreq/cpuinfo_max_freq", parse::number);
    if clocks.iter().any(|(_, clock)| clock.is_none()) {
        // Copies of a sysfs may lack the links from the CPUs to the policies.
        let by_policy = policy_frequencies(tree);
        for (id, clock) in &mut clocks {
            *clock = clock.or_else(|| by_policy.get(id).copied());
        }
    }
    let parts = figures(tree, online, "regs/identification/midr_el1", parse::register);
    Kinds::by_part(&parts, &clocks).or_else(|| Kinds::by_figure(Rule::MaxFreq, &clocks))
}

/// One number of each online CPU, ascending by CPU. Ends with the first CPU
/// that has none: the rule is then void, and most machines lack most files.
fn figures(
    tree: &Tree<'_>,
    online: &CpuSet,
    file: &str,
    read: fn(&str) -> Option<u64>,
) -> Vec<(usize, Option<u64>)> {
    let mut complete = true;
    online
        .iter()
        .map(|id| {
            let text = complete.then(|| tree.text(&format!("{CPUS}/cpu{id}/{file}"))).flatten();
            let figure = text.and_then(|text| read(&text));
            complete = figure.is_some();
            (id, figure)
        })
        .collect()
}

fn policy_frequencies(tree: &Tree<'_>) -> BTreeMap<usize, u64> {
    let mut frequencies = BTreeMap::new();
    for policy in tree.numbered(&format!("{CPUS}/cpufreq"), "policy") {
        let dir = format!("{CPUS}/cpufreq/policy{policy}");
        let frequency = tree.number(&format!("{dir}/cpuinfo_max_freq"));
        let cpus = tree.text(&format!("{dir}/related_cpus"));
        if let (Some(frequency), Some(cpus)) = (frequency, cpus) {
            // This one file separates its numbers by spaces.
            let cpus = parse::cpu_list(&cpus.trim().replace(' ', ","));
            frequencies.extend(cpus.iter().map(|cpu| (cpu, frequency)));
        }
    }
    frequencies
}

fn is_amd(tree: &Tree<'_>) -> bool {
    let starts_with_amd =
        |path: &str| tree.text(path).is_some_and(|text| text.trim_start().starts_with("amd"));
    match tree.text(&format!("{CPUS}/modalias")) {
        Some(text) => parse::modalias_is_amd(&text),
        None => {
            tree.has_dir(&format!("{CPUS}/amd_pstate"))
                || starts_with_amd(&format!("{CPUS}/cpu0/cpufreq/scaling_driver"))
        }
    }
}

/// Numbers the physical cores: CPUs that name the same set of siblings share
/// one. A CPU whose set is unreadable, or leaves itself out, stays alone.
fn cores(tree: &Tree<'_>, online: &CpuSet, cpus: &mut [Cpu]) {
    let mut numbers: BTreeMap<CpuSet, usize> = BTreeMap::new();
    for (next, cpu) in cpus.iter_mut().enumerate() {
        let siblings = siblings(tree, cpu.id)
            .map(|set| set.intersection(online))
            .filter(|set| set.contains(cpu.id));
        cpu.core = match siblings {
            Some(set) => *numbers.entry(set).or_insert(next),
            None => next,
        };
    }
}

/// `(package, core_id)` pairs would be wrong on one machine in ten: packages
/// of -1, and core ids that repeat within a package.
fn siblings(tree: &Tree<'_>, id: usize) -> Option<CpuSet> {
    let text = |file: &str| tree.text(&format!("{CPUS}/cpu{id}/topology/{file}"));
    let list = |file: &str| text(file).map(|text| parse::cpu_list(&text));
    let some = |set: &CpuSet| !set.is_empty();
    list("core_cpus_list")
        .filter(some)
        .or_else(|| list("thread_siblings_list").filter(some))
        .or_else(|| text("thread_siblings").map(|text| parse::cpu_mask(&text)))
}

fn nodes(tree: &Tree<'_>, cpus: &mut [Cpu]) {
    for node in tree.numbered(NODES, "node") {
        let Some(set) = list_or_mask(tree, &format!("{NODES}/node{node}/cpu"), "list", "map")
        else {
            continue;
        };
        for cpu in cpus.iter_mut().filter(|cpu| set.contains(cpu.id)) {
            cpu.node = node;
        }
    }
}

/// Numbers the groups of CPUs that share a last-level cache. Where no cache
/// spans two cores (virtual machines often list none), the NUMA node stands in.
fn clusters(tree: &Tree<'_>, online: &CpuSet, cpus: &mut [Cpu]) {
    let position = |cpus: &[Cpu], id: usize| cpus.binary_search_by_key(&id, |cpu| cpu.id).ok();
    let mut cluster_of: Vec<Option<usize>> = vec![None; cpus.len()];
    let mut spans_cores = false;
    for at in 0..cpus.len() {
        // Its cluster's first CPU has spoken for it.
        if cluster_of[at].is_some() {
            continue;
        }
        cluster_of[at] = Some(at);
        let shared = last_level(tree, cpus[at].id).unwrap_or_default();
        for id in shared.intersection(online).iter() {
            if let Some(other) = position(cpus, id) {
                cluster_of[other].get_or_insert(at);
                spans_cores |= cpus[other].core != cpus[at].core;
            }
        }
    }
    for (cpu, cluster) in cpus.iter_mut().zip(cluster_of) {
        cpu.cluster = cluster.filter(|_| spans_cores).unwrap_or(cpu.node);
    }
}

/// The CPUs that share this one's last-level cache.
fn last_level(tree: &Tree<'_>, id: usize) -> Option<CpuSet> {
    let dir = format!("{CPUS}/cpu{id}/cache");
    let (_, index) = tree
        .numbered(&dir, "index")
        .into_iter()
        .filter_map(|index| Some((tree.number(&format!("{dir}/index{index}/level"))?, index)))
        .filter(|&(level, _)| level >= MIN_CLUSTER_LEVEL)
        .max()?;
    list_or_mask(tree, &format!("{dir}/index{index}/shared_cpu_"), "list", "map")
}

/// A set of CPUs from the file `stem` + `list`, else from `stem` + `mask`.
fn list_or_mask(tree: &Tree<'_>, stem: &str, list: &str, mask: &str) -> Option<CpuSet> {
    tree.text(&format!("{stem}{list}"))
        .map(|text| parse::cpu_list(&text))
        .filter(|set| !set.is_empty())
        .or_else(|| Some(parse::cpu_mask(&tree.text(&format!("{stem}{mask}"))?)))
        .filter(|set| !set.is_empty())
}
