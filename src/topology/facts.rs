//! The facts that the width rule works on, the same for every system.

use std::fmt;

use super::cpuset::{CpuSet, MAX_CPUS};

/// CPU ids that threads can be bound to under Linux are below `CPU_SETSIZE`:
/// core_affinity's set holds no id from here on, and aborts the process over one.
pub(crate) const LINUX_BINDABLE: usize = 1024;

/// Under Windows core_affinity binds by one mask of 64 bits, in the thread's own
/// processor group.
pub(crate) const WINDOWS_BINDABLE: usize = 64;

/// On the system that this is compiled for; macOS has no such call.
const BINDABLE: usize = match () {
    _ if cfg!(any(target_os = "linux", target_os = "android")) => LINUX_BINDABLE,
    _ if cfg!(windows) => WINDOWS_BINDABLE,
    _ => 0,
};

/// [`Cpu::capacity`] of the fastest CPU of a machine, and of all CPUs where
/// they are equal or nothing is known. The value of Linux's `cpu_capacity`.
///
/// ```
/// let topology = rowpool::topology::Topology::detect();
/// let full = rowpool::topology::FULL_CAPACITY;
/// assert!(topology.cpus.iter().all(|cpu| (1..=full).contains(&cpu.capacity)));
/// ```
pub const FULL_CAPACITY: u32 = 1024;

/// What the process runs on: the machine's CPUs and what it may use of them.
/// [`detect`](Self::detect) reads it; [`new`](Self::new) and its fields describe
/// another one, for [`PoolBuilder::topology`](crate::PoolBuilder::topology).
///
/// ```
/// use rowpool::topology::Topology;
/// let topology = Topology::detect();
/// println!("{} CPUs, quota {:?}", topology.cpus.len(), topology.quota);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Topology {
    /// The CPUs that are online, ascending by [`Cpu::id`]; never empty.
    pub cpus: Vec<Cpu>,
    /// The process's affinity mask; `None` where no restriction is known. It
    /// may name CPUs that are not online.
    pub mask: Option<CpuSet>,
    /// The smallest CPU quota over the process's control group and all its
    /// ancestors; `None` where there is none (and always, but on Linux).
    pub quota: Option<Quota>,
    /// The CPU that the thread which asked is bound to by its own affinity
    /// mask, where that is narrower than the process's: pinned workers leave it
    /// to that thread. `None` where it may run on several cores.
    pub caller: Option<usize>,
    /// What told the performance cores from the others.
    pub rule: Rule,
    /// CPU ids below this can be bound to.
    pub(crate) bindable: usize,
}

/// One CPU (hardware thread) that is online.
///
/// ```
/// let topology = rowpool::topology::Topology::detect();
/// let cpu = &topology.cpus[0];
/// let siblings = topology.cpus.iter().filter(|c| c.core == cpu.core);
/// println!("CPU {} shares its core with {} others", cpu.id, siblings.count() - 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cpu {
    /// The system's number. On Windows `64 * group + bit`; on macOS, which
    /// does not number CPUs, just a count in the order of the levels.
    pub id: usize,
    /// Physical core: CPUs with the same number are SMT siblings.
    pub core: usize,
    /// Group of CPUs that share the last-level cache; where the caches tell
    /// nothing, the NUMA node.
    pub cluster: usize,
    /// NUMA node, by the system's number; 0 where there is none.
    pub node: usize,
    /// Whether the default width counts it.
    pub kind: CoreKind,
    /// Throughput of its core relative to the machine's fastest, from 1 to
    /// [`FULL_CAPACITY`].
    pub capacity: u32,
}

/// Kind of a core, as far as the width rule needs it.
///
/// ```
/// use rowpool::topology::{CoreKind, Topology};
/// let topology = Topology::detect();
/// // There is always something to run on by default.
/// assert!(topology.cpus.iter().any(|cpu| cpu.kind == CoreKind::Performance));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreKind {
    /// At least 0.75 of the fastest core, or of the kind that the system
    /// itself calls fast; all cores where they are equal.
    Performance,
    /// Slower: left out of the default width.
    Efficiency,
}

