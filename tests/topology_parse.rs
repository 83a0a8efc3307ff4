//! The texts of sysfs, procfs and the cgroup files, through the files that hold
//! them.

#[path = "common/tree.rs"]
mod tree;

use rowpool::topology::{CpuSet, Topology};
use tree::{Tree, SYS};

fn read(files: &[(&str, &str)]) -> Topology {
    let tree = Tree::empty();
    files.iter().for_each(|(path, text)| tree.write(path, text));
    Topology::read_from(tree.root())
}

/// The CPUs of a list; those online, where CPU 9 is the one to fall back to.
fn cpu_list(text: &str) -> String {
    let topology =
        read(&[(&format!("{SYS}/online"), text), ("proc/self/status", "Cpus_allowed_list: 9")]);
    match topology.online().to_string() {
        fallen_back if fallen_back == "9" => String::new(),
        set => set,
    }
}

/// The CPUs of a hex mask: the process's.
fn cpu_mask(text: &str) -> String {
    status_mask(&format!("Cpus_allowed:\t{text}\n")).unwrap_or_default()
}

fn status_mask(text: &str) -> Option<String> {
    read(&[("proc/self/status", text)]).mask.as_ref().map(CpuSet::to_string)
}

fn cpu_max(text: &str) -> Option<f64> {
    read(&[("sys/fs/cgroup/cpu.max", text)]).quota.map(|quota| quota.cpus())
}

