//! Why a width is what it is, in one line.

use std::fmt;

use super::facts::{Quota, Rule, Topology};

/// Why a [`Width`](super::Width) has its number of threads. Prints as one line.
///
/// ```
/// use rowpool::topology::{Reason, Rule};
/// let reason = Reason::Cores {
///     threads: 8,
///     cpus: 20,
///     rule: Rule::CpuCore,
///     mask: None,
///     quota: None,
/// };
/// assert_eq!(reason.to_string(), "8 of 20 CPUs: performance cores by cpu_core; no quota");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A setting says so.
    Setting {
        /// What it says.
        threads: usize,
        /// Where it was found, as in [`Settings`](super::Settings).
        source: String,
        /// See [`Topology::usable`].
        usable: usize,
    },
    /// One thread for each physical performance core that is in the mask.
    Cores {
        /// The width.
        threads: usize,
        /// CPUs that are online.
        cpus: usize,
        /// What told the kinds apart.
        rule: Rule,
        /// CPUs that the process's mask leaves; `None` without a mask, or
        /// where it leaves all.
        mask: Option<usize>,
        /// The quota: not the bound here.
        quota: Option<Quota>,
    },
    /// The mask leaves no performance core: one thread for each core that it
    /// does leave.
    NoPerformanceCore {
        /// The width.
        threads: usize,
        /// CPUs that are online.
        cpus: usize,
        /// What told the kinds apart.
        rule: Rule,
        /// CPUs that the mask leaves.
        mask: usize,
        /// The quota: not the bound here.
        quota: Option<Quota>,
    },
    /// The CPU quota is smaller than the cores.
    Quota {
        /// The width.
        threads: usize,
        /// CPUs that are online.
        cpus: usize,
        /// The width without the quota.
        cores: usize,
        /// What told the kinds apart.
        rule: Rule,
        /// The quota.
        quota: Quota,
    },
    /// The workers have a worse nice value than the process, that of the thread
    /// which built the pool: the system allows them no better one.
    StuckAtNice {
        /// Why the width is what it is.
        width: Box<Reason>,
        /// The workers' nice value.
        nice: i32,
    },
}

impl Reason {
    pub(super) fn of_rule(
        topology: &Topology,
        threads: usize,
        cores: usize,
        mask_has_fast: bool,
    ) -> Reason {
        let (cpus, rule, quota) = (topology.cpus.len(), topology.rule, topology.quota);
        let left = topology.allowed().len();
        match quota {
            Some(quota) if threads < cores => Reason::Quota { threads, cpus, cores, rule, quota },
            _ if !mask_has_fast => {
                Reason::NoPerformanceCore { threads, cpus, rule, mask: left, quota }
            }
            _ => Reason::Cores {
                threads,
                cpus,
                rule,
                mask: (topology.mask.is_some() && left < cpus).then_some(left),
                quota,
            },
        }
    }

    /// What told the kinds of cores apart; `None` where a setting decides.
    ///
    /// ```
    /// use rowpool::topology::{Settings, Topology, Width};
    /// let topology = Topology::detect();
    /// let chosen = Width::new(&topology, &Settings::default());
    /// assert_eq!(chosen.reason.rule(), Some(topology.rule));
    /// ```
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Reason::Setting { .. } => None,
            Reason::Cores { rule, .. }
            | Reason::NoPerformanceCore { rule, .. }
            | Reason::Quota { rule, .. } => Some(*rule),
            Reason::StuckAtNice { width, .. } => width.rule(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Setting { threads, source, usable } => {
                write!(f, "{threads} thread{}: set by {source}; ", plural(*threads))?;
                write!(f, "{usable} CPU{} usable", plural(*usable))
            }
            Reason::Cores { threads, cpus, rule, mask, quota } => {
                of(f, *threads, *cpus)?;
                match rule {
                    Rule::Uniform => f.write_str("one per physical core, all equal")?,
                    Rule::PhysicalCpu | Rule::Ncpu => write!(f, "{rule}, kinds unknown")?,
                    Rule::Parallelism => write!(f, "{rule}, nothing else readable")?,
                    Rule::Nothing => f.write_str("nothing readable")?,
                    _ => write!(f, "performance cores by {rule}")?,
                }
                if let Some(mask) = mask {
                    write!(f, "; affinity mask of {mask}")?;
                }
                match quota {
                    Some(quota) => write!(f, "; quota {quota}"),
                    None => f.write_str("; no quota"),
                }
            }
            Reason::NoPerformanceCore { threads, cpus, rule, mask, quota } => {
                of(f, *threads, *cpus)?;
                write!(f, "affinity mask of {mask} without a performance core (by {rule})")?;
                match quota {
                    Some(quota) => write!(f, "; quota {quota}"),
                    None => f.write_str("; no quota"),
                }
            }
            Reason::Quota { threads, cpus, cores, quota, .. } => {
                of(f, *threads, *cpus)?;
                write!(f, "quota {quota}; {cores} cores without it")
            }
            Reason::StuckAtNice { width, nice } => {
                write!(f, "{width}; workers stay at the builder's nice value {nice}")
            }
        }
    }
}

fn of(f: &mut fmt::Formatter<'_>, threads: usize, cpus: usize) -> fmt::Result {
    write!(f, "{threads} of {cpus} CPU{}: ", plural(cpus))
}

fn plural(count: usize) -> &'static str {
    match count {
        1 => "",
        _ => "s",
    }
}