/// What told the performance cores from the others, or why all are equal.
///
/// ```
/// use rowpool::topology::Rule;
/// assert_eq!(Rule::CpuCore.to_string(), "cpu_core");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Linux: the kernel lists Intel's P-cores in `/sys/devices/cpu_core/cpus`.
    CpuCore,
    /// Linux: `cpu_capacity` of at least 0.75 of the largest.
    CpuCapacity,
    /// Linux: `acpi_cppc/highest_perf` of at least 0.75 of the largest.
    HighestPerf,
    /// Linux on Arm: `midr_el1` names some cores as parts that are sold as
    /// little ones; among the others `cpuinfo_max_freq` as below.
    Midr,
    /// Linux: `cpuinfo_max_freq` of at least 0.75 of the largest.
    MaxFreq,
    /// Nothing tells the CPUs apart, or [`Topology::new`] made them.
    Uniform,
    /// macOS: the levels that are not named Efficiency.
    LevelName,
    /// macOS, levels without names: all but the last.
    LevelOrder,
    /// macOS without levels: `hw.physicalcpu`.
    PhysicalCpu,
    /// macOS without levels: `hw.ncpu`.
    Ncpu,
    /// Windows: the cores of the highest EfficiencyClass.
    EfficiencyClass,
    /// Nothing was readable but the number that
    /// [`std::thread::available_parallelism`] gives.
    Parallelism,
    /// Nothing was readable: one CPU is assumed.
    Nothing,
}

impl Rule {
    /// A short name, for output that programs read.
    ///
    /// ```
    /// assert_eq!(rowpool::topology::Rule::MaxFreq.name(), "max_freq");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Rule::CpuCore => "cpu_core",
            Rule::CpuCapacity => "cpu_capacity",
            Rule::HighestPerf => "highest_perf",
            Rule::Midr => "midr",
            Rule::MaxFreq => "max_freq",
            Rule::Uniform => "uniform",
            Rule::LevelName => "hw.perflevel names",
            Rule::LevelOrder => "hw.perflevel order",
            Rule::PhysicalCpu => "hw.physicalcpu",
            Rule::Ncpu => "hw.ncpu",
            Rule::EfficiencyClass => "EfficiencyClass",
            Rule::Parallelism => "available_parallelism",
            Rule::Nothing => "nothing",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A CPU quota: so many µs of CPU time in each period of so many µs.
///
/// ```
/// use rowpool::topology::Quota;
/// let quota = Quota::new(150_000, 100_000).unwrap();
/// assert_eq!(quota.cpus(), 1.5);
/// assert_eq!(quota.whole_cpus(), 1);
/// assert_eq!(quota.to_string(), "1.50");
/// assert_eq!(Quota::new(100_000, 0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    quota_us: u64,
    period_us: u64,
}

impl Quota {
    /// `None` for what makes no sense as a limit: a zero, or more than
    /// [`MAX_CPUS`] CPUs.
    ///
    /// ```
    /// assert!(rowpool::topology::Quota::new(u64::MAX, 100_000).is_none());
    /// ```
    pub fn new(quota_us: u64, period_us: u64) -> Option<Quota> {
        let sane = quota_us > 0 && period_us > 0 && quota_us / period_us <= MAX_CPUS as u64;
        sane.then_some(Quota { quota_us, period_us })
    }

    /// The quota in CPUs.
    ///
    /// ```
    /// let half = rowpool::topology::Quota::new(25_000, 50_000).unwrap();
    /// assert_eq!(half.cpus(), 0.5);
    /// ```
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }

    /// The quota in whole CPUs, rounded down, at least 1: a thread that the
    /// quota cannot feed stalls every region for the rest of the period.
    ///
    /// ```
    /// use rowpool::topology::Quota;
    /// assert_eq!(Quota::new(199_000, 100_000).unwrap().whole_cpus(), 1);
    /// assert_eq!(Quota::new(50_000, 100_000).unwrap().whole_cpus(), 1);
    /// ```
    pub fn whole_cpus(self) -> usize {
        // At most MAX_CPUS, by `new`.
        (self.quota_us / self.period_us).max(1) as usize
    }

    /// The smaller of two limits.
    ///
    /// ```
    /// use rowpool::topology::Quota;
    /// let (two, three) = (Quota::new(4, 2).unwrap(), Quota::new(3, 1).unwrap());
    /// assert_eq!(three.min(two), two);
    /// ```
    pub fn min(self, other: Quota) -> Quota {
        let cross = |a: Quota, b: Quota| u128::from(a.quota_us) * u128::from(b.period_us);
        if cross(other, self) < cross(self, other) {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.cpus())
    }
}

