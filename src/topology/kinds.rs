//! Tells performance cores from the others: step 2 of the width rule.

use super::cpuset::CpuSet;
use super::facts::{CoreKind, Cpu, Rule, FULL_CAPACITY};

/// A core counts for the default width from this share of the fastest on.
///
/// Three quarters, as (numerator, denominator): "equal to the fastest" gives
/// one core on three phones and boards that people reported, since kernels
/// give each core of a cluster its own figure; the A725 of a GB10 is at 0.70
/// and Intel's E-cores at 0.58 to 0.65 of their P-cores.
const THRESHOLD: (u128, u128) = (3, 4);

/// Capacity of an Intel E-core against the P-core, in 1/1024, where the
/// system names the kinds and gives no figure. 0.6: `highest_perf` reads 39 of
/// 67 on a 6P+8E laptop and 28 of 43 on Lakefield.
pub(crate) const NAMED_EFFICIENCY: u32 = 614;

/// What a slow core does per clock against a fast one, in 1/1024, where only
/// the frequencies are known. 0.75: the capacities of four machines that give
/// both are 0.43 (Snapdragon 8 Gen 2), 0.69 (RK3588), 0.78 (6P+8E laptop) and
/// 0.97 (GB10) of what their frequencies alone would say.
const SLOW_PER_CLOCK: u128 = 768;

/// What a core that is sold as a little one does per clock, in 1/1024: an A53
/// 0.58 of an A73, by the device tree of the ODROID-N2.
const LITTLE_PER_CLOCK: u128 = 594;

/// Parts that are sold as little cores, as (implementer, part) of `MIDR_EL1`.
/// The names are those of Linux's `asm/cputype.h` and of util-linux's `lscpu`.
const LITTLE: [(u64, u64); 22] = [
    (0x41, 0xc05), // Cortex-A5
    (0x41, 0xc07), // Cortex-A7
    (0x41, 0xd01), // Cortex-A32
    (0x41, 0xd02), // Cortex-A34
    (0x41, 0xd03), // Cortex-A53
    (0x41, 0xd04), // Cortex-A35
    (0x41, 0xd05), // Cortex-A55
    (0x41, 0xd46), // Cortex-A510
    (0x41, 0xd80), // Cortex-A520
    (0x41, 0xd8a), // C1-Nano
    (0x41, 0xd8f), // Cortex-A320
    (0x51, 0x801), // Kryo 2xx Silver
    (0x51, 0x803), // Kryo 3xx Silver
    (0x51, 0x805), // Kryo 4xx Silver
    (0x61, 0x020), // Icestorm (A14)
    (0x61, 0x022), // Icestorm (M1)
    (0x61, 0x024), // Icestorm (M1 Pro)
    (0x61, 0x028), // Icestorm (M1 Max)
    (0x61, 0x032), // Blizzard (M2)
    (0x61, 0x034), // Blizzard (M2 Pro)
    (0x61, 0x038), // Blizzard (M2 Max)
    (0x70, 0x303), // FTC310
];

/// One number of each CPU, where it has one, ascending by CPU.
pub(crate) type Figures = [(usize, Option<u64>)];

/// Which CPUs are fast, and how fast all of them are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) rule: Rule,
    fast: CpuSet,
    /// (id, capacity); CPUs that are not listed have the full capacity.
    capacities: Vec<(usize, u32)>,
}

impl Kinds {
    /// All CPUs alike.
    pub(crate) fn uniform(online: &CpuSet) -> Kinds {
        Kinds { rule: Rule::Uniform, fast: online.clone(), capacities: Vec::new() }
    }

