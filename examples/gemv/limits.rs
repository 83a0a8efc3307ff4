//! How much memory this process may still take: what the machine has available,
//! and what the limits of its control groups leave, version 1 and version 2.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Bytes, and what allows no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    pub bytes: u64,
    pub by: String,
}

/// `None` where nobody knows: where there is no Linux to ask.
pub fn available() -> Option<Available> {
    available_below(Path::new("/"))
}

/// The same, of a system whose files are below `root`.
pub fn available_below(root: &Path) -> Option<Available> {
    let groups = groups(root).into_iter().filter_map(|group| group.left());
    machine(root).into_iter().chain(groups).min_by_key(|available| available.bytes)
}

/// `MemAvailable`: free, or taken by files that can be dropped.
fn machine(root: &Path) -> Option<Available> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = kilobytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Available { bytes: kilobytes.saturating_mul(1024), by: "MemAvailable".into() })
}

/// A group that this process is in, itself or by a group below.
struct Group {
    v2: bool,
    dir: PathBuf,
}

/// All that can be seen, in each place where a hierarchy is mounted. A mount may
/// show a hierarchy from some group on: that is its `root`.
fn groups(root: &Path) -> Vec<Group> {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let own = text("proc/self/cgroup");
    let mut groups = Vec::new();
    for line in text("proc/self/mountinfo").lines() {
        let Some((mount, kind)) = line.split_once(" - ") else { continue };
        let mount: Vec<&str> = mount.split(' ').collect();
        let kind: Vec<&str> = kind.split(' ').collect();
        let (&[_, _, _, from, at, ..], &[kind, _, options, ..]) = (&mount[..], &kind[..]) else {
            continue;
        };
        let v2 = kind == "cgroup2";
        let v1 = kind == "cgroup" && options.split(',').any(|option| option == "memory");
        if !v1 && !v2 {
            continue;
        }
        let mut dir = root.join(plain(at).trim_start_matches('/'));
        groups.push(Group { v2, dir: dir.clone() });
        let Some(group) = own_group(&own, v2) else { continue };
        // A group that the mount does not show: a container's own is its root.
        let below = Path::new(group).strip_prefix(plain(from)).unwrap_or(Path::new(""));
        let inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        for name in below.components().filter(|_| inside) {
            dir.push(name);
            groups.push(Group { v2, dir: dir.clone() });
        }
    }
    groups
}

/// The path of this process's group: `4:memory:/a/b`, `0::/a/b`.
fn own_group(text: &str, v2: bool) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let found = match v2 {
            true => number == "0" && controllers.is_empty(),
            false => controllers.split(',').any(|controller| controller == "memory"),
        };
        found.then_some(group)
    })
}

/// A path of mountinfo: spaces and the like are octal there.
fn plain(path: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(path.to_owned(), |path, (octal, plain)| path.replace(octal, plain))
}

impl Group {
    /// What its limit leaves. File pages do not count as taken: the kernel drops
    /// them when the group is full. That is also why a mapped model costs its
    /// size only as long as there is room; more of it than that would be read
    /// from the disk in every step.
    fn left(&self) -> Option<Available> {
        let stat = fs::read_to_string(self.dir.join("memory.stat")).unwrap_or_default();
        let stat = |name: &str| {
            let found = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            found.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let of = |v1: &str, v2: &str| self.number(if self.v2 { v2 } else { v1 });
        // `high` kills nobody, but stops who goes on; the hierarchy's limit is
        // that of groups above, which may be out of sight.
        let limits = [
            of("memory.limit_in_bytes", "memory.max"),
            of("memory.limit_in_bytes", "memory.high"),
            stat("hierarchical_memory_limit"),
        ];
        let limit = limits.into_iter().flatten().min()?;
        let taken = of("memory.usage_in_bytes", "memory.current").unwrap_or(0);
        let files = ["inactive_file", "active_file"].map(|name| {
            // Version 1 has the groups below in figures of their own.
            stat(&format!("total_{name}")).or_else(|| stat(name)).unwrap_or(0)
        });
        let taken = taken.saturating_sub(files[0]).saturating_sub(files[1]);
        let by = format!("the limit of {}", self.dir.display());
        Some(Available { bytes: limit.saturating_sub(taken), by })
    }

    /// `None` for `max`, and where there is no such file.
    fn number(&self, file: &str) -> Option<u64> {
        fs::read_to_string(self.dir.join(file)).ok()?.trim().parse().ok()
    }
}
