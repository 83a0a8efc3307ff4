//! How much of a model is run: what fits.

use crate::model::Matrix;
use crate::weights::Format;

/// The share of the available memory that weights may take: other processes
/// live here, too.
const SHARE: f64 = 0.8;

/// Layers of the model, and those that are run.
#[derive(Clone, Copy, Debug)]
pub struct Layers {
    pub run: usize,
    pub all: usize,
    /// Bytes available, where that is why fewer are run.
    pub available: Option<u64>,
}

/// As many of the first `wanted` layers as fit into `available` bytes, beside
/// what is in no layer; all of them where nobody knows.
pub fn layers_that_fit(
    matrices: &[Matrix],
    format: Format,
    wanted: Option<usize>,
    available: Option<u64>,
) -> Result<Layers, String> {
    let all = count(matrices);
    let wanted = wanted.map_or(all, |wanted| wanted.min(all));
    let Some(available) = available else {
        return Ok(Layers { run: wanted, all, available: None });
    };
    let budget = (available as f64 * SHARE) as u128;
    let bytes = |layers: usize| {
        let used = matrices.iter().filter(|matrix| is_run(matrix, layers));
        used.map(|matrix| format.bytes(matrix.rows, matrix.cols) as u128).sum::<u128>()
    };
    // Something must be run: a layer, or, without layers, the rest.
    let least = wanted.min(1);
    match (least..=wanted).rev().find(|&layers| bytes(layers) <= budget) {
        Some(run) => Ok(Layers { run, all, available: (run < wanted).then_some(available) }),
        None => Err(format!(
            "{} MB of memory are available, the least to run takes {} MB in {}",
            available / 1_000_000,
            bytes(least) / 1_000_000,
            format.name(),
        )),
    }
}

/// Whether a step with so many layers runs this matrix.
pub fn is_run(matrix: &Matrix, layers: usize) -> bool {
    matrix.layer.is_none_or(|layer| layer < layers)
}

fn count(matrices: &[Matrix]) -> usize {
    matrices.iter().filter_map(|matrix| matrix.layer).map(|layer| layer + 1).max().unwrap_or(0)
}

/// `MemAvailable`, in bytes; `None` where there is no Linux to ask.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}
