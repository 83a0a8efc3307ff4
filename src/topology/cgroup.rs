//! The CPU quota of the process's control groups, version 1 and version 2.

use super::facts::Quota;
use super::parse::{self, CgroupMount};
use super::tree::Tree;

/// Where the hierarchies are by custom, for trees whose `proc/mounts` cannot
/// be read: (version 2, path). A place that does not exist costs one failed
/// look.
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

/// The smallest quota over the process's groups and all their ancestors.
pub(crate) fn quota(tree: &Tree<'_>) -> Option<Quota> {
    let mut mounts = parse::cgroup_mounts(&tree.text("proc/mounts").unwrap_or_default());
    if mounts.is_empty() {
        mounts.extend(USUAL_PLACES.map(|(v2, path)| CgroupMount { v2, path: path.to_string() }));
    }
    mounts.truncate(MAX_MOUNTS);
    let own = parse::own_cgroups(&tree.text("proc/self/cgroup").unwrap_or_default());
    mounts
        .iter()
        .filter_map(|mount| {
            let group = if mount.v2 { &own.v2 } else { &own.v1_cpu };
            smallest_on_the_way(tree, mount, group.as_deref().unwrap_or("/"))
        })
        .reduce(Quota::min)
}

/// The smallest quota from the mount's root down to the group. The root is
/// looked at even where the group does not exist below it: a container that
/// sees its host's path has its own group mounted as the root.
fn smallest_on_the_way(tree: &Tree<'_>, mount: &CgroupMount, group: &str) -> Option<Quota> {
    // A path with `..` is outside of what this mount shows.
    let inside = !group.split('/').any(|name| name == "..");
    let names = group.split('/').filter(|name| inside && !name.is_empty()).take(MAX_DEPTH);
    let mut dir = mount.path.trim_end_matches('/').to_string();
    let mut smallest = group_quota(tree, mount.v2, &dir);
    for name in names {
        dir.push('/');
        dir.push_str(name);
        let quota = group_quota(tree, mount.v2, &dir);
        smallest = smallest.into_iter().chain(quota).reduce(Quota::min);
    }
    smallest
}

fn group_quota(tree: &Tree<'_>, v2: bool, dir: &str) -> Option<Quota> {
    if v2 {
        return parse::cpu_max(&tree.text(&format!("{dir}/cpu.max"))?);
    }
    let quota = tree.text(&format!("{dir}/cpu.cfs_quota_us"))?;
    let period = tree.text(&format!("{dir}/cpu.cfs_period_us"));
    parse::cfs_quota(&quota, period.as_deref())
}
