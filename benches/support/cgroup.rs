//! A CPU quota for some processes: a control group of version 1, removed when
//! it is dropped; what a killed bench left behind, when the next one is made.

use std::fs;
use std::time::Duration;

/// By its directory.
pub struct Group(String);

const MOUNT: &str = "/sys/fs/cgroup/cpu";
const PREFIX: &str = "rowpool-bench-";
/// The kernel's default.
const PERIOD_US: u32 = 100_000;

impl Group {
    /// A group of so many hundredths of a CPU; what is missing for it, if so.
    pub fn with_quota(percent: u32) -> Result<Group, String> {
        let ours = |name: &str| name.starts_with(PREFIX);
        for old in fs::read_dir(MOUNT).into_iter().flatten().flatten() {
            // One that is in use cannot be removed.
            if old.file_name().to_str().is_some_and(ours) {
                let _ = fs::remove_dir(old.path());
            }
        }
        let group = Group(format!("{MOUNT}/{PREFIX}{}-{percent}", std::process::id()));
        let dir = group.dir();
        fs::create_dir(dir).map_err(|error| format!("{dir}: {error}"))?;
        let quota = PERIOD_US / 100 * percent;
        for (file, us) in [("cpu.cfs_period_us", PERIOD_US), ("cpu.cfs_quota_us", quota)] {
            let written = fs::write(format!("{dir}/{file}"), us.to_string());
            written.map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(group)
    }

    pub fn dir(&self) -> &str {
        &self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Children may be about to leave it.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.0);
    }
}

/// Moves this process, with all its threads, into a group.
pub fn join(dir: &str) -> std::io::Result<()> {
    fs::write(format!("{dir}/cgroup.procs"), std::process::id().to_string())
}

/// How long the CPUs of a group stood still for its quota, all of them summed.
pub fn throttled(dir: &str) -> Option<Duration> {
    let stat = fs::read_to_string(format!("{dir}/cpu.stat")).ok()?;
    let time = stat.lines().find_map(|line| line.strip_prefix("throttled_time "))?;
    Some(Duration::from_nanos(time.trim().parse().ok()?))
}