fn cfs_quota(quota: &str, period: Option<&str>) -> Option<f64> {
    let mut files = vec![("sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota)];
    files.extend(period.map(|period| ("sys/fs/cgroup/cpu/cpu.cfs_period_us", period)));
    read(&files).quota.map(|quota| quota.cpus())
}

#[test]
fn lists() {
    let table = [
        ("0-3", "0-3"),
        ("2,5", "2,5"),
        (" 1 , 3 - 4 \n", "1,3-4"),
        ("0-31\n\0", "0-31"),
        ("4\u{0}5", "4"),
        ("0-7:2/4", "0-1,4-5"),
        ("1-5,8-19", "1-5,8-19"),
        ("0-5:2/4", "0-1,4-5"),
        ("2-9:1/3", "2,5,8"),
        ("0-4:2/4", "0-1,4"), // cut off at the end
        ("5-8191:1/8000", "5,8005"),
        ("0-7:4/4", "0-7"),
        ("0-6:3/4", "0-2,4-6"),
        ("8191", "8191"),
        // Left out, with what stands beside it kept.
        ("8192,1", "1"),
        ("0-8192,1", "1"),
        ("0-4294967295", ""),
        ("0-99999999999999999999,2", "2"),
        ("3-1,7", "7"),
        ("abc,1", "1"),
        ("-1", ""),
        ("1-", ""),
        ("0-7:0/4", ""),
        ("0-7:5/4", ""),
        ("0-7:2/0", ""),
        ("0-7:2", ""),
        ("(null)", ""),
        ("", ""),
    ];
    for (text, set) in table {
        assert_eq!(cpu_list(text), set, "{text:?}");
    }
}

#[test]
fn masks() {
    let table = [
        ("f", "0-3"),
        ("00000000,00000101\n\0", "0,8"),
        ("1,00000000,00000000", "64"),
        ("80000000", "31"),
        ("", ""),
        (",", ""),
        ("1,,1", ""),
        ("+1", ""),
        ("0x1", ""),
        ("100000000", ""), // more than 32 bits in a word
    ];
    for (text, set) in table {
        assert_eq!(cpu_mask(text), set, "{text:?}");
    }
    // CPU 8192 is one too many; zeros there are no harm.
    let zeros = ",00000000".repeat(256);
    assert_eq!(cpu_mask(&format!("1{zeros}")), "");
    assert_eq!(cpu_mask(&format!("0{zeros}")), "");
    assert_eq!(cpu_mask(&format!("0{}", zeros.replacen('0', "8", 1))), "8191");
}

#[test]
fn quotas() {
    assert_eq!(cpu_max("150000 100000\n"), Some(1.5));
    assert_eq!(cpu_max("200000"), Some(2.0));
    for none in ["max 100000", "max", "", "0 100000", "100000 0", "-1 100000", "1e5", "100000 x"] {
        assert_eq!(cpu_max(none), None, "{none:?}");
    }
    assert_eq!(cfs_quota("25000\n", Some("50000\n")), Some(0.5));
    assert_eq!(cfs_quota("250000\n", None), Some(2.5));
    for (quota, period) in [("-1", "100000"), ("x", "100000"), ("1", "0"), ("1", "x"), ("1", "")] {
        assert_eq!(cfs_quota(quota, Some(period)), None, "{quota:?} {period:?}");
    }
    // The most that a machine can have, and the least above it.
    assert_eq!(cpu_max("819200000 100000"), Some(8192.0));
    assert_eq!(cpu_max("819300000 100000"), None);
    assert_eq!(cpu_max("18446744073709551615 100000"), None);
}

#[test]
fn status() {
    let mask = status_mask;
    assert_eq!(mask("Cpus_allowed:\tf\nCpus_allowed_list:\t0-1\n"), Some("0-1".into()));
    assert_eq!(mask("Cpus_allowed:\tf\n"), Some("0-3".into()));
    // A list that cannot be read gives way to the mask.
    assert_eq!(mask("Cpus_allowed_list:\tx\nCpus_allowed:\t2\n"), Some("1".into()));
    assert_eq!(mask("Mems_allowed_list:\t0\n"), None);
    assert_eq!(mask("Cpus_allowed_list:\t\n"), None);
}

/// Where a quota is found: `mounts` names hierarchies, `/a` and `/a b\\` hold one.
fn mounted(file: &str, text: &str, holds: &str) -> bool {
    let [v1, v2] = ["cpu.cfs_quota_us", "cpu.max"].map(|file| format!("{holds}/{file}"));
    // Mounts that are not those of custom, also where none is named.
    read(&[(file, text), (&v1, "100000"), (&v2, "100000")]).quota.is_some()
}

#[test]
fn mounts() {
    let found = |text: &str, at: &str| mounted("proc/mounts", text, at);
    assert!(found("none /a cgroup rw,cpuacct,cpu 0 0", "a"));
    assert!(found("x /a\\040b\\134 cgroup2 rw 0 0", "a b\\"));
    // Not an escape: kept as it is.
    assert!(found("x /a\\9\\ cgroup2 rw 0 0", "a\\9\\"));
    assert!(found("x /a\\777 cgroup2 rw 0 0", "a\\777"));
    for none in [
        "none /a cgroup rw,cpuset 0 0",
        "none /a cgroup rw,cpuacct 0 0",
        "none /dev/cpuset cpuset rw 0 0",
        "cgroup2 /a tmpfs rw,cpu 0 0",
        "cgroup2 /a",
        "",
    ] {
        assert!(!found(none, "a"), "{none:?}");
    }
    let found = |text: &str, at: &str| mounted("proc/self/mountinfo", text, at);
    assert!(found("1 2 0:3 / /a rw - cgroup none rw,cpuacct,cpu", "a"));
    assert!(found("1 2 0:3 /x /a\\040b rw shared:1 master:2 - cgroup2 none rw", "a b"));
    for none in [
        "1 2 0:3 / /a rw,cpu - cgroup none rw",
        "1 2 0:3 / /a rw - cgroup none rw,cpuset",
        "1 2 0:3 / /a rw - tmpfs none rw,cpu",
        "1 2 0:3 / /a rw cgroup2 none rw",
        "1 2 0:3 / - cgroup2 none rw",
        "- cgroup2",
        "",
    ] {
        assert!(!found(none, "a"), "{none:?}");
    }
}

/// The processes' own groups: `v1` and `v2`, each of which alone has a quota.
#[test]
fn groups() {
    let own = |text: &str, group: &str| {
        let mounts = "x /v1 cgroup rw,cpu 0 0\nx /v2 cgroup2 rw 0 0\n";
        let [v1, v2] = [format!("v1{group}/cpu.cfs_quota_us"), format!("v2{group}/cpu.max")];
        let of = |file: &str| {
            let files = [("proc/self/cgroup", text), ("proc/mounts", mounts), (file, "100000")];
            read(&files).quota.is_some()
        };
        (of(&v1), of(&v2))
    };
    let text = "3:cpu,cpuacct:/a\n2:cpuset:/b\n0::/c\n4:cpu:/d\n0::/e\n";
    assert_eq!(own(text, "/a"), (true, false));
    assert_eq!(own(text, "/c"), (false, true));
    for other in ["/b", "/d", "/e"] {
        assert_eq!(own(text, other), (false, false), "{other}: of another line");
    }
    assert_eq!(own(text, ""), (true, true), "the root bounds both");
    assert_eq!(own("2:cpuset:/b\n1:name=systemd:/d\n", "/b"), (false, false));
    assert_eq!(own("0::/a:b (deleted)\n", "/a:b"), (false, true));
    assert_eq!(own("0::\nno colons\n1:cpu", ""), (true, true));
    // Each of its ancestors, and no deeper than 128.
    let deep = "/x".repeat(200);
    for (levels, found) in [(1, true), (128, true), (129, false)] {
        let found = (false, found);
        assert_eq!(own(&format!("0::{deep}"), &"/x".repeat(levels)), found, "{levels}");
    }
}

/// Mounts of one system are few; of a made-up one not all are looked at.
#[test]
fn many_mounts() {
    let mounts: String = (0..70).map(|i| format!("x /cg{i} cgroup2 rw 0 0\n")).collect();
    for (at, found) in [(0, true), (63, true), (64, false)] {
        assert_eq!(mounted("proc/mounts", &mounts, &format!("cg{at}")), found, "{at}");
    }
}

/// Where no mounts are named.
#[test]
fn usual_places() {
    let quota = |path: &str| read(&[(path, "250000")]).quota.map(|quota| quota.cpus());
    for dir in ["cpu", "cpu,cpuacct", "cpuacct,cpu"] {
        assert_eq!(quota(&format!("sys/fs/cgroup/{dir}/cpu.cfs_quota_us")), Some(2.5), "{dir}");
    }
    assert_eq!(quota("dev/cpuctl/cpu.cfs_quota_us"), Some(2.5));
    for dir in ["cgroup", "cgroup/unified"] {
        assert_eq!(quota(&format!("sys/fs/{dir}/cpu.max")), Some(2.5), "{dir}");
    }
}
