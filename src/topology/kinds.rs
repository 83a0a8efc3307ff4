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
    pub(crate) fn by_figure(rule: Rule, figures: &[(usize, Option<u64>)]) -> Option<Kinds> {
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
        let by = |figures: &[(usize, Option<u64>)]| Kinds::by_figure(Rule::MaxFreq, figures);
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
}
