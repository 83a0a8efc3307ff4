//! The CPU quota of the process's control groups, version 1 and version 2.

use super::facts::Quota;
use super::parse::{self, CgroupMount};
use super::tree::Tree;

/// Where the hierarchies are by custom, for trees that name no mounts: (version
/// 2, path). A place that does not exist costs one failed look.
const USUAL_PLACES: [(bool, &str); 6] = [
    (true, "/sys/fs/cgroup"),
    (true, "/sys/fs/cgroup/unified"),
    (false, "/sys/fs/cgroup/cpu"),
    (false, "/sys/fs/cgroup/cpu,cpuacct"),
    (false, "/sys/fs/cgroup/cpuacct,cpu"),
    (false, "/dev/cpuctl"), // Android
];

/// Deepest group whose own limit is looked at; those above it always are.
/// Real hierarchies stay below 20 levels.
const MAX_DEPTH: usize = 128;

/// Most hierarchies looked at. A system mounts one or two of them, and
/// containers' views of the same ones.
const MAX_MOUNTS: usize = 64;

/// The groups that bound the process: its own and all their ancestors, as far
/// as they are mounted. Found once, and again when the process has moved.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The text of `proc/self/cgroup` that they were found by.
    own: Option<String>,
    /// (version 2, directory)
    dirs: Vec<(bool, String)>,
}

impl Groups {
    /// The smallest quota of this moment. Reads a small file or two for each
    /// group.
    pub(crate) fn quota(&mut self, tree: &Tree<'_>) -> Option<Quota> {
        let own = tree.text("proc/self/cgroup").unwrap_or_default();
        if self.own.as_ref() != Some(&own) {
            self.dirs = find(tree, &own);
            self.own = Some(own);
        }
        let quotas = self.dirs.iter().filter_map(|(v2, dir)| group_quota(tree, *v2, dir));
        quotas.reduce(Quota::min)
    }
}

fn find(tree: &Tree<'_>, own: &str) -> Vec<(bool, String)> {
    // Of these two only the first tells which group a mount shows as its root.
    let text = |path: &str| tree.text(path).unwrap_or_default();
    let mut mounts = parse::mountinfo(&text("proc/self/mountinfo"));
    if mounts.is_empty() {
        mounts = parse::mounts(&text("proc/mounts"));
    }
    if mounts.is_empty() {
        let usual =
            |(v2, path): (bool, &str)| CgroupMount { v2, root: "/".into(), path: path.into() };
        mounts.extend(USUAL_PLACES.map(usual));
    }
    mounts.truncate(MAX_MOUNTS);
    let own = parse::own_cgroups(own);
    let mut dirs = Vec::new();
    for mount in &mounts {
        let group = if mount.v2 { &own.v2 } else { &own.v1_cpu };
        on_the_way(mount, group.as_deref().unwrap_or("/"), &mut dirs);
    }
    dirs
}

/// Adds the directories from the mount's root down to the group. The root is
/// looked at even where the group is not below it: it may be the own group of a
/// container that sees its host's path.
fn on_the_way(mount: &CgroupMount, group: &str, dirs: &mut Vec<(bool, String)>) {
    // What a mount shows begins at its root. A group outside of that, or a path
    // with `..`, leads nowhere.
    let below = group.strip_prefix(mount.root.trim_end_matches('/'));
    let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or("");
    let inside = !below.split('/').any(|name| name == "..");
    let names = below.split('/').filter(|name| inside && !name.is_empty()).take(MAX_DEPTH);
    let mut dir = mount.path.trim_end_matches('/').to_string();
    dirs.push((mount.v2, dir.clone()));
    for name in names {
        dir.push('/');
        dir.push_str(name);
        dirs.push((mount.v2, dir.clone()));
    }
}

fn group_quota(tree: &Tree<'_>, v2: bool, dir: &str) -> Option<Quota> {
    if v2 {
        return parse::cpu_max(&tree.text(&format!("{dir}/cpu.max"))?);
    }
    let quota = tree.text(&format!("{dir}/cpu.cfs_quota_us"))?;
    let period = tree.text(&format!("{dir}/cpu.cfs_period_us"));
    parse::cfs_quota(&quota, period.as_deref())
}