    /// By a figure of merit of each CPU. `None` (go on to the next rule) when
    /// a CPU has none, or all have the same.
    pub(crate) fn by_figure(rule: Rule, figures: &Figures) -> Option<Kinds> {
        let figures: Option<Vec<(usize, u128)>> = figures
            .iter()
            .map(|&(id, figure)| Some((id, u128::from(figure.filter(|&f| f > 0)?))))
            .collect();
        let figures = figures?;
        let largest = figures.iter().map(|&(_, figure)| figure).max()?;
        if figures.iter().all(|&(_, figure)| figure == largest) {
            return None;
        }
        let is_fast = |figure: u128| figure * THRESHOLD.1 >= largest * THRESHOLD.0;
        let capacity = |figure: u128| {
            let share = figure * u128::from(FULL_CAPACITY) / largest;
            match rule {
                Rule::MaxFreq if !is_fast(figure) => share * SLOW_PER_CLOCK / 1024,
                _ => share,
            }
        };
        Some(Kinds {
            rule,
            fast: figures
                .iter()
                .filter(|&&(_, figure)| is_fast(figure))
                .map(|&(id, _)| id)
                .collect(),
            capacities: figures
                .iter()
                .map(|&(id, figure)| (id, capacity(figure).max(1) as u32))
                .collect(),
        })
    }

    /// By the parts that the values of `MIDR_EL1` name: little ones are slow, the
    /// others are told by `frequencies`. `None` when a CPU has no value, or all
    /// of them or none are little.
    pub(crate) fn by_part(midr: &Figures, frequencies: &Figures) -> Option<Kinds> {
        let little: Option<CpuSet> = midr
            .iter()
            .filter_map(|&(id, midr)| match midr {
                Some(midr) => is_little(midr).then_some(Some(id)),
                None => Some(None),
            })
            .collect();
        let little = little?;
        let (slow, big): (Vec<_>, Vec<_>) =
            frequencies.iter().partition(|(id, _)| little.contains(*id));
        if slow.is_empty() || big.is_empty() {
            return None;
        }
        let mut kinds = Kinds::by_figure(Rule::MaxFreq, &big).unwrap_or_else(|| Kinds {
            rule: Rule::Midr,
            fast: big.iter().map(|&(id, _)| id).collect(),
            capacities: big.iter().map(|&(id, _)| (id, FULL_CAPACITY)).collect(),
        });
        let fastest = big.iter().filter_map(|&(_, frequency)| frequency).max();
        let capacity = |frequency: Option<u64>| match (frequency, fastest) {
            (Some(own), Some(fastest @ 1..)) => {
                (u128::from(own) * LITTLE_PER_CLOCK / u128::from(fastest)).clamp(1, 1024)
            }
            _ => LITTLE_PER_CLOCK,
        };
        kinds.capacities.extend(slow.iter().map(|&(id, own)| (id, capacity(own) as u32)));
        kinds.capacities.sort_unstable();
        Some(Kinds { rule: Rule::Midr, ..kinds })
    }

    /// By the kernel's list of the P-cores. `None` when it names all CPUs or
    /// none of them. The capacities are those of `figures`, the outcome of a
    /// later rule, where there is one.
    pub(crate) fn by_name(
        p_cores: &CpuSet,
        online: &CpuSet,
        figures: Option<Kinds>,
    ) -> Option<Kinds> {
        let fast = online.intersection(p_cores);
        if fast.is_empty() || fast == *online {
            return None;
        }
        let capacities = match figures {
            Some(kinds) => kinds.capacities,
            None => online
                .iter()
                .filter(|&id| !fast.contains(id))
                .map(|id| (id, NAMED_EFFICIENCY))
                .collect(),
        };
        Some(Kinds { rule: Rule::CpuCore, fast, capacities })
    }

    /// Writes kinds and capacities into the CPUs.
    pub(crate) fn apply(&self, cpus: &mut [Cpu]) {
        for cpu in cpus {
            cpu.kind = match self.fast.contains(cpu.id) {
                true => CoreKind::Performance,
                false => CoreKind::Efficiency,
            };
            // `capacities` is ascending by id, as the CPUs are.
            cpu.capacity = self
                .capacities
                .binary_search_by_key(&cpu.id, |&(id, _)| id)
                .map_or(FULL_CAPACITY, |at| self.capacities[at].1);
        }
    }
}

