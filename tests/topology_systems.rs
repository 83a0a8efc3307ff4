//! macOS and Windows through their pure functions, on every system.

#[path = "common/records.rs"]
mod records;

use records::{core, record};
use rowpool::topology::{CoreKind, CpuSet, Rule, Settings, Topology, Width};

fn width(topology: &Topology) -> Width {
    Width::new(topology, &Settings::default())
}

/// A Mac whose keys are these; all others fail.
fn mac(keys: &[(&str, &str)]) -> Topology {
    let lines: Vec<String> = keys.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    Topology::from_sysctl(&lines.concat())
}

/// Levels of (name, cores).
fn levels(levels: &[(&str, usize)]) -> Topology {
    let mut text = format!("hw.nperflevels: {}\n", levels.len());
    for (level, (name, cores)) in levels.iter().enumerate() {
        text += &format!("hw.perflevel{level}.physicalcpu: {cores}\n");
        if !name.is_empty() {
            text += &format!("hw.perflevel{level}.name: {name}\n");
        }
    }
    Topology::from_sysctl(&text)
}

/// S8, S9.
#[test]
fn mac_levels() {
    use Rule::{LevelName, LevelOrder};
    type Case = (&'static [(&'static str, usize)], usize, Rule);
    let table: [Case; 9] = [
        (&[("Performance", 4), ("Efficiency", 4)], 4, LevelName),
        (&[("Super", 6), ("Performance", 12)], 18, LevelName),
        (&[("Super", 2), ("Performance", 4), ("Efficiency", 6)], 6, LevelName),
        (&[("Performance", 4), ("efficiency ", 4)], 4, LevelName),
        (&[("", 8), ("", 2)], 8, LevelOrder),
        (&[("", 2), ("", 4), ("", 6)], 6, LevelOrder),
        (&[("", 4)], 4, LevelOrder),
        // One name is missing: the order decides.
        (&[("Super", 6), ("", 12)], 6, LevelOrder),
        // Names that leave nothing decide nothing.
        (&[("Efficiency", 4), ("Efficiency", 2)], 4, LevelOrder),
    ];
    for (facts, threads, rule) in table {
        let width = width(&levels(facts));
        assert_eq!((width.threads, width.reason.rule()), (threads, Some(rule)), "{facts:?}");
    }
}

#[test]
fn mac_reasons_are_one_line() {
    let reason = |topology: &Topology| width(topology).reason.to_string();
    let m5 = levels(&[("Super", 6), ("Performance", 12)]);
    let expected = "18 of 18 CPUs: performance cores by hw.perflevel names; no quota";
    assert_eq!(reason(&m5), expected);
    let intel = mac(&[("hw.physicalcpu", "4"), ("hw.ncpu", "8")]);
    assert_eq!(reason(&intel), "4 of 8 CPUs: hw.physicalcpu, kinds unknown; no quota");
    let denied = "1 of 1 CPU: available_parallelism, nothing else readable; no quota";
    assert_eq!(reason(&mac(&[])), denied);
}

#[test]
fn a_mac_with_slower_fast_cores_has_unequal_slots() {
    let weights = |topology: &Topology| {
        let width = width(topology);
        width.weights(width.threads)
    };
    let m5 = levels(&[("Super", 1), ("Performance", 2)]);
    assert_eq!(weights(&m5), Some(vec![1024, 973, 973]));
    assert_eq!(weights(&levels(&[("Performance", 4), ("Efficiency", 4)])), None);
}

#[test]
fn mac_counts_that_make_no_sense_are_missing() {
    for bad in ["0", "-4", "9223372036854775807", "99999999999999999999", "8.5", "eight", ""] {
        let keys = [
            ("hw.nperflevels", "2"),
            ("hw.perflevel0.physicalcpu", bad),
            ("hw.perflevel1.physicalcpu", "4"),
            ("hw.physicalcpu", bad),
            ("hw.ncpu", "8"),
        ];
        let width = width(&mac(&keys));
        assert_eq!((width.threads, width.reason.rule()), (8, Some(Rule::Ncpu)), "{bad}");
    }
    // So many levels; a key that only begins alike.
    assert_eq!(width(&mac(&[("hw.nperflevels", "9223372036854775807")])).threads, 1);
    assert_eq!(width(&mac(&[("hw.ncpux", "8"), ("hw.ncpu.x", "8")])).threads, 1);
}

/// The last level's count is not needed for the width.
#[test]
fn a_missing_efficiency_count_is_no_harm() {
    let keys = [("hw.nperflevels", "2"), ("hw.perflevel0.physicalcpu", "6"), ("hw.ncpu", "8")];
    assert_eq!(width(&mac(&keys)).threads, 6);
}

#[test]
fn mac_clusters_are_the_shared_l2() {
    let keys = [
        ("hw.nperflevels", "1"),
        ("hw.perflevel0.physicalcpu", "8"),
        ("hw.perflevel0.cpusperl2", "4"),
    ];
    let topology = mac(&keys);
    let clusters: Vec<usize> = topology.cpus.iter().map(|cpu| cpu.cluster).collect();
    assert_eq!(clusters, [0, 0, 0, 0, 1, 1, 1, 1]);
}

