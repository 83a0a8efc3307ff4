//! Machines in our own words: facts, and the width that they should give with
//! its reason. Runs everywhere, since only files are read. The scenario of each
//! is in brackets.

#[path = "common/tree.rs"]
mod tree;

use rowpool::topology::{Settings, Topology, Width};
use tree::SYS;

/// A Linux system. Lists are in the kernel's form.
struct Machine {
    name: &'static str,
    online: &'static str,
    /// Groups of SMT siblings; CPUs in none of them are alone.
    siblings: &'static [&'static str],
    /// Files of CPUs: (file below `cpuN/`, CPUs, content).
    each: &'static [(&'static str, &'static str, &'static str)],
    /// Other files: (path, content).
    files: &'static [(&'static str, &'static str)],
    /// `Cpus_allowed_list`; empty: no such file.
    mask: &'static str,
    want: &'static str,
    on: &'static [usize],
}

fn topology(machine: &Machine) -> Topology {
    let tree = tree::Tree::empty();
    if !machine.online.is_empty() {
        tree.write(&format!("{SYS}/online"), machine.online);
    }
    for group in machine.siblings {
        let cpus = group.trim_end_matches(['\0', '\n']);
        tree.each(cpus, "topology/core_cpus_list", group);
    }
    for (file, cpus, content) in machine.each {
        tree.each(cpus, file, content);
    }
    for (path, content) in machine.files {
        tree.write(path, content);
    }
    if !machine.mask.is_empty() {
        let status = format!("Name:\tx\nCpus_allowed_list:\t{}\n", machine.mask);
        tree.write("proc/self/status", status);
    }
    Topology::read_from(tree.root())
}

const PAIRS_4: &[&str] = &["0-1", "2-3", "4-5", "6-7"];
const HALVES_8: &[&str] = &["0,4", "1,5", "2,6", "3,7"];
const CPU_V2: &str = "sys/fs/cgroup/cpu.max";
const P_CORES: &str = "sys/devices/cpu_core/cpus";
const E_CORES: &str = "sys/devices/cpu_atom/cpus";
const CAPACITY: &str = "cpu_capacity";
const HIGHEST: &str = "acpi_cppc/highest_perf";
const MIDR: &str = "regs/identification/midr_el1";
const MAX_FREQ: &str = "cpufreq/cpuinfo_max_freq";

