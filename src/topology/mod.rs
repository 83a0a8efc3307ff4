//! Where to run: facts about the CPUs, and the width rule over them.
//!
//! A pool's default width should be right on a hybrid laptop, a phone, a NUMA
//! server and in a container with a quota, and should say why. So the reading
//! of a system ([`Topology::detect`]) is apart from the rule ([`Width::new`]),
//! which is a pure function, and the answer carries its [`Reason`].
//!
//! The rule: of the CPUs that are online, the performance cores; of those,
//! what the process's affinity mask allows (the mask itself, where it allows
//! no performance core); one thread for each physical core; at most the whole
//! CPUs of the smallest quota on the way to the control group's root; at
//! least 1. A setting of the user beats all of it.
//!
//! A core counts as a performance core by the first of these that tells cores
//! apart: on Linux and Android the kernel's list of Intel's P-cores, then at
//! least 0.75 of the largest `cpu_capacity`, `highest_perf` (not on AMD, where
//! it ranks equal cores) or `cpuinfo_max_freq`; on macOS all levels but those
//! named Efficiency; on Windows the highest EfficiencyClass.
//!
//! Nothing of this runs while a pool works: a pool asks once, when it is made.
//!
//! ```
//! use rowpool::topology::{usable_cpus, Settings, Topology, Width};
//!
//! let topology = Topology::detect();
//! let width = Width::new(&topology, &Settings::default());
//! println!("{}", width.reason);
//! assert!(width.threads <= usable_cpus(&topology));
//! ```

// Imports run downwards in this list.
mod warn;
mod width;

mod reason;

mod cgroup;
mod linux;
pub mod macos;
pub mod windows;

#[cfg(target_vendor = "apple")]
mod ffi_macos;
#[cfg(windows)]
mod ffi_windows;

mod kinds;
pub mod parse;
mod tree;

mod facts;

mod cpuset;

use std::path::Path;

pub use cpuset::{CpuSet, MAX_CPUS};
pub use facts::{CoreKind, Cpu, Quota, Rule, Topology, FULL_CAPACITY};
pub use reason::Reason;
pub use warn::{warnings, Warning};
pub(crate) use width::within_quota;
pub use width::{placement, usable_cpus, Settings, Width};

impl Topology {
    /// Reads the running system. Never fails: what cannot be read is done
    /// without, down to [`std::thread::available_parallelism`] equal CPUs.
    ///
    /// Reads some files for each CPU on Linux: call it when a pool is made,
    /// not for each region.
    ///
    /// ```
    /// let topology = rowpool::topology::Topology::detect();
    /// assert!(!topology.cpus.is_empty());
    /// ```
    pub fn detect() -> Topology {
        detect(std::thread::available_parallelism().map_or(1, |count| count.get()))
    }

    /// Reads a Linux or Android system below `root`, a directory that is laid
    /// out as `/`, on whatever system this runs: sysfs, the affinity mask of
    /// `proc/self/status`, and the cgroup mounts that `proc/mounts` names, or
    /// the usual ones. Symbolic links are followed.
    ///
    /// Never fails: a root with nothing readable gives one CPU.
    ///
    /// ```
    /// use rowpool::topology::{Rule, Topology};
    /// let empty = Topology::read_from("/does/not/exist".as_ref());
    /// assert_eq!((empty.cpus.len(), empty.rule), (1, Rule::Nothing));
    /// ```
    pub fn read_from(root: &Path) -> Topology {
        linux::read(root, linux::Live::default())
    }
}

/// [`usable_cpus`] by the process's affinity mask of this moment, which may have
/// changed since `topology` was detected; the CPUs and the quota are those of
/// `topology`. A system call or two where the system has masks.
///
/// ```
/// use rowpool::topology::{usable_cpus, usable_cpus_now, Topology};
/// let topology = Topology::detect();
/// assert_eq!(usable_cpus_now(&topology), usable_cpus(&topology));
/// ```
pub fn usable_cpus_now(topology: &Topology) -> usize {
    within_quota(topology, allowed_cpus_now(topology))
}

/// The CPUs in the process's affinity mask of this moment.
pub(crate) fn allowed_cpus_now(topology: &Topology) -> usize {
    let now = current_mask();
    topology.allowed_by(now.as_ref().or(topology.mask.as_ref())).len()
}

/// The process's affinity mask, where the system has such a thing.
fn current_mask() -> Option<CpuSet> {
    let mask: CpuSet = crate::sys::allowed_cpus().into_iter().collect();
    (!mask.is_empty()).then_some(mask)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn detect(parallelism: usize) -> Topology {
    let live = linux::Live { mask: current_mask(), parallelism: Some(parallelism) };
    linux::read(Path::new("/"), live)
}

#[cfg(target_vendor = "apple")]
fn detect(parallelism: usize) -> Topology {
    macos::topology(ffi_macos::read_key, parallelism)
}

#[cfg(windows)]
fn detect(parallelism: usize) -> Topology {
    windows::topology(&ffi_windows::records(), ffi_windows::process_mask(), parallelism)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", windows)))]
fn detect(parallelism: usize) -> Topology {
    // No known call to bind a thread: nothing is bindable.
    Topology::equal(parallelism, Rule::Parallelism, 0)
}