/// 2 P-cores with SMT on CPUs 0 to 3, 2 E-cores on 4 and 5.
fn hybrid() -> Vec<u8> {
    [core(1, 0, 3), core(1, 0, 12), core(0, 0, 16), core(0, 0, 32)].concat()
}

fn pc(records: &[u8], group: usize, mask: u64) -> Topology {
    let bits = (0..64).filter(|bit| mask >> bit & 1 != 0);
    Topology::from_processor_records(records, &bits.map(|bit| 64 * group + bit).collect())
}

/// S3, S24.
#[test]
fn windows_classes_and_masks() {
    let reason = |group, mask| {
        let width = width(&pc(&hybrid(), group, mask));
        (width.reason.to_string(), width.cpus)
    };
    let by_class = "2 of 6 CPUs: performance cores by EfficiencyClass; no quota";
    let all = (by_class.to_string(), vec![0, 2]);
    assert_eq!(reason(0, 0), all, "no mask: the call failed, or threads span groups");
    assert_eq!(reason(0, 0x3f), all, "the whole group");
    assert_eq!(reason(0, u64::MAX), all, "and more than there is");
    let some = "1 of 6 CPUs: performance cores by EfficiencyClass; affinity mask of 4; no quota";
    assert_eq!(reason(0, 0b111100), (some.to_string(), vec![2]));
    let slow =
        "2 of 6 CPUs: affinity mask of 2 without a performance core (by EfficiencyClass); no quota";
    assert_eq!(reason(0, 0b110000), (slow.to_string(), vec![4, 5]));
}

#[test]
fn a_mask_is_of_its_own_group() {
    let two_groups = [core(0, 0, 1), core(0, 0, 2), core(0, 1, 1), core(0, 1, 2)].concat();
    assert_eq!(width(&pc(&two_groups, 0, 0)).cpus, [0, 1, 64, 65]);
    assert_eq!(width(&pc(&two_groups, 1, 2)).cpus, [65]);
    assert_eq!(width(&pc(&two_groups, 0, 3)).cpus, [0, 1, 64, 65], "a whole group: no restriction");
    assert_eq!(pc(&two_groups, 0, 0).mask, None);
}

#[test]
fn windows_without_records() {
    let width = width(&pc(&[], 0, 0b1));
    assert_eq!((width.threads, width.reason.rule()), (1, Some(Rule::Parallelism)));
    let nonsense = [core(9, u16::MAX, u64::MAX), core(0, 0, 0)].concat();
    assert_eq!(pc(&nonsense, 0, 0).rule, Rule::Parallelism);
}

#[test]
fn the_lower_of_three_classes_are_slower_each() {
    let records = [core(0, 0, 1), core(1, 0, 2), core(2, 0, 4)].concat();
    let topology = pc(&records, 0, 0);
    let kinds: Vec<_> = topology.cpus.iter().map(|cpu| (cpu.kind, cpu.capacity)).collect();
    use CoreKind::{Efficiency, Performance};
    assert_eq!(kinds, [(Efficiency, 368), (Efficiency, 614), (Performance, 1024)]);
}

#[test]
fn windows_caches_and_nodes() {
    let mut records: Vec<u8> = (0..4).flat_map(|bit| core(0, 0, 1 << bit)).collect();
    for (level, mask) in [(2, 1), (3, 0b0011), (3, 0b1100)] {
        records.extend(record(2, &[level], 38, &[(mask, 0)]));
    }
    for (node, mask) in [(0u32, 0b0011), (1, 0b1100)] {
        records.extend(record(1, &node.to_le_bytes(), 30, &[(mask, 0)]));
    }
    let topology = pc(&records, 0, 0);
    assert_eq!(width(&topology).cpus, [0, 2, 1, 3], "round the caches");
    let nodes: Vec<usize> = topology.cpus.iter().map(|cpu| cpu.node).collect();
    assert_eq!(nodes, [0, 0, 1, 1]);
}

#[test]
fn the_buffer_of_windows_is_read_and_cut_short_safely() {
    let mut buffer = core(7, 0, 0b11);
    buffer.extend(record(1, &5u32.to_le_bytes(), 30, &[(0b1, 0), (0b100, 3)]));
    buffer.extend(record(2, &[3], 38, &[(0b100, 3)]));
    buffer.extend(record(4, &[0; 40], 48, &[])); // something else
    buffer.extend(core(2, 3, 0b100));
    let whole = pc(&buffer, 0, 0);
    let fields = |cpu: &rowpool::topology::Cpu| (cpu.id, cpu.core, cpu.cluster, cpu.node, cpu.kind);
    use CoreKind::{Efficiency, Performance};
    let expected =
        [(0, 0, 5, 5, Performance), (1, 0, 0, 0, Performance), (194, 1, 6, 5, Efficiency)];
    assert_eq!(whole.cpus.iter().map(fields).collect::<Vec<_>>(), expected);
    for len in 0..buffer.len() {
        let cut = pc(&buffer[..len], 0, 0);
        assert_eq!(cut.cpus.len(), if len < 48 { 1 } else { 2 }, "{len} bytes");
    }
    // Sizes that would loop for ever, or lead out of the buffer.
    for byte in [0, 0xff] {
        assert_eq!(Topology::from_processor_records(&[byte; 64], &CpuSet::new()).cpus.len(), 1);
    }
}
