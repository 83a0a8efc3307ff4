//! Warns of thread counts, of rowpool and of other pools, that exceed the CPUs.

use std::fmt;

use rowpool::topology::Topology;

/// The variables that thread pools of inference engines read.
const VARIABLES: [&str; 6] = [
    "ROWPOOL_NUM_THREADS",
    "FERROX_GEMV_THREADS",
    "FERROX_CPU_THREADS",
    "RAYON_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
];

/// Something about the surroundings that costs speed. Prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A variable asks for more threads than there are CPUs.
    Exceeds {
        /// The variable.
        variable: &'static str,
        /// What it asks for.
        threads: usize,
        /// See [`Topology::usable`].
        usable: usize,
        /// What sets that bound: "this cgroup", "this process's affinity mask"
        /// or "this machine".
        bound: &'static str,
    },
    /// The quota feeds less than one thread: even serial code is stopped for a
    /// part of each period.
    LessThanOneCpu {
        /// The quota in hundredths of a CPU.
        hundredths: u32,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Exceeds { variable, threads, usable: 1, bound } => {
                write!(f, "{variable}={threads} exceeds the one CPU of {bound}")
            }
            Warning::Exceeds { variable, threads, usable, bound } => {
                write!(f, "{variable}={threads} exceeds the {usable} CPUs of {bound}")
            }
            Warning::LessThanOneCpu { hundredths } => write!(
                f,
                "the quota of {}.{:02} CPUs stops even one thread for a part of each period",
                hundredths / 100,
                hundredths % 100
            ),
        }
    }
}

/// The warnings for a topology; `variable` looks an environment variable up.
pub fn warnings(topology: &Topology, variable: impl Fn(&str) -> Option<String>) -> Vec<Warning> {
    let usable = topology.usable();
    let bound = bound(topology, usable);
    let exceeding = VARIABLES.iter().filter_map(|&name| {
        // OpenMP takes a list, one number for each level of nesting.
        let value = variable(name)?;
        let threads: usize = value.split(',').next()?.trim().parse().ok()?;
        (threads > usable).then_some(Warning::Exceeds { variable: name, threads, usable, bound })
    });
    let quota = topology.quota.map(|quota| (quota.cpus() * 100.0) as u32);
    quota
        .filter(|&hundredths| hundredths < 100)
        .map(|hundredths| Warning::LessThanOneCpu { hundredths })
        .into_iter()
        .chain(exceeding)
        .collect()
}

fn bound(topology: &Topology, usable: usize) -> &'static str {
    if usable < topology.allowed().len() {
        "this cgroup"
    } else if usable < topology.cpus.len() {
        "this process's affinity mask"
    } else {
        "this machine"
    }
}