/// Bits 31 to 24 name the implementer, 15 to 4 the part.
fn is_little(midr: u64) -> bool {
    LITTLE.contains(&(midr >> 24 & 0xff, midr >> 4 & 0xfff))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[u64]) -> Vec<(usize, Option<u64>)> {
        values.iter().map(|&v| Some(v)).enumerate().collect()
    }

    #[test]
    fn three_quarters_is_the_edge() {
        let kinds = Kinds::by_figure(Rule::CpuCapacity, &figures(&[1000, 750, 749])).unwrap();
        assert_eq!(kinds.fast.to_string(), "0-1");
        assert_eq!(kinds.capacities, [(0, 1024), (1, 768), (2, 766)]);
    }

    #[test]
    fn equal_or_missing_figures_decide_nothing() {
        let by = |figures: &Figures| Kinds::by_figure(Rule::MaxFreq, figures);
        assert_eq!(by(&figures(&[5, 5])), None);
        assert_eq!(by(&figures(&[5, 0])), None);
        assert_eq!(by(&[(0, Some(5)), (1, None)]), None);
        assert_eq!(by(&[]), None);
    }

    #[test]
    fn huge_figures_do_not_overflow() {
        let kinds = Kinds::by_figure(Rule::MaxFreq, &figures(&[u64::MAX, 1])).unwrap();
        assert_eq!(kinds.capacities, [(0, 1024), (1, 1)]);
    }

    #[test]
    fn a_slow_core_known_by_frequency_alone_is_rated_lower() {
        let kinds = Kinds::by_figure(Rule::MaxFreq, &figures(&[2200, 1600])).unwrap();
        assert_eq!(kinds.capacities, [(0, 1024), (1, 558)]);
    }

    /// An A53, an A73, an A72.
    const PARTS: [u64; 3] = [0x410f_d034, 0x410f_d092, 0x410f_d080];

    #[test]
    fn little_parts_are_slow_whatever_their_clock() {
        let parts = figures(&[PARTS[0], PARTS[1], PARTS[2], PARTS[1]]);
        let kinds = |clocks: &Figures| {
            let kinds = Kinds::by_part(&parts, clocks).unwrap();
            assert_eq!(kinds.rule, Rule::Midr);
            (kinds.fast.to_string(), kinds.capacities)
        };
        let same = [(0, 594), (1, 1024), (2, 1024), (3, 1024)];
        assert_eq!(kinds(&figures(&[2000, 2000, 2000, 2000])), ("1-3".into(), same.to_vec()));
        let none: Vec<_> = (0..4).map(|id| (id, None)).collect();
        assert_eq!(kinds(&none), ("1-3".into(), same.to_vec()));
        assert_eq!(kinds(&figures(&[9, 0, 0, 0])), ("1-3".into(), same.to_vec()));
        // The clock goes on to tell the others apart.
        let clocks = figures(&[1000, 1000, 2000, 1500]);
        let told = [(0, 297), (1, 384), (2, 1024), (3, 768)];
        assert_eq!(kinds(&clocks), ("2-3".into(), told.to_vec()));
        let absurd = kinds(&figures(&[u64::MAX, 1, 1, 1]));
        assert_eq!(absurd.1[0], (0, 1024));
    }

    #[test]
    fn parts_that_are_alike_or_unknown_decide_nothing() {
        let clocks = figures(&[1, 2]);
        for parts in [[PARTS[0]; 2], [PARTS[1], PARTS[2]], [0, u64::MAX]] {
            assert_eq!(Kinds::by_part(&figures(&parts), &clocks), None, "{parts:x?}");
        }
        assert_eq!(Kinds::by_part(&[(0, Some(PARTS[0])), (1, None)], &clocks), None);
        assert_eq!(Kinds::by_part(&[], &[]), None);
    }
}
