//! macOS: the `hw.*` keys of `sysctl`, through an injected reader.

use super::cpuset::MAX_CPUS;
use super::facts::{CoreKind, Cpu, Rule, Topology, FULL_CAPACITY};

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A count.
    Number(i64),
    /// A name.
    Text(String),
}

/// A key of the text that `sysctl hw` prints: lines `key: value`.
pub(crate) fn key_of(text: &str, key: &str) -> Option<Value> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let value = line.trim();
    Some(value.parse().map_or_else(|_| Value::Text(value.to_string()), Value::Number))
}

/// Levels are looked for up to this many; Apple has built three.
const MAX_LEVELS: usize = 8;

/// Capacity of the second fast level, in 1/1024: M5 Max `Super` and
/// `Performance` cores clock at 4608 and 4380 MHz. Nothing better is published.
const SECOND_LEVEL: u32 = 973;

/// Capacity of an `Efficiency` core, in 1/1024. An estimate (a third): Apple
/// gives no figure, and `sysctl` neither clock nor capacity.
const EFFICIENCY_LEVEL: u32 = 341;

/// Reads a Mac's CPUs from its keys; `read` gives `None` for a key that is
/// absent or denied. `parallelism` is the last resort where no count is
/// readable.
///
/// The levels that count as fast are those not named `Efficiency`; without
/// names, all but the last. Where the count of one of them is missing, all
/// CPUs count: `hw.physicalcpu`, then `hw.ncpu`, then `parallelism`.
pub(crate) fn topology(read: impl Fn(&str) -> Option<Value>, parallelism: usize) -> Topology {
    let keys = Keys { read };
    match keys.levels() {
        Some((levels, rule)) => by_levels(&levels, rule),
        None => {
            let (cores, rule) = match (keys.count("hw.physicalcpu"), keys.count("hw.ncpu")) {
                (Some(cores), _) => (cores, Rule::PhysicalCpu),
                (None, Some(cpus)) => (cpus, Rule::Ncpu),
                (None, None) => (parallelism.clamp(1, MAX_CPUS), Rule::Parallelism),
            };
            // Intel: the counts above one thread a core are siblings.
            let threads = match rule {
                Rule::PhysicalCpu => keys.count("hw.logicalcpu").or_else(|| keys.count("hw.ncpu")),
                _ => None,
            };
            let level = Level {
                cores,
                threads: threads.map_or(1, |threads| threads / cores).max(1),
                cores_per_cache: cores,
                fast: true,
            };
            by_levels(&[level], rule)
        }
    }
}

struct Keys<R> {
    read: R,
}

struct Level {
    cores: usize,
    /// Hardware threads of a core.
    threads: usize,
    cores_per_cache: usize,
    fast: bool,
}

impl<R: Fn(&str) -> Option<Value>> Keys<R> {
    /// A count that makes sense: at least 1, at most [`MAX_CPUS`].
    fn count(&self, key: &str) -> Option<usize> {
        match (self.read)(key)? {
            Value::Number(number) => {
                usize::try_from(number).ok().filter(|count| (1..=MAX_CPUS).contains(count))
            }
            Value::Text(_) => None,
        }
    }

    fn name(&self, level: usize) -> Option<String> {
        match (self.read)(&format!("hw.perflevel{level}.name"))? {
            Value::Text(name) => Some(name.trim_matches(['\0', ' ']).to_string()),
            Value::Number(_) => None,
        }
    }

    /// The levels with their counts, the fast ones all known; else `None`.
    fn levels(&self) -> Option<(Vec<Level>, Rule)> {
        let count = self.count("hw.nperflevels")?.min(MAX_LEVELS);
        let names: Option<Vec<String>> = (0..count).map(|level| self.name(level)).collect();
        let slow = |name: &String| name.eq_ignore_ascii_case("Efficiency");
        // Names that leave no fast level decide nothing.
        let names = names.filter(|names| !names.iter().all(slow));
        let fast = |level: usize| match &names {
            Some(names) => !slow(&names[level]),
            None => level + 1 < count || count == 1,
        };
        let mut levels = Vec::new();
        for level in 0..count {
            let key = |what: &str| self.count(&format!("hw.perflevel{level}.{what}"));
            match key("physicalcpu") {
                Some(cores) => levels.push(Level {
                    cores,
                    threads: (key("logicalcpu").unwrap_or(cores) / cores).max(1),
                    cores_per_cache: key("cpusperl2").unwrap_or(cores),
                    fast: fast(level),
                }),
                None if fast(level) => return None,
                None => {}
            }
        }
        let rule = match names {
            Some(_) => Rule::LevelName,
            None => Rule::LevelOrder,
        };
        Some((levels, rule))
    }
}

fn by_levels(levels: &[Level], rule: Rule) -> Topology {
    let mut cpus: Vec<Cpu> = Vec::new();
    let (mut core, mut cluster) = (0, 0);
    let mut fast_levels = 0;
    for level in levels {
        let capacity = match (level.fast, fast_levels) {
            (true, 0) => FULL_CAPACITY,
            (true, _) => SECOND_LEVEL,
            (false, _) => EFFICIENCY_LEVEL,
        };
        fast_levels += usize::from(level.fast);
        for at in 0..level.cores {
            for _ in 0..level.threads {
                cpus.push(Cpu {
                    core,
                    cluster: cluster + at / level.cores_per_cache,
                    kind: match level.fast {
                        true => CoreKind::Performance,
                        false => CoreKind::Efficiency,
                    },
                    capacity,
                    ..Cpu::new(cpus.len())
                });
            }
            core += 1;
        }
        cluster += level.cores.div_ceil(level.cores_per_cache);
    }
    cpus.truncate(MAX_CPUS);
    Topology::of(cpus, rule, 0)
}
