//! How much memory the example takes: `proc` and control groups as they may be,
//! and live, in a group of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::limits::{available_below, Available};
use crate::writer::{Gguf, Tensor};
use crate::{json, refused, Temp};

type File<'a> = (&'a str, &'a str);

/// What is available in a system of these files.
fn system(files: &[File<'_>]) -> Option<(u64, String)> {
    let root = Temp::folder("system");
    for (path, text) in files {
        let path = root.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = available_below(&root.0);
    let root = format!("the limit of {}", root.0.display());
    found.map(|Available { bytes, by }| (bytes, by.replace(&root, "").replace("//", "/")))
}

const MEMINFO: File<'_> = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1000 kB\n");
const V1: File<'_> = (
    "proc/self/mountinfo",
    "31 23 0:28 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw\n\
     33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
     35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 master:1 - cgroup cgroup rw,memory\n",
);
const OWN_V1: File<'_> = ("proc/self/cgroup", "4:memory:/a/b\n3:cpu:/x\n0::/y\n");
const V2: File<'_> =
    ("proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
const OWN_V2: File<'_> = ("proc/self/cgroup", "0::/a/b\n");

#[test]
fn the_smallest_of_the_machine_and_all_groups_of_version_1_counts() {
    assert_eq!(system(&[]), None);
    let machine = Some((1_024_000, "MemAvailable".to_owned()));
    assert_eq!(system(&[MEMINFO]), machine);
    let left = |dir: &str, files: &[File<'_>]| {
        let named = |name: &str| format!("sys/fs/cgroup/memory/{dir}/memory.{name}");
        let files: Vec<_> = files.iter().map(|(name, text)| (named(name), *text)).collect();
        let files = files.iter().map(|(name, text)| (&**name, *text));
        system(&[MEMINFO, V1, OWN_V1].into_iter().chain(files).collect::<Vec<_>>())
    };
    let said = |bytes, dir: &str| Some((bytes, format!("/sys/fs/cgroup/memory{dir}")));
    let limited = |dir: &str, limit, usage| {
        left(dir, &[("limit_in_bytes", limit), ("usage_in_bytes", usage)])
    };
    // Its own, its ancestor's, the root's, other groups', none.
    assert_eq!(limited("a/b", "5000\n", "2000\n"), said(3000, "/a/b"));
    assert_eq!(limited("a", "9000", "8000"), said(1000, "/a"));
    assert_eq!(limited(".", "9000", "8999").map(|(bytes, _)| bytes), Some(1));
    assert_eq!(limited("x", "1", "1"), machine);
    assert_eq!(limited("a/b/c", "1", "1"), machine);
    assert_eq!(limited("a", "9223372036854771712", "8"), machine);
    // Over.
    assert_eq!(limited("a", "9000", "9001"), said(0, "/a"));
    // What files take can be dropped, by the figures of all groups below.
    let files = "inactive_file 1\nactive_file 2\ntotal_inactive_file 3000\n\
                 total_active_file 500\nhierarchical_memory_limit 9223372036854771712\n";
    let group = [("limit_in_bytes", "9000"), ("usage_in_bytes", "8000"), ("stat", files)];
    assert_eq!(left("a", &group), said(4500, "/a"));
    // A limit of above what is mounted.
    let above = "hierarchical_memory_limit 700\ntotal_inactive_file 0\n";
    let group = [("limit_in_bytes", "9000"), ("usage_in_bytes", "300"), ("stat", above)];
    assert_eq!(left("a", &group), said(400, "/a"));
}

#[test]
fn the_smallest_of_all_groups_of_version_2_counts() {
    let max = |text| ("sys/fs/cgroup/a/memory.max", text);
    let current = ("sys/fs/cgroup/a/memory.current", "2000\n");
    let said = |bytes, dir: &str| Some((bytes, dir.to_owned()));
    assert_eq!(system(&[V2, OWN_V2]), None);
    assert_eq!(system(&[V2, OWN_V2, max("max\n"), current]), None);
    let own = [MEMINFO, V2, OWN_V2, max("5000\n"), current];
    assert_eq!(system(&own), said(3000, "/sys/fs/cgroup/a"));
    // Who goes above `high` is stopped.
    let below = ("sys/fs/cgroup/a/b/memory.high", "100\n");
    let stopped = [&own[..], &[below, ("sys/fs/cgroup/a/b/memory.max", "max\n")]].concat();
    assert_eq!(system(&stopped), said(100, "/sys/fs/cgroup/a/b"));
    let files = ("sys/fs/cgroup/a/memory.stat", "anon 9\ninactive_file 400\nactive_file 50\n");
    assert_eq!(system(&[&own[..], &[files]].concat()), said(3450, "/sys/fs/cgroup/a"));
}

#[test]
fn a_mount_may_show_a_part_of_the_hierarchy() {
    let mount =
        |from: &str, at: &str| format!("35 31 0:32 {from} {at} rw - cgroup cgroup rw,memory\n");
    let found = |mount: &str, own: &str, dir: &str| {
        let own = format!("4:cpu,memory:{own}\n");
        let limit = format!("{dir}/memory.limit_in_bytes");
        let files = [("proc/self/mountinfo", mount), ("proc/self/cgroup", &own), (&limit, "77")];
        system(&files).is_some_and(|(bytes, _)| bytes == 77)
    };
    let all = mount("/", "/cg");
    let part = mount("/docker/abc", "/cg");
    for (mount, own, dir, counts) in [
        (&all, "/docker/abc", "cg/docker/abc", true),
        (&all, "/docker/abc", "cg/docker", true),
        (&all, "/docker/abc", "cg/abc", false),
        (&part, "/docker/abc", "cg", true),
        (&part, "/docker/abc/deep/er", "cg/deep", true),
        (&part, "/docker/abc/deep/er", "cg/deep/er", true),
        (&part, "/docker/abc/deep/er", "cg/docker/abc", false),
        (&part, "/docker/abcd", "cg", true),
        (&part, "/docker/abcd", "cg/d", false),
        (&part, "/", "cg", true),
        (&mount("/../..", "/cg"), "/", "cg", true),
        (&all, "/../other", "cg", true),
        (&all, "/../other", "other", false),
        (&mount("/", "/my\\040cg"), "/a", "my cg/a", true),
    ] {
        assert_eq!(found(mount, own, dir), counts, "{mount} {own} {dir}");
    }
}

/// The example in a memory group of version 1 of so many MB; `None` where such
/// cannot be made.
fn confined(megabytes: usize, args: &[&str]) -> Option<Output> {
    let group = format!("/sys/fs/cgroup/memory/rowpool-{}-{megabytes}", std::process::id());
    let group = Path::new(&group);
    if let Err(error) = fs::create_dir(group) {
        eprintln!("skipped, no memory group: {error}");
        return None;
    }
    fs::write(group.join("memory.limit_in_bytes"), format!("{megabytes}M")).unwrap();
    let output = Command::new("sh")
        .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
        .arg(group)
        .arg(crate::example())
        .args(args)
        .output();
    fs::remove_dir(group).unwrap();
    Some(output.unwrap())
}

#[test]
fn in_a_small_group_fewer_layers_are_run() {
    // The least of the smallest model is 34 MB in Q8_0 and 127 in F32.
    let args = ["--seconds", "0.001", "--json"];
    let Some(output) = confined(64, &args) else { return };
    let report = json(&output);
    let layers = report["q8_0"]["layers_run"].as_u64().unwrap();
    assert!((3..=6).contains(&layers) && report["q8_0"]["layers"] == 30, "{layers}");
    assert!(report["q8_0"]["bytes_available"].as_u64().unwrap() <= 64 << 20);
    assert_eq!(report["q8_0"]["tokens_per_s_estimated"], true);
    let why = report["not_run"]["f32"].as_str().unwrap();
    assert!(why.contains("the limit of /sys/fs/cgroup/memory/") && why.contains("127 MB"), "{why}");

    let error = refused(&confined(24, &args).unwrap(), "24 MB");
    assert!(error.contains("Q8_0: ") && error.contains("F32: "), "{error}");
}

#[test]
fn in_a_small_group_files_are_held_to_the_same() {
    let tensor = |i: usize| Tensor::raw(&format!("blk.{i}.x"), 0, &[1024, 1024], vec![0; 4 << 20]);
    let file = Temp::new("big.gguf", &Gguf::new((0..20).map(tensor).collect()).bytes());
    let path = file.file();
    for (option, weights) in [("--json", "mapped"), ("--copy", "copied")] {
        let args = ["--gguf", path.to_str().unwrap(), option, "--seconds", "0.001", "--json"];
        let Some(output) = confined(40, &args) else { return };
        let report = json(&output);
        assert_eq!(report["weights"], weights);
        let layers = report["token"]["layers_run"].as_u64().unwrap();
        assert!((5..=8).contains(&layers) && report["token"]["layers"] == 20, "{layers}");
    }
}
