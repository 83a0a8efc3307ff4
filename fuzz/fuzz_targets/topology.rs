//! Any bytes as the text of any file, and as the buffer of Windows.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run topology -- -max_total_time=60`
#![no_main]

use libfuzzer_sys::fuzz_target;
use rowpool::topology::{parse, windows, CpuSet, Settings, Width, MAX_CPUS};

fn small(set: &CpuSet) {
    assert!(set.len() <= MAX_CPUS);
    // What is printed is read back as the same set.
    assert_eq!(&parse::cpu_list(&set.to_string()), set);
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    small(&parse::cpu_list(&text));
    small(&parse::cpu_mask(&text));
    if let Some(mask) = parse::status_mask(&text) {
        assert!(!mask.is_empty());
        small(&mask);
    }
    // A file of two lines stands for the two files of version 1.
    let (quota, period) = text.split_once('\n').unwrap_or((&text, ""));
    let quotas = [
        parse::cpu_max(&text),
        parse::cfs_quota(quota, Some(period)),
        parse::cfs_quota(quota, None),
    ];
    for quota in quotas.into_iter().flatten() {
        assert!((1..=MAX_CPUS).contains(&quota.whole_cpus()));
        assert!(quota.cpus() > 0.0);
    }
    for mount in parse::cgroup_mounts(&text) {
        assert!(mount.path.len() <= text.len());
    }
    let _ = parse::own_cgroups(&text);
    let _ = parse::modalias_is_amd(&text);
    let _ = parse::number(&text);

    for pointer in [4, 8] {
        let records = windows::parse_records(bytes, pointer);
        let topology = windows::topology(&records, windows::GroupMask::default(), 1);
        let width = Width::new(&topology, &Settings::default());
        assert!(width.threads >= 1 && width.threads == width.cpus.len());
    }
});
