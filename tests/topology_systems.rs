//! macOS and Windows through their pure functions, on every system.

use rowpool::topology::macos::{self, Value};
use rowpool::topology::windows::{self, Core, GroupMask, Records};
use rowpool::topology::{CoreKind, Rule, Settings, Topology, Width};

fn width(topology: &Topology) -> Width {
    Width::new(topology, &Settings::default())
}

/// A Mac whose keys are these; all others fail.
fn mac(keys: &[(&str, Value)]) -> Topology {
    let read = |asked: &str| {
        let found = keys.iter().find(|(key, _)| *key == asked);
        found.map(|(_, value)| value.clone())
    };
    macos::topology(read, 6)
}

/// Levels of (name, cores).
fn levels(levels: &[(&str, i64)]) -> Topology {
    let mut keys = vec![("hw.nperflevels".to_string(), Value::from(levels.len() as i64))];
    for (level, (name, cores)) in levels.iter().enumerate() {
        keys.push((format!("hw.perflevel{level}.physicalcpu"), Value::from(*cores)));
        if !name.is_empty() {
            keys.push((format!("hw.perflevel{level}.name"), Value::from(*name)));
        }
    }
    let keys: Vec<(&str, Value)> = keys.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
    mac(&keys)
}

/// S8, S9.
#[test]
fn mac_levels() {
    use Rule::{LevelName, LevelOrder};
    type Case = (&'static [(&'static str, i64)], usize, Rule);
    let table: [Case; 9] = [
        (&[("Performance", 4), ("Efficiency", 4)], 4, LevelName),
        (&[("Super", 6), ("Performance", 12)], 18, LevelName),
        (&[("Super", 2), ("Performance", 4), ("Efficiency", 6)], 6, LevelName),
        (&[("Performance", 4), ("efficiency\0", 4)], 4, LevelName),
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
        assert_eq!(width.pin(1), None, "no affinity on a Mac");
    }
}

#[test]
fn mac_reasons_are_one_line() {
    let reason = |topology: &Topology| width(topology).reason.to_string();
    let m5 = levels(&[("Super", 6), ("Performance", 12)]);
    let expected = "18 of 18 CPUs: performance cores by hw.perflevel names; no quota";
    assert_eq!(reason(&m5), expected);
    let intel = mac(&[("hw.physicalcpu", 4.into()), ("hw.ncpu", 8.into())]);
    assert_eq!(reason(&intel), "4 of 8 CPUs: hw.physicalcpu, kinds unknown; no quota");
    let denied = "6 of 6 CPUs: available_parallelism, nothing else readable; no quota";
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
    for bad in [0, -4, i64::MAX, i64::MIN] {
        let keys = [
            ("hw.nperflevels", 2.into()),
            ("hw.perflevel0.physicalcpu", bad.into()),
            ("hw.perflevel1.physicalcpu", 4.into()),
            ("hw.physicalcpu", bad.into()),
            ("hw.ncpu", 8.into()),
        ];
        let width = width(&mac(&keys));
        assert_eq!((width.threads, width.reason.rule()), (8, Some(Rule::Ncpu)), "{bad}");
    }
    // A text where a number should be, and so many levels.
    assert_eq!(width(&mac(&[("hw.ncpu", "8".into())])).threads, 6);
    assert_eq!(width(&mac(&[("hw.nperflevels", i64::MAX.into())])).threads, 6);
}

/// The last level's count is not needed for the width.
#[test]
fn a_missing_efficiency_count_is_no_harm() {
    let keys = [
        ("hw.nperflevels", 2.into()),
        ("hw.perflevel0.physicalcpu", 6.into()),
        ("hw.ncpu", 8.into()),
    ];
    assert_eq!(width(&mac(&keys)).threads, 6);
}

#[test]
fn mac_clusters_are_the_shared_l2() {
    let keys = [
        ("hw.nperflevels", 1.into()),
        ("hw.perflevel0.physicalcpu", 8.into()),
        ("hw.perflevel0.cpusperl2", 4.into()),
    ];
    let topology = mac(&keys);
    let clusters: Vec<usize> = topology.cpus.iter().map(|cpu| cpu.cluster).collect();
    assert_eq!(clusters, [0, 0, 0, 0, 1, 1, 1, 1]);
}

fn core(efficiency: u8, group: u16, mask: u64) -> Core {
    Core { efficiency, cpus: GroupMask { group, mask } }
}

/// 2 P-cores with SMT on CPUs 0 to 3, 2 E-cores on 4 and 5.
fn hybrid() -> Records {
    Records {
        cores: vec![core(1, 0, 3), core(1, 0, 12), core(0, 0, 16), core(0, 0, 32)],
        ..Records::default()
    }
}