#[rustfmt::skip]
const MACHINES: &[Machine] = &[
    // Desktops and laptops.
    Machine { name: "SMT desktop, siblings next to each other [S5]", online: "0-7", siblings: PAIRS_4,
        want: "4 of 8 CPUs: one per physical core, all equal; no quota", on: &[0, 2, 4, 6], ..NONE },
    Machine { name: "SMT desktop, siblings apart [S5]", online: "0-7", siblings: HALVES_8,
        want: "4 of 8 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "hybrid, 4 P-cores with SMT and 4 E-cores [S3]", online: "0-11", siblings: PAIRS_4,
        files: &[(P_CORES, "0-7"), (E_CORES, "8-11")],
        want: "4 of 12 CPUs: performance cores by cpu_core; no quota", on: &[0, 2, 4, 6], ..NONE },
    Machine { name: "hybrid without SMT: no P-core is skipped as a sibling [S3]", online: "0-5",
        files: &[(P_CORES, "0-3"), (E_CORES, "4-5")],
        want: "4 of 6 CPUs: performance cores by cpu_core; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "P-cores at both ends of the numbers [S3]", online: "0-7", siblings: &["0-1", "6-7"],
        files: &[(P_CORES, "0-1,6-7"), (E_CORES, "2-5")],
        want: "2 of 8 CPUs: performance cores by cpu_core; no quota", on: &[0, 6], ..NONE },
    Machine { name: "an equal capacity on a hybrid decides nothing against cpu_core", online: "0-3",
        files: &[(P_CORES, "2-3"), (E_CORES, "0-1")], each: &[(CAPACITY, "0-3", "1024")],
        want: "2 of 4 CPUs: performance cores by cpu_core; no quota", on: &[2, 3], ..NONE },
    Machine { name: "cpu_core without cpu_atom is no hybrid", online: "0-3", files: &[(P_CORES, "0-1")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "all E-cores offline: cpu_core names all", online: "0-1",
        files: &[(P_CORES, "0-1"), (E_CORES, "2-3")],
        want: "2 of 2 CPUs: one per physical core, all equal; no quota", on: &[0, 1], ..NONE },
    Machine { name: "hybrid before the kernel's list: highest_perf", online: "0-3",
        each: &[(HIGHEST, "0-1", "64"), (HIGHEST, "2-3", "39")],
        want: "2 of 4 CPUs: performance cores by highest_perf; no quota", on: &[0, 1], ..NONE },
    Machine { name: "AMD ranks its equal cores in highest_perf (modalias)", online: "0-3",
        each: &[(HIGHEST, "0-1", "236"), (HIGHEST, "2-3", "166")],
        files: &[("sys/devices/system/cpu/modalias", "cpu:type:x86,ven0002fam0019mod0061:feature:,0000")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "AMD ranks its equal cores in highest_perf (driver)", online: "0-3",
        each: &[(HIGHEST, "0-1", "236"), (HIGHEST, "2-3", "166"), ("cpufreq/scaling_driver", "0-3", "amd-pstate-epp")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "Intel says so in its modalias", online: "0-3",
        each: &[(HIGHEST, "0-1", "64"), (HIGHEST, "2-3", "39")],
        files: &[("sys/devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod009A:feature:,0000")],
        want: "2 of 4 CPUs: performance cores by highest_perf; no quota", on: &[0, 1], ..NONE },
    Machine { name: "favoured cores clock a little higher: all count", online: "0-3",
        each: &[(MAX_FREQ, "0-1", "5800000"), (MAX_FREQ, "2-3", "5400000")],
        want: "4 of 4 CPUs: performance cores by max_freq; no quota", on: &[0, 1, 2, 3], ..NONE },
    // Arm [S11, S31].
    Machine { name: "phone: one prime, three big, four little [S11]", online: "0-7",
        each: &[(CAPACITY, "0-3", "250"), (CAPACITY, "4-6", "880"), (CAPACITY, "7", "1024")],
        want: "4 of 8 CPUs: performance cores by cpu_capacity; no quota", on: &[7, 4, 5, 6], ..NONE },
    Machine { name: "phone whose sandbox denies all but the frequencies [S31]", online: "0-7",
        each: &[(MAX_FREQ, "0-5", "1800000"), (MAX_FREQ, "6-7", "2600000")],
        want: "2 of 8 CPUs: performance cores by max_freq; no quota", on: &[6, 7], ..NONE },
    Machine { name: "frequencies at the policies alone", online: "0-3",
        files: &[("sys/devices/system/cpu/cpufreq/policy0/related_cpus", "0 1\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "1400000\n"),
            ("sys/devices/system/cpu/cpufreq/policy2/related_cpus", "2 3\n"),
            ("sys/devices/system/cpu/cpufreq/policy2/cpuinfo_max_freq", "2200000\n")],
        want: "2 of 4 CPUs: performance cores by max_freq; no quota", on: &[2, 3], ..NONE },
    Machine { name: "a little core without a capacity voids that rule", online: "0-3",
        each: &[(CAPACITY, "1-2", "400"), (CAPACITY, "3", "1024")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "a mask that leaves the little cores alone", online: "0-3", mask: "0-1",
        each: &[(CAPACITY, "0-1", "400"), (CAPACITY, "2-3", "1024")],
        want: "2 of 4 CPUs: affinity mask of 2 without a performance core (by cpu_capacity); no quota",
        on: &[0, 1], ..NONE },
    Machine { name: "a mask that leaves one big core and the little ones", online: "0-3", mask: "0-2",
        each: &[(CAPACITY, "0-1", "400"), (CAPACITY, "2-3", "1024")],
        want: "1 of 4 CPUs: performance cores by cpu_capacity; affinity mask of 3; no quota", on: &[2], ..NONE },
    Machine { name: "big cores at a lower clock than the little ones: their parts [S46]", online: "0-3",
        each: &[(CAPACITY, "0-3", "1024"), (MAX_FREQ, "0-1", "2016000"), (MAX_FREQ, "2-3", "1900000"),
            (MIDR, "0-1", "0x00000000410fd034\n"), (MIDR, "2-3", "0x00000000410fd092\n")],
        want: "2 of 4 CPUs: performance cores by midr; no quota", on: &[2, 3], ..NONE },
    Machine { name: "three kinds: the parts, then the clock [S46]", online: "0-5",
        each: &[(MAX_FREQ, "0-3", "2000000"), (MAX_FREQ, "4", "1400000"), (MAX_FREQ, "5", "2000000"),
            (MIDR, "0-3", "0x51df805e\n"), (MIDR, "4-5", "0x51df804e\n")],
        want: "1 of 6 CPUs: performance cores by midr; no quota", on: &[5], ..NONE },
    Machine { name: "a register that cannot be read voids that rule", online: "0-2",
        each: &[(MAX_FREQ, "0-1", "1000000"), (MAX_FREQ, "2", "2000000"), (MIDR, "0,2", "0x410fd034"), (MIDR, "1", "410fd092")],
        want: "1 of 3 CPUs: performance cores by max_freq; no quota", on: &[2], ..NONE },
    Machine { name: "nothing but little cores", online: "0-3", each: &[(MIDR, "0-3", "0x410fd034")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    // Servers.
    Machine { name: "two sockets of two last-level caches: round them before packing", online: "0-7",
        each: &[("cache/index2/level", "0-7", "2"), ("cache/index2/shared_cpu_list", "0-7", "0-7"),
            ("cache/index3/level", "0-7", "3"),
            ("cache/index3/shared_cpu_list", "0-1", "0-1"), ("cache/index3/shared_cpu_list", "2-3", "2-3"),
            ("cache/index3/shared_cpu_list", "4-5", "4-5"), ("cache/index3/shared_cpu_map", "6-7", "c0")],
        files: &[("sys/devices/system/node/node0/cpulist", "0-3"), ("sys/devices/system/node/node1/cpulist", "4-7")],
        want: "8 of 8 CPUs: one per physical core, all equal; no quota", on: &[0, 2, 4, 6, 1, 3, 5, 7], ..NONE },
    Machine { name: "private caches only: round the nodes", online: "0-3",
        each: &[("cache/index2/level", "0-3", "2"), ("cache/index2/shared_cpu_list", "0", "0")],
        files: &[("sys/devices/system/node/node0/cpulist", "0-1"), ("sys/devices/system/node/node8/cpumap", "c")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 2, 1, 3], ..NONE },
    Machine { name: "batch job bound to a part of the node [S7]", online: "0-63", mask: "8-13",
        want: "6 of 64 CPUs: one per physical core, all equal; affinity mask of 6; no quota",
        on: &[8, 9, 10, 11, 12, 13], ..NONE },
    Machine { name: "mask of both threads of one core", online: "0-7", siblings: PAIRS_4, mask: "2-3",
        want: "1 of 8 CPUs: one per physical core, all equal; affinity mask of 2; no quota", on: &[2], ..NONE },
    // Containers.
    Machine { name: "v2 quota of 2 [S1]", online: "0-7", siblings: PAIRS_4, files: &[(CPU_V2, "200000 100000\n")],
        want: "2 of 8 CPUs: quota 2.00; 4 cores without it", on: &[0, 2], ..NONE },
    Machine { name: "v2 quota above the cores is no bound [S1]", online: "0-7", siblings: PAIRS_4,
        files: &[(CPU_V2, "650000 100000\n")],
        want: "4 of 8 CPUs: one per physical core, all equal; quota 6.50", on: &[0, 2, 4, 6], ..NONE },
    Machine { name: "v2: an ancestor is tighter than the group [S1]", online: "0-7",
        files: &[("proc/self/cgroup", "0::/pod/app\n"), ("proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
            ("cg/pod/cpu.max", "300000 100000\n"), ("cg/pod/app/cpu.max", "700000 100000\n")],
        want: "3 of 8 CPUs: quota 3.00; 8 cores without it", on: &[0, 1, 2], ..NONE },
    Machine { name: "v2: a sibling group's quota is not ours [S1]", online: "0-3",
        files: &[("proc/self/cgroup", "0::/a\n"), ("proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
            ("cg/b/cpu.max", "100000 100000\n"), ("cg/a/cpu.max", "max 100000\n")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "v2: a group outside of the namespace does not lead out of the mount", online: "0-3",
        files: &[("proc/self/cgroup", "0::/../other\n"), ("proc/mounts", "cgroup2 /cg/in cgroup2 rw 0 0\n"),
            ("cg/other/cpu.max", "100000 100000\n"), ("cg/in/other/cpu.max", "100000 100000\n")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "a request is a weight, not a quota [S1]", online: "0-3",
        files: &[("sys/fs/cgroup/cpu.weight", "4\n"), (CPU_V2, "max 100000\n")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "v1 quota of 2.5 beside cpuset and v2 mounts [S1]", online: "0-3",
        files: &[("proc/self/cgroup", "4:cpuset:/x\n3:cpuacct,cpu:/job\n0::/\n"),
            ("proc/mounts", "cgroup /v1/set cgroup rw,cpuset 0 0\ncgroup /v1/a\\040b cgroup rw,cpuacct,cpu 0 0\n\
                cgroup2 /v2 cgroup2 rw 0 0\n"),
            ("v1/a b/job/cpu.cfs_quota_us", "125000\n"), ("v1/a b/job/cpu.cfs_period_us", "50000\n"),
            ("v1/a b/cpu.cfs_quota_us", "-1\n"), ("v1/set/x/cpu.cfs_quota_us", "50000\n")],
        want: "2 of 4 CPUs: quota 2.50; 4 cores without it", on: &[0, 1], ..NONE },
    Machine { name: "v1 container that sees its host's path, its own group as the root [S1]", online: "0-3",
        files: &[("proc/self/cgroup", "1:cpu:/docker/4f2a\n"),
            ("proc/mounts", "cgroup /sys/fs/cgroup/cpu cgroup ro,cpu 0 0\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000"), ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")],
        want: "3 of 4 CPUs: quota 3.00; 4 cores without it", on: &[0, 1, 2], ..NONE },
    Machine { name: "v1 below a mount that shows the container's group: its own nested group [S1]", online: "0-3",
        files: &[("proc/self/cgroup", "1:cpu:/docker/4f2a/job\n"), ("proc/self/mountinfo", "9 1 0:33 /docker/4f2a /cg rw - cgroup x rw,cpu\n"),
            ("cg/cpu.cfs_quota_us", "300000"), ("cg/job/cpu.cfs_quota_us", "200000"), ("cg/docker/4f2a/job/cpu.cfs_quota_us", "100000")],
        want: "2 of 4 CPUs: quota 2.00; 4 cores without it", on: &[0, 1], ..NONE },
    Machine { name: "v2 below such a mount, with optional fields; the mount itself is tighter [S1]", online: "0-3",
        files: &[("proc/self/cgroup", "0::/a b.scope/job/step\n"), ("proc/mounts", "cgroup2 /elsewhere cgroup2 rw 0 0\n"),
            ("proc/self/mountinfo", "8 1 0:1 / / rw - ext4 /dev/vda rw\n9 1 0:33 /a\\040b.scope/ /c\\040g rw,nosuid shared:4 master:1 - cgroup2 x rw\n"),
            ("c g/cpu.max", "300000"), ("c g/job/step/cpu.max", "350000"), ("elsewhere/cpu.max", "100000")],
        want: "3 of 4 CPUs: quota 3.00; 4 cores without it", on: &[0, 1, 2], ..NONE },
    Machine { name: "v2: a group beside the mount's root, whose name begins alike, leads nowhere", online: "0-3",
        files: &[("proc/self/cgroup", "0::/pod12/job\n"), ("proc/self/mountinfo", "9 1 0:33 /pod1 /cg rw - cgroup2 x rw\n"),
            ("cg/2/job/cpu.max", "100000"), ("cg/job/cpu.max", "100000"), ("cg/pod12/job/cpu.max", "100000")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "mountinfo without cgroups: proc/mounts", online: "0-3",
        files: &[("proc/self/mountinfo", "8 1 0:1 / / rw - ext4 /dev/vda rw\nshort\n9 1 0:2 / /x rw - cgroup2\n"),
            ("proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"), ("cg/cpu.max", "100000")],
        want: "1 of 4 CPUs: quota 1.00; 4 cores without it", on: &[0], ..NONE },
    Machine { name: "quotas in both versions: the smaller, whichever comes first [S1]", online: "0-7",
        files: &[("proc/mounts", "cgroup /v1 cgroup rw,cpu 0 0\ncgroup2 /v2 cgroup2 rw 0 0\ncgroup2 /v3 cgroup2 rw 0 0\n"),
            ("v1/cpu.cfs_quota_us", "300000"), ("v2/cpu.max", "250000"), ("v3/cpu.max", "500000 100000")],
        want: "2 of 8 CPUs: quota 2.50; 8 cores without it", on: &[0, 1], ..NONE },
    Machine { name: "half a CPU is one thread [S1]", online: "0-3", files: &[(CPU_V2, "50000 100000")],
        want: "1 of 4 CPUs: quota 0.50; 4 cores without it", on: &[0], ..NONE },
    Machine { name: "quota of 3 on a hybrid goes to P-cores", online: "0-11", siblings: PAIRS_4,
        files: &[(P_CORES, "0-7"), (E_CORES, "8-11"), (CPU_V2, "300000 100000")],
        want: "3 of 12 CPUs: quota 3.00; 4 cores without it", on: &[0, 2, 4], ..NONE },
    Machine { name: "cpuset with gaps [S6]", online: "0-7", mask: "2,4",
        want: "2 of 8 CPUs: one per physical core, all equal; affinity mask of 2; no quota", on: &[2, 4], ..NONE },
    Machine { name: "container that sees all of the host's CPUs [S7]", online: "0-15", mask: "0-1,8",
        want: "3 of 16 CPUs: one per physical core, all equal; affinity mask of 3; no quota", on: &[0, 1, 8], ..NONE },
    // Odd systems [S35].
    Machine { name: "no sysfs, a mask [S35]", mask: "0-2",
        want: "3 of 3 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2], ..NONE },
    Machine { name: "CPU 0 offline, lists end with NUL [S35]", online: "1-3\n\0", siblings: &["1\n\0", "2-3\n\0"],
        want: "2 of 3 CPUs: one per physical core, all equal; no quota", on: &[1, 2], ..NONE },
    Machine { name: "no list of online CPUs, two of them off [S35]",
        each: &[("online", "1,3", "0\n"), ("online", "2", "1\n"), ("topology/core_id", "0", "0")],
        want: "2 of 2 CPUs: one per physical core, all equal; no quota", on: &[0, 2], ..NONE },
    Machine { name: "a sibling that is offline leaves the core one thread [S35]", online: "0-2", siblings: &["0,2", "1,3"],
        want: "2 of 3 CPUs: one per physical core, all equal; no quota", on: &[0, 1], ..NONE },
    Machine { name: "siblings as a hex mask alone [S35]", online: "0-3",
        each: &[("topology/thread_siblings", "0,2", "00000000,00000005"), ("topology/thread_siblings", "1,3", "00000000,0000000a")],
        want: "2 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1], ..NONE },
    Machine { name: "repeated core ids and a package of -1 count for nothing [S35]", online: "0-3",
        each: &[("topology/core_id", "0-3", "0"), ("topology/physical_package_id", "0-3", "-1")],
        want: "4 of 4 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2, 3], ..NONE },
    Machine { name: "a CPU that is not among its own siblings stays alone [S35]", online: "0-2",
        each: &[("topology/core_cpus_list", "0-2", "0-1")],
        want: "2 of 3 CPUs: one per physical core, all equal; no quota", on: &[0, 2], ..NONE },
    Machine { name: "a mask of CPUs that are not there is no mask", online: "0-1", mask: "6-7",
        want: "2 of 2 CPUs: one per physical core, all equal; no quota", on: &[0, 1], ..NONE },
    Machine { name: "a list that no kernel can print is no list", online: "0-4294967295", each: &[("online", "0-2", "1")],
        want: "3 of 3 CPUs: one per physical core, all equal; no quota", on: &[0, 1, 2], ..NONE },
    Machine { name: "nothing at all [S35]", want: "1 of 1 CPU: nothing readable; no quota", on: &[0], ..NONE },
];

const NONE: Machine = Machine {
    name: "",
    online: "",
    siblings: &[],
    each: &[],
    files: &[],
    mask: "",
    want: "",
    on: &[],
};

#[test]
fn machines() {
    let mut failures = Vec::new();
    for machine in MACHINES {
        let width = Width::new(&topology(machine), &Settings::default());
        let reason = width.reason.to_string();
        if reason != machine.want || width.cpus != machine.on || width.threads != machine.on.len() {
            failures.push(format!(
                "{}: {reason} on {:?}\n  want {} on {:?}",
                machine.name, width.cpus, machine.want, machine.on
            ));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
