//! Windows: the records of `GetLogicalProcessorInformationEx`, as plain data.

use super::cpuset::CpuSet;
use super::facts::{CoreKind, Cpu, Rule, Topology, FULL_CAPACITY, WINDOWS_BINDABLE};
use super::kinds::NAMED_EFFICIENCY;

/// CPUs of a processor group.
const GROUP: usize = 64;

/// Some CPUs of one processor group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupMask {
    /// Number of the group.
    pub(crate) group: u16,
    /// One bit for each CPU of the group.
    pub(crate) mask: u64,
}

impl GroupMask {
    /// The CPUs as [`Cpu::id`]s, `64 * group + bit`; those from
    /// [`MAX_CPUS`](super::MAX_CPUS) on are left out.
    pub(crate) fn cpus(self) -> CpuSet {
        (0..GROUP)
            .filter(|bit| self.mask & (1 << bit) != 0)
            .map(|bit| usize::from(self.group) * GROUP + bit)
            .collect()
    }
}

/// A record of a physical core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Core {
    /// `EfficiencyClass`: higher is *faster*.
    pub(crate) efficiency: u8,
    /// Its hardware threads.
    pub(crate) cpus: GroupMask,
}

/// The records that the width rule uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    /// `RelationProcessorCore`.
    pub(crate) cores: Vec<Core>,
    /// `RelationCache`: level and CPUs.
    pub(crate) caches: Vec<(u8, GroupMask)>,
    /// `RelationNumaNode`: number and CPUs.
    pub(crate) nodes: Vec<(u32, GroupMask)>,
}

/// The CPUs of a Windows system. `process` is the process's affinity mask, all
/// of one group; an empty one (the call failed, or threads span groups) and one
/// of a whole group are no restriction. Without records, `parallelism` equal
/// CPUs.
pub(crate) fn topology(records: &Records, process: &CpuSet, parallelism: usize) -> Topology {
    let mut cpus: Vec<Option<Cpu>> = Vec::new();
    let classes = classes(&records.cores);
    for (number, core) in records.cores.iter().enumerate() {
        let step = classes.iter().rev().position(|&c| c == core.efficiency);
        let step = step.unwrap_or(0);
        for id in core.cpus.cpus().iter() {
            if cpus.len() <= id {
                cpus.resize(id + 1, None);
            }
            cpus[id].get_or_insert(Cpu {
                core: number,
                kind: match step {
                    0 => CoreKind::Performance,
                    _ => CoreKind::Efficiency,
                },
                capacity: capacity(step),
                ..Cpu::new(id)
            });
        }
    }
    let mut cpus: Vec<Cpu> = cpus.into_iter().flatten().collect();
    if cpus.is_empty() {
        return Topology::equal(parallelism, Rule::Parallelism, WINDOWS_BINDABLE);
    }
    for &(node, of) in &records.nodes {
        for cpu in of_group(&mut cpus, of) {
            cpu.node = usize::try_from(node).unwrap_or(0);
        }
    }
    clusters(&records.caches, &mut cpus);
    let rule = match classes.len() {
        0 | 1 => Rule::Uniform,
        _ => Rule::EfficiencyClass,
    };
    Topology { mask: restriction(&cpus, process), ..Topology::of(cpus, rule, WINDOWS_BINDABLE) }
}

