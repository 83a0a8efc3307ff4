//! Control groups that this process is in, alone; for tests in a process of
//! their own. Version 1, or version 2 where the controller is there.

#![allow(dead_code, reason = "every binary uses a part")]

use std::fs;
use std::io;
use std::path::PathBuf;

/// Left and removed when it is dropped.
pub struct Group {
    hierarchy: PathBuf,
    dir: PathBuf,
    v2: bool,
}

/// The mounts of version 2, or of a controller in version 1.
fn mounts(version2: bool, controller: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let has = match version2 {
            true => fields[2] == "cgroup2",
            false => fields[2] == "cgroup" && fields[3].split(',').any(|o| o == controller),
        };
        has.then(|| PathBuf::from(fields[1]))
    };
    mounts.lines().filter_map(of).collect()
}

/// The version 1 hierarchy of a controller.
pub fn hierarchy(controller: &str) -> Option<PathBuf> {
    mounts(false, controller).pop()
}

/// Where version 2 is mounted.
pub fn unified_mounts() -> Vec<PathBuf> {
    mounts(true, "")
}

/// A version 2 hierarchy with a controller that its groups may have.
fn unified(controller: &str) -> Option<PathBuf> {
    let has = |dir: &PathBuf| {
        let controllers = fs::read_to_string(dir.join("cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == controller)
            && fs::write(dir.join("cgroup.subtree_control"), format!("+{controller}")).is_ok()
    };
    unified_mounts().into_iter().find(has)
}

impl Group {
    /// Makes one in the version 1 hierarchy of `controller`, writes the settings,
    /// enters.
    pub fn enter(controller: &str, settings: &[(&str, &str)]) -> io::Result<Group> {
        let none = || io::Error::other(format!("no {controller} controller of version 1"));
        Group::enter_in(hierarchy(controller).ok_or_else(none)?, false, settings)
    }

    fn enter_in(hierarchy: PathBuf, v2: bool, settings: &[(&str, &str)]) -> io::Result<Group> {
        let dir = hierarchy.join(format!("rowpool-{}", std::process::id()));
        fs::create_dir(&dir)?;
        let group = Group { hierarchy, dir, v2 };
        for (file, value) in settings {
            fs::write(group.file(file), value)?;
        }
        fs::write(group.file("cgroup.procs"), std::process::id().to_string())?;
        Ok(group)
    }

    /// One with a CPU quota, of whatever version there is; `None`, said on the
    /// terminal, where none is to be had.
    pub fn with_quota(percent: u32) -> Option<Group> {
        let entered = match (hierarchy("cpu"), unified("cpu")) {
            (Some(v1), _) => Group::enter_in(v1, false, &[]),
            (None, Some(v2)) => Group::enter_in(v2, true, &[]),
            (None, None) => Err(io::Error::other("no cpu controller")),
        };
        let set = entered.and_then(|group| group.set_quota(percent).map(|()| group));
        let version = if unified("cpu").is_some() { "cgroup2-cpu" } else { "cgroup1-cpu" };
        let say = |why: &io::Error| cannot_check!(version, "{why}");
        set.inspect_err(say).ok()
    }

    /// Changes the quota.
    pub fn set_quota(&self, percent: u32) -> io::Result<()> {
        match self.v2 {
            true => fs::write(self.file("cpu.max"), format!("{} 100000", percent * 1000)),
            false => {
                fs::write(self.file("cpu.cfs_period_us"), "100000")?;
                fs::write(self.file("cpu.cfs_quota_us"), (percent * 1000).to_string())
            }
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.hierarchy.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.dir);
    }
}
