//! Whatever a system says: a width of at least 1, inside the bounds, no panic.

#[path = "../common/records.rs"]
mod records;
#[path = "../common/tree.rs"]
mod tree;

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use rowpool::topology::{
    CoreKind, Cpu, CpuSet, Quota, Settings, Topology, Width, FULL_CAPACITY, MAX_CPUS,
};

/// The files that the reader looks at, of a few CPUs.
const FILES: [&str; 37] = [
    "proc/self/mountinfo",
    "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
    "sys/devices/system/cpu/cpu1/regs/identification/midr_el1",
    "proc/mounts",
    "proc/self/cgroup",
    "proc/self/status",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/cpu_core/cpus",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/modalias",
    "sys/devices/system/cpu/cpu0/online",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/cpu/cpu0/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu1/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpufreq/policy0/related_cpus",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings",
    "sys/devices/system/cpu/cpu0/cache/index2/level",
    "sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list",
    "sys/devices/system/cpu/cpu1/cache/index3/level",
    "sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_map",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node1/cpumap",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/a/cpu.max",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
    "sys/devices/system/cpu/cpu8191/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu99999999999999999999/online",
    "sys/devices/system/cpu/cpu-1/online",
];

/// What such files hold, and pieces of it.
const TEXTS: [&str; 29] = [
    "0x410fd034",
    "0x410fd092",
    "9 1 0:3 /a /sys/fs/cgroup rw - cgroup2 x rw\n9 1 0:3 /../b /cpu rw x - cgroup x rw,cpu\n",
    "0-1\n",
    "0-3,8",
    "1",
    "0",
    "(null)",
    "0-7:2/4",
    "3-1",
    "0-4294967295",
    "0-8191",
    "00000000,00000003",
    "ffffffff",
    "1024",
    "280",
    "-1",
    "18446744073709551615",
    "max 100000",
    "150000 100000",
    "100000 0",
    "0 100000",
    "1:cpu:/a\n0::/a\n",
    "0::/../a/../../b",
    "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup /\\056\\056/x\\9 cgroup rw,cpu 0 0\n",
    "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
    "Cpus_allowed_list:\t9000\n",
    "cpu:type:x86,ven0002fam0019mod0061:feature:,0000",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let known = || prop::sample::select(&TEXTS[..]);
    prop_oneof![
        4 => known().prop_map(|text| text.as_bytes().to_vec()),
        2 => (known(), 0..60usize).prop_map(|(text, len)| text.bytes().take(len).collect()),
        1 => (known(), known()).prop_map(|(a, b)| [a, b].concat().into_bytes()),
        1 => vec(any::<u8>(), 0..80),
    ]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What holds for the width of whatever system.
fn holds(topology: &Topology, threads: Option<usize>) {
    let usable = topology.usable();
    let allowed = topology.allowed();
    assert!(!topology.cpus.is_empty() && topology.cpus.len() <= MAX_CPUS);
    assert!((1..=allowed.len()).contains(&usable));

    let width = Width::new(topology, &Settings::default());
    assert!((1..=usable).contains(&width.threads), "{topology:?}");
    assert_eq!(width.cpus.len(), width.threads);
    assert!(!width.reason.to_string().contains('\n'));

    // A setting is obeyed, on the CPUs that there are.
    let settings = Settings { threads, source: "test".into() };
    let set = Width::new(topology, &settings);
    if let Some(threads) = threads.filter(|&threads| threads > 0) {
        assert_eq!(set.threads, threads);
        assert_eq!(set.cpus.len(), threads.min(allowed.len()));
    }
    let chosen: CpuSet = set.cpus.iter().copied().collect();
    assert_eq!(chosen.len(), set.cpus.len(), "each CPU once");
    assert_eq!(chosen.intersection(&allowed), chosen, "inside the mask");
    assert_eq!(set.capacities.len(), set.cpus.len());
    let sane = |capacity: &u32| (1..=FULL_CAPACITY).contains(capacity);
    assert!(set.capacities.iter().all(sane));
    let all = Settings { threads: Some(usize::MAX), ..settings };
    let everywhere: CpuSet = Width::new(topology, &all).cpus.into_iter().collect();
    assert_eq!(everywhere, allowed);
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn any_tree(
        files in hash_map(prop::sample::select(&FILES[..]), text(), 0..20),
        threads in any::<Option<usize>>(),
    ) {
        let tree = tree::Tree::empty();
        for (path, content) in &files {
            tree.write(path, content);
        }
        holds(&Topology::read_from(tree.root()), threads);
    }

    /// A machine with every kind of file, each cut anywhere.
    #[test]
    fn any_truncation(lengths in vec(0..40usize, 12)) {
        let sys = "sys/devices/system/cpu";
        let whole = [
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-11\n"),
            ("proc/mounts", "cgroup2 /cg cgroup2 rw,nosuid 0 0\n"),
            ("proc/self/cgroup", "1:cpu:/job\n0::/job/step\n"),
            ("cg/job/cpu.max", "650000 100000\n"),
            ("sys/devices/cpu_core/cpus", "0-7\n"),
            ("sys/devices/cpu_atom/cpus", "8-11\n"),
            (&format!("{sys}/online"), "0-11\n"),
            (&format!("{sys}/cpu0/topology/core_cpus_list"), "0-1\n"),
            (&format!("{sys}/cpu1/topology/thread_siblings"), "00000003\n"),
            (&format!("{sys}/cpu0/cache/index3/level"), "3\n"),
            (&format!("{sys}/cpu0/cache/index3/shared_cpu_list"), "0-11\n"),
            ("sys/devices/system/node/node0/cpulist", "0-11\n"),
        ];
        let tree = tree::Tree::empty();
        for ((path, text), len) in whole.iter().zip(&lengths) {
            tree.write(path, &text.as_bytes()[..text.len().min(*len)]);
        }
        holds(&Topology::read_from(tree.root()), None);
    }
}

/// Keys of a Mac, with numbers, names and nonsense.
fn mac_line() -> impl Strategy<Value = String> {
    let total = ["hw.ncpu", "hw.physicalcpu", "hw.logicalcpu", "hw.nperflevels"];
    let of_level = ["physicalcpu", "logicalcpu", "cpusperl2", "name"];
    let key = prop_oneof![
        prop::sample::select(total.to_vec()).prop_map(String::from),
        (0..4, prop::sample::select(of_level.to_vec()))
            .prop_map(|(level, key)| format!("hw.perflevel{level}.{key}")),
    ];
    let value = prop_oneof![
        3 => (-1..20i64).prop_map(|number| number.to_string()),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        2 => prop::sample::select(&["Efficiency", "Performance", "Super", ""][..]).prop_map(String::from),
        1 => any::<String>(),
    ];
    (key, value).prop_map(|(key, value)| format!("{key}: {value}\n"))
}

fn group_mask() -> impl Strategy<Value = (u64, u16)> {
    let group = prop_oneof![4 => 0..3u16, 1 => any::<u16>()];
    let mask =
        prop_oneof![1 => any::<u64>(), 3 => (0..64u32).prop_map(|bit| 3u64.rotate_left(bit))];
    (mask, group)
}

fn cpu_set() -> impl Strategy<Value = CpuSet> {
    vec(0..200usize, 0..20).prop_map(|cpus| cpus.into_iter().collect())
}

/// CPUs as a program might describe them, in whatever order, some twice.
fn cpu() -> impl Strategy<Value = Cpu> {
    let kind = prop::sample::select(&[CoreKind::Performance, CoreKind::Efficiency][..]);
    (0..40usize, 0..20usize, 0..4usize, kind, any::<u32>()).prop_map(
        |(id, core, cluster, kind, capacity)| {
            let mut cpu = Cpu::new(id);
            (cpu.core, cpu.cluster, cpu.kind, cpu.capacity) = (core, cluster, kind, capacity);
            cpu
        },
    )
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn any_mac(lines in vec(mac_line(), 0..12)) {
        holds(&Topology::from_sysctl(&lines.concat()), None);
    }

    #[test]
    fn any_pc(
        cores in vec((0..3u8, group_mask()), 0..40),
        caches in vec((any::<u8>(), group_mask()), 0..4),
        nodes in vec((any::<u32>(), group_mask()), 0..4),
        mask in cpu_set(),
        threads in any::<Option<usize>>(),
    ) {
        let cores = cores.into_iter().map(|(class, (mask, group))| records::core(class, group, mask));
        let caches = caches.into_iter().map(|(level, mask)| records::record(2, &[level], 38, &[mask]));
        let nodes = nodes
            .into_iter()
            .map(|(node, mask)| records::record(1, &node.to_le_bytes(), 30, &[mask]));
        let records: Vec<u8> = cores.chain(caches).chain(nodes).flatten().collect();
        holds(&Topology::from_processor_records(&records, &mask), threads);
    }

    #[test]
    fn any_buffer(mut bytes in vec(any::<u8>(), 0..400), sizes in vec(0..60u8, 8), mask in cpu_set()) {
        // Sizes that make sense, so that more than the first record is read.
        let mut at = 0;
        for size in sizes {
            if let Some(record) = bytes.get_mut(at..at + 8) {
                record.copy_from_slice(&[size % 4, 0, 0, 0, size, 0, 0, 0]);
                at += usize::from(size);
            }
        }
        holds(&Topology::from_processor_records(&bytes, &mask), None);
    }

    #[test]
    fn lists_and_masks_say_the_same(cpus in vec(0..MAX_CPUS, 1..40)) {
        let set: CpuSet = cpus.iter().copied().collect();
        let word = |at: usize| (0..32).fold(0u32, |word, bit| word | u32::from(set.contains(at * 32 + bit)) << bit);
        let words: Vec<String> = (0..MAX_CPUS / 32).rev().map(|at| format!("{:08x}", word(at))).collect();
        let list = set.to_string();
        for (name, text) in [("Cpus_allowed_list", list), ("Cpus_allowed", words.join(","))] {
            let tree = tree::Tree::empty();
            tree.write("proc/self/status", format!("{name}:\t{text}\n"));
            let topology = Topology::read_from(tree.root());
            prop_assert_eq!(topology.mask.as_ref(), Some(&set));
            prop_assert_eq!(topology.online(), set.clone());
        }
        prop_assert!(cpus.iter().all(|&cpu| set.contains(cpu)));
    }
}

proptest! {
    // Each has threads.
    #![proptest_config(config(60))]

    /// Facts that a program gives are in no order, and need make no sense.
    #[test]
    fn any_facts(
        cpus in vec(cpu(), 0..12),
        mask in prop::option::of(cpu_set()),
        quota in prop::option::of((1..2_000_000u64, 1..2_000_000u64)),
        caller in prop::option::of(0..50usize),
        threads in 0..10usize,
    ) {
        let mut facts = Topology::new(1);
        facts.cpus = cpus;
        facts.mask = mask;
        facts.quota = quota.and_then(|(quota, period)| Quota::new(quota, period));
        facts.caller = caller;
        let width = Width::new(&facts, &Settings::default());
        prop_assert!((1..=facts.usable()).contains(&width.threads));
        prop_assert!(width.capacities.iter().all(|capacity| (1..=FULL_CAPACITY).contains(capacity)));
        let pool = rowpool::Pool::builder().width(threads).topology(facts.clone()).build().unwrap();
        prop_assert_eq!(pool.active_width(), pool.num_threads().min(facts.usable()));
        let mut rows = [0; 100];
        pool.for_each_row(&mut rows, |row, out| *out = row + 1);
        prop_assert!(rows.iter().enumerate().all(|(row, &out)| out == row + 1));
    }
}