/// The efficiency classes that occur, ascending.
fn classes(cores: &[Core]) -> Vec<u8> {
    let mut classes: Vec<u8> = cores
        .iter()
        .filter(|core| !core.cpus.cpus().is_empty())
        .map(|core| core.efficiency)
        .collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Each class is taken as [`NAMED_EFFICIENCY`] of the one above it: Windows
/// orders the classes and gives no figures.
fn capacity(steps: usize) -> u32 {
    (0..steps.min(8)).fold(FULL_CAPACITY, |above, _| above * NAMED_EFFICIENCY / 1024).max(1)
}

fn of_group(cpus: &mut [Cpu], of: GroupMask) -> impl Iterator<Item = &mut Cpu> {
    let ids = of.cpus();
    cpus.iter_mut().filter(move |cpu| ids.contains(cpu.id))
}

/// Clusters by the caches of the highest level of 2 or more, numbered from the
/// CPUs' nodes up so that CPUs outside of any keep their node's.
fn clusters(caches: &[(u8, GroupMask)], cpus: &mut [Cpu]) {
    for cpu in cpus.iter_mut() {
        cpu.cluster = cpu.node;
    }
    let Some(level) = caches.iter().map(|&(level, _)| level).max().filter(|&l| l >= 2) else {
        return;
    };
    let base = cpus.iter().map(|cpu| cpu.node).max().unwrap_or(0);
    let last = caches.iter().filter(|&&(l, _)| l == level);
    for (at, &(_, of)) in last.enumerate() {
        for cpu in of_group(cpus, of) {
            cpu.cluster = base.saturating_add(at + 1);
        }
    }
}

/// The process's mask, where it restricts.
fn restriction(cpus: &[Cpu], mask: &CpuSet) -> Option<CpuSet> {
    let group = mask.iter().next()? / GROUP;
    let mut own_group = cpus.iter().filter(|cpu| cpu.id / GROUP == group);
    let whole = own_group.all(|cpu| mask.contains(cpu.id));
    (!whole).then(|| mask.clone())
}

/// Reads the buffer that `GetLogicalProcessorInformationEx(RelationAll, ..)`
/// fills, for pointers of 4 bytes or, with any other number, of 8. Stops at the
/// first record whose size makes no sense.
///
/// Offsets are those of the structures in `winnt.h`: a record is its relation
/// (u32), its size (u32) and a body; a body ends with its group masks
/// (`KAFFINITY` mask, u16 group, three reserved u16).
pub(crate) fn parse_records(buffer: &[u8], pointer: usize) -> Records {
    const CORE: u32 = 0;
    const NODE: u32 = 1;
    const CACHE: u32 = 2;
    const NODE_EX: u32 = 6;
    let pointer = if pointer == 4 { 4 } else { 8 };
    let mut records = Records::default();
    let mut rest = buffer;
    while let (Some(relation), Some(size)) = (u32_at(rest, 0), u32_at(rest, 4)) {
        let Some(record) = rest.get(..size as usize).filter(|r| r.len() >= 8) else {
            break;
        };
        match relation {
            CORE => {
                // Only a core could span groups by the structure; none does.
                let cpus = group_masks(record, 30, 32, pointer).next();
                if let (Some(&efficiency), Some(cpus)) = (record.get(9), cpus) {
                    records.cores.push(Core { efficiency, cpus });
                }
            }
            NODE | NODE_EX => {
                if let Some(node) = u32_at(record, 8) {
                    let masks = group_masks(record, 30, 32, pointer);
                    records.nodes.extend(masks.map(|mask| (node, mask)));
                }
            }
            CACHE => {
                if let Some(&level) = record.get(8) {
                    let masks = group_masks(record, 38, 40, pointer);
                    records.caches.extend(masks.map(|mask| (level, mask)));
                }
            }
            _ => {}
        }
        rest = &rest[record.len()..];
    }
    records
}

/// The group masks at `masks` of a record; their number is the u16 at `count`,
/// where 0 (older systems) means 1.
fn group_masks(
    record: &[u8],
    count: usize,
    masks: usize,
    pointer: usize,
) -> impl Iterator<Item = GroupMask> + '_ {
    let number = u16_at(record, count).unwrap_or(0).max(1);
    // The structure is padded to a multiple of the pointer's size.
    let stride = pointer + 8;
    (0..usize::from(number)).map_while(move |i| {
        let at = masks + i * stride;
        let mask = match pointer {
            4 => u64::from(u32_at(record, at)?),
            _ => u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?),
        };
        let group = u16_at(record, at + pointer)?;
        Some(GroupMask { group, mask })
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