impl Topology {
    /// The ids of the online CPUs.
    ///
    /// ```
    /// let topology = rowpool::topology::Topology::detect();
    /// assert_eq!(topology.online().len(), topology.cpus.len());
    /// ```
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// The CPUs that are online and in the mask; where no CPU is both, those
    /// that are online. Never empty.
    ///
    /// ```
    /// let topology = rowpool::topology::Topology::detect();
    /// assert!(!topology.allowed().is_empty());
    /// ```
    pub fn allowed(&self) -> CpuSet {
        self.allowed_by(self.mask.as_ref())
    }

    /// As [`allowed`](Self::allowed), by another mask.
    pub(crate) fn allowed_by(&self, mask: Option<&CpuSet>) -> CpuSet {
        let online = self.online();
        let both = mask.map(|mask| online.intersection(mask));
        both.filter(|both| !both.is_empty()).unwrap_or(online)
    }

    /// The CPUs that the process can keep busy: [`allowed`](Self::allowed), at
    /// most the whole CPUs of the quota, at least 1. SMT siblings count. The
    /// bound of a pool's active width, whatever the settings say.
    ///
    /// ```
    /// assert!(rowpool::topology::Topology::detect().usable() >= 1);
    /// ```
    pub fn usable(&self) -> usize {
        within(self.quota, self.allowed().len())
    }

    /// `count` equal CPUs (at least 1, at most [`MAX_CPUS`]), numbered from 0,
    /// each with a core of its own, and no restriction. What differs on the
    /// machine that is meant is then written into the fields; a CPU out of
    /// nothing is [`Cpu::new`].
    ///
    /// ```
    /// use rowpool::topology::{CoreKind, Quota, Topology};
    /// let mut phone = Topology::new(8);
    /// for cpu in &mut phone.cpus[4..] {
    ///     (cpu.kind, cpu.capacity) = (CoreKind::Efficiency, 350);
    /// }
    /// phone.mask = Some([0, 1, 2, 4, 5].into_iter().collect());
    /// assert_eq!(phone.usable(), 5);
    /// phone.quota = Quota::new(350_000, 100_000);
    /// assert_eq!(phone.usable(), 3);
    /// ```
    pub fn new(count: usize) -> Topology {
        Topology::of((0..count.clamp(1, MAX_CPUS)).map(Cpu::new).collect(), Rule::Uniform, BINDABLE)
    }

    /// So many equal CPUs: what is assumed where the system tells no more.
    pub(crate) fn equal(count: usize, rule: Rule, bindable: usize) -> Topology {
        Topology { rule, bindable, ..Topology::new(count) }
    }

    /// These CPUs, without restriction.
    pub(crate) fn of(cpus: Vec<Cpu>, rule: Rule, bindable: usize) -> Topology {
        Topology { cpus, mask: None, quota: None, caller: None, rule, bindable }
    }
}

/// How many of so many CPUs a quota leaves, at least 1.
pub(crate) fn within(quota: Option<Quota>, cpus: usize) -> usize {
    quota.map_or(cpus, |quota| cpus.min(quota.whole_cpus())).max(1)
}

impl Cpu {
    /// A CPU of which nothing is known but its number: fast, and alone on a core
    /// of that number.
    ///
    /// ```
    /// use rowpool::topology::{Cpu, Topology};
    /// let mut machine = Topology::new(1);
    /// machine.cpus = [0, 1, 4, 5].map(Cpu::new).into(); // two are offline
    /// assert_eq!(machine.online().to_string(), "0-1,4-5");
    /// ```
    pub fn new(id: usize) -> Cpu {
        Cpu {
            id,
            core: id,
            cluster: 0,
            node: 0,
            kind: CoreKind::Performance,
            capacity: FULL_CAPACITY,
        }
    }
}
