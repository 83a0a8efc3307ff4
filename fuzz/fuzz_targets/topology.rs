//! Any bytes as the text of any file, as what `sysctl` prints, and as the records
//! of Windows.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run topology -- -max_total_time=60`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rowpool::topology::{CpuSet, Settings, Topology, Width, MAX_CPUS};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The files of a small machine; the input's pieces go into them in turn.
const FILES: [&str; 16] = [
    "proc/self/status",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/mounts",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings",
    "sys/devices/system/cpu/cpu0/cpu_capacity",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
    "sys/devices/system/cpu/cpu1/regs/identification/midr_el1",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us",
];

fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("rowpool-fuzz-{}", std::process::id()));
        for file in FILES {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        }
        root
    })
}

fn holds(topology: &Topology) {
    assert!((1..=MAX_CPUS).contains(&topology.cpus.len()));
    assert!(topology.mask.as_ref().is_none_or(|mask| !mask.is_empty() && mask.len() <= MAX_CPUS));
    if let Some(quota) = topology.quota {
        assert!((1..=MAX_CPUS).contains(&quota.whole_cpus()) && quota.cpus() > 0.0);
    }
    let width = Width::new(topology, &Settings::default());
    assert!((1..=topology.usable()).contains(&width.threads));
    assert_eq!(width.threads, width.cpus.len());
}

fuzz_target!(|bytes: &[u8]| {
    holds(&Topology::from_sysctl(&String::from_utf8_lossy(bytes)));
    let mask: CpuSet = bytes.iter().map(|&byte| usize::from(byte)).collect();
    holds(&Topology::from_processor_records(bytes, &mask));
    let mut pieces = bytes.split(|&byte| byte == 0xff);
    for file in FILES {
        fs::write(root().join(file), pieces.next().unwrap_or_default()).unwrap();
    }
    holds(&Topology::read_from(root()));
});
