//! The parsers' own cases, which run everywhere; those of `../shared/topology`
//! are in `topology_fixtures.rs`.

use rowpool::topology::parse::{
    cfs_quota, cgroup_mounts, cpu_list, cpu_mask, cpu_max, own_cgroups, status_mask,
};

#[test]
fn lists() {
    let table = [
        ("0-3", "0-3"),
        ("2,5", "2,5"),
        (" 1 , 3 - 4 \n", "1,3-4"),
        ("0-31\n\0", "0-31"),
        ("4\u{0}5", "4"),
        ("0-7:2/4", "0-1,4-5"),
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
        assert_eq!(cpu_list(text).to_string(), set, "{text:?}");
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
        assert_eq!(cpu_mask(text).to_string(), set, "{text:?}");
    }
    // CPU 8192 is one too many; zeros there are no harm.
    let zeros = ",00000000".repeat(256);
    assert_eq!(cpu_mask(&format!("1{zeros}")).to_string(), "");
    assert_eq!(cpu_mask(&format!("0{zeros}")).to_string(), "");
    assert_eq!(cpu_mask(&format!("0{}", zeros.replacen('0', "8", 1))).to_string(), "8191");
}

#[test]
fn quotas() {
    let cpus = |quota: Option<rowpool::topology::Quota>| quota.map(|quota| quota.cpus());
    assert_eq!(cpus(cpu_max("150000 100000\n")), Some(1.5));
    assert_eq!(cpus(cpu_max("200000")), Some(2.0));
    for none in ["max 100000", "max", "", "0 100000", "100000 0", "-1 100000", "1e5", "100000 x"] {
        assert_eq!(cpus(cpu_max(none)), None, "{none:?}");
    }
    assert_eq!(cpus(cfs_quota("25000\n", Some("50000\n"))), Some(0.5));
    assert_eq!(cpus(cfs_quota("250000\n", None)), Some(2.5));
    for (quota, period) in [("-1", "100000"), ("x", "100000"), ("1", "0"), ("1", "x"), ("1", "")] {
        assert_eq!(cpus(cfs_quota(quota, Some(period))), None, "{quota:?} {period:?}");
    }
    // The most that a machine can have, and the least above it.
    assert_eq!(cpus(cpu_max("819200000 100000")), Some(8192.0));
    assert_eq!(cpus(cpu_max("819300000 100000")), None);
    assert_eq!(cpus(cpu_max("18446744073709551615 100000")), None);
}

#[test]
fn status() {
    let mask = |text: &str| status_mask(text).map(|mask| mask.to_string());
    assert_eq!(mask("Cpus_allowed:\tf\nCpus_allowed_list:\t0-1\n"), Some("0-1".into()));
    assert_eq!(mask("Cpus_allowed:\tf\n"), Some("0-3".into()));
    // A list that cannot be read gives way to the mask.
    assert_eq!(mask("Cpus_allowed_list:\tx\nCpus_allowed:\t2\n"), Some("1".into()));
    assert_eq!(mask("Mems_allowed_list:\t0\n"), None);
    assert_eq!(mask("Cpus_allowed_list:\t\n"), None);
}

#[test]
fn mounts() {
    let paths = |text: &str| {
        let mounts = cgroup_mounts(text).into_iter();
        mounts.map(|mount| (mount.v2, mount.path)).collect::<Vec<_>>()
    };
    assert_eq!(paths("none /a cgroup rw,cpuacct,cpu 0 0"), [(false, "/a".to_string())]);
    assert_eq!(paths("x /a\\040b\\134 cgroup2 rw 0 0"), [(true, "/a b\\".to_string())]);
    // Not an escape: kept as it is.
    assert_eq!(paths("x /a\\9\\ cgroup2 rw 0 0"), [(true, "/a\\9\\".to_string())]);
    for none in [
        "none /a cgroup rw,cpuset 0 0",
        "none /a cgroup rw,cpuacct 0 0",
        "none /dev/cpuset cpuset rw 0 0",
        "cgroup2 /a tmpfs rw,cpu 0 0",
        "cgroup2 /a",
        "",
    ] {
        assert_eq!(paths(none), [], "{none:?}");
    }
}

#[test]
fn groups() {
    let own = |text: &str| {
        let own = own_cgroups(text);
        (own.v1_cpu, own.v2)
    };
    let some = |path: &str| Some(path.to_string());
    assert_eq!(own("3:cpu,cpuacct:/a\n2:cpuset:/b\n0::/c\n"), (some("/a"), some("/c")));
    assert_eq!(own("2:cpuset:/b\n1:name=systemd:/d\n"), (None, None));
    assert_eq!(own("0::/a:b (deleted)\n"), (None, some("/a:b")));
    assert_eq!(own("0::\nno colons\n1:cpu"), (None, some("")));
}
