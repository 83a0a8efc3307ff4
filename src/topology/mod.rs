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
//! least 0.75 of the largest `cpu_capacity` or `highest_perf` (not on AMD, where
//! it ranks equal cores), then, of the parts that are not sold as little cores
//! (`midr_el1`), 0.75 of the largest `cpuinfo_max_freq`; on macOS all levels but
//! those named Efficiency; on Windows the highest EfficiencyClass.
//!
//! Nothing of this runs while a pool works, but for one thing: mask and quota
//! are read again now and then, since both may change.
//!
//! ```
//! use rowpool::topology::{Settings, Topology, Width};
//!
//! let topology = Topology::detect();
//! let width = Width::new(&topology, &Settings::default());
//! println!("{}", width.reason);
//! assert!(width.threads <= topology.usable());
//! ```

// Imports run downwards in this list.
mod watch;
mod width;

mod reason;

mod linux;
mod macos;
mod windows;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod ffi_linux;
#[cfg(target_vendor = "apple")]
mod ffi_macos;
#[cfg(windows)]
mod ffi_windows;

mod affinity;
mod cgroup;
mod kinds;
mod tree;

mod parse;

mod facts;

mod cpuset;

use std::path::Path;

pub use cpuset::{CpuSet, MAX_CPUS};
pub use facts::{CoreKind, Cpu, Quota, Rule, Topology, FULL_CAPACITY};
pub use reason::Reason;
pub(crate) use watch::{Usable, Watch};
pub use width::{Settings, Width};

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
    /// `proc/self/status`, and the cgroup mounts that `proc/self/mountinfo` or
    /// `proc/mounts` names, or the usual ones. Symbolic links are followed.
    ///
    /// Never fails: a root with nothing readable gives one CPU.
    ///
    /// ```
    /// use rowpool::topology::{Rule, Topology};
    /// let empty = Topology::read_from("/does/not/exist".as_ref());
    /// assert_eq!((empty.cpus.len(), empty.rule), (1, Rule::Nothing));
    /// ```
    pub fn read_from(root: &Path) -> Topology {
        linux::read(root, &affinity::Masks::default(), None)
    }

    /// Reads a Mac from what `sysctl hw` prints there: lines `key: value`. Never
    /// fails: without a count of CPUs there is one.
    ///
    /// ```
    /// use rowpool::topology::{Settings, Topology, Width};
    /// let m1 = Topology::from_sysctl(
    ///     "hw.nperflevels: 2\n\
    ///      hw.perflevel0.physicalcpu: 4\n\
    ///      hw.perflevel0.name: Performance\n\
    ///      hw.perflevel1.physicalcpu: 4\n\
    ///      hw.perflevel1.name: Efficiency\n",
    /// );
    /// assert_eq!((m1.cpus.len(), Width::new(&m1, &Settings::default()).threads), (8, 4));
    /// ```
    pub fn from_sysctl(text: &str) -> Topology {
        macos::topology(|key| macos::key_of(text, key), 1)
    }

    /// Reads a PC from what `GetLogicalProcessorInformationEx(RelationAll, ..)`
    /// fills in there, for pointers of 8 bytes, and the process's affinity mask;
    /// an empty mask, and one of a whole processor group, are no restriction.
    /// Never fails: without readable records there is one CPU.
    ///
    /// ```
    /// use rowpool::topology::{CpuSet, Rule, Topology};
    /// let nothing = Topology::from_processor_records(&[], &CpuSet::new());
    /// assert_eq!((nothing.cpus.len(), nothing.rule), (1, Rule::Parallelism));
    /// ```
    pub fn from_processor_records(records: &[u8], mask: &CpuSet) -> Topology {
        windows::topology(&windows::parse_records(records, 8), mask, 1)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn detect(parallelism: usize) -> Topology {
    linux::read(Path::new("/"), &masks(), Some(parallelism))
}

/// Whether the calling thread's mask is this one.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn caller_has(mask: &CpuSet) -> bool {
    masks().caller == *mask
}

/// The masks of this moment.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn masks() -> affinity::Masks {
    let set = CpuSet::from_words;
    let [main, start, worker, caller] = ffi_linux::masks().map(set);
    affinity::Masks { main, start, worker, caller }
}

/// Threads take no mask from their creator elsewhere, or none is known.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn caller_has(_: &CpuSet) -> bool {
    true
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use ffi_linux::note_unbound_worker;

/// Nobody asks for a worker's mask elsewhere.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn note_unbound_worker() {}

#[cfg(target_vendor = "apple")]
fn detect(parallelism: usize) -> Topology {
    macos::topology(ffi_macos::read_key, parallelism)
}

#[cfg(windows)]
fn detect(parallelism: usize) -> Topology {
    windows::topology(&ffi_windows::records(), &ffi_windows::process_mask().cpus(), parallelism)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", windows)))]
fn detect(parallelism: usize) -> Topology {
    // No known call to bind a thread: nothing is bindable.
    Topology::equal(parallelism, Rule::Parallelism, 0)
}