fn pc(records: &Records, group: u16, mask: u64) -> Topology {
    windows::topology(records, GroupMask { group, mask }, 3)
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
    let two_groups = Records {
        cores: vec![core(0, 0, 1), core(0, 0, 2), core(0, 1, 1), core(0, 1, 2)],
        ..Records::default()
    };
    assert_eq!(width(&pc(&two_groups, 0, 0)).cpus, [0, 1, 64, 65]);
    assert_eq!(width(&pc(&two_groups, 1, 2)).cpus, [65]);
    assert_eq!(width(&pc(&two_groups, 0, 3)).cpus, [0, 1, 64, 65], "a whole group: no restriction");
    assert_eq!(pc(&two_groups, 0, 0).mask, None);
    // core_affinity can bind in one group only.
    let width = width(&pc(&two_groups, 0, 0));
    assert_eq!([width.pin(1), width.pin(2)], [Some(1), None]);
}

#[test]
fn windows_without_records() {
    let width = width(&pc(&Records::default(), 0, 0b1));
    assert_eq!((width.threads, width.reason.rule()), (3, Some(Rule::Parallelism)));
    let nonsense =
        Records { cores: vec![core(9, u16::MAX, u64::MAX), core(0, 0, 0)], ..Records::default() };
    assert_eq!(pc(&nonsense, 0, 0).rule, Rule::Parallelism);
}

#[test]
fn the_lower_of_three_classes_are_slower_each() {
    let records =
        Records { cores: vec![core(0, 0, 1), core(1, 0, 2), core(2, 0, 4)], ..Records::default() };
    let topology = pc(&records, 0, 0);
    let kinds: Vec<_> = topology.cpus.iter().map(|cpu| (cpu.kind, cpu.capacity)).collect();
    use CoreKind::{Efficiency, Performance};
    assert_eq!(kinds, [(Efficiency, 368), (Efficiency, 614), (Performance, 1024)]);
}

#[test]
fn windows_caches_and_nodes() {
    let of = |mask| GroupMask { group: 0, mask };
    let records = Records {
        cores: (0..4).map(|bit| core(0, 0, 1 << bit)).collect(),
        caches: vec![(2, of(1)), (3, of(0b0011)), (3, of(0b1100))],
        nodes: vec![(0, of(0b0011)), (1, of(0b1100))],
    };
    let topology = pc(&records, 0, 0);
    assert_eq!(width(&topology).cpus, [0, 2, 1, 3], "round the caches");
    let nodes: Vec<usize> = topology.cpus.iter().map(|cpu| cpu.node).collect();
    assert_eq!(nodes, [0, 0, 1, 1]);
}

/// A record as Windows lays it out for pointers of this many bytes.
fn record(
    relation: u32,
    body: &[u8],
    count_at: usize,
    masks: &[(u64, u16)],
    pointer: usize,
) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend(body);
    bytes.resize(count_at, 0);
    bytes.extend((masks.len() as u16).to_le_bytes());
    for (mask, group) in masks {
        bytes.extend(&mask.to_le_bytes()[..pointer]);
        bytes.extend(group.to_le_bytes());
        bytes.extend([0; 6]);
    }
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&relation.to_le_bytes());
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn the_buffer_of_windows_is_read_and_cut_short_safely() {
    for pointer in [4, 8] {
        let mut buffer = record(0, &[1, 7], 30, &[(0b11, 0)], pointer); // a core of class 7
        buffer.extend(record(1, &5u32.to_le_bytes(), 30, &[(0b1, 0), (0b10, 1)], pointer));
        buffer.extend(record(2, &[3], 38, &[(0b11, 1)], pointer)); // a cache of level 3
        buffer.extend(record(4, &[0; 40], 48, &[], pointer)); // something else
        buffer.extend(record(0, &[0, 2], 30, &[(0b100, 3)], pointer));
        let whole = windows::parse_records(&buffer, pointer);
        assert_eq!(whole.cores, [core(7, 0, 0b11), core(2, 3, 0b100)]);
        let of = |group, mask| GroupMask { group, mask };
        assert_eq!(whole.nodes, [(5, of(0, 0b1)), (5, of(1, 0b10))]);
        assert_eq!(whole.caches, [(3, of(1, 0b11))]);
        for len in 0..buffer.len() {
            let cut = windows::parse_records(&buffer[..len], pointer);
            assert!(cut.cores.len() <= 1);
        }
    }
    // Sizes that would loop for ever, or lead out of the buffer.
    assert_eq!(windows::parse_records(&[0; 64], 8), Records::default());
    assert_eq!(windows::parse_records(&[0xff; 64], 8), Records::default());
}
