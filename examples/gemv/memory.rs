//! How much of a model is run: what fits.

use crate::limits::Available;
use crate::model::Matrix;

/// The share of the available memory that weights may take: other processes
/// live here, too.
const SHARE: f64 = 0.8;

/// A row's results, serial and on the pool.
const RESULTS: usize = 8;

/// Layers of the model, and those that are run.
#[derive(Clone, Debug)]
pub struct Layers {
    pub run: usize,
    pub all: usize,
    /// What is available, where that is why fewer are run.
    pub available: Option<Available>,
}

/// As many of the first `wanted` layers as fit into what is available, beside
/// what is in no layer; all of them where nobody knows.
pub fn layers_that_fit(
    matrices: &[Matrix],
    wanted: Option<usize>,
    available: Option<Available>,
) -> Result<Layers, String> {
    let all = count(matrices);
    let wanted = wanted.map_or(all, |wanted| wanted.min(all));
    let Some(available) = available else {
        return Ok(Layers { run: wanted, all, available: None });
    };
    let budget = (available.bytes as f64 * SHARE) as u128;
    let size = |it: &Matrix| it.bytes() as u128 + it.rows as u128 * RESULTS as u128;
    let bytes = |layers: usize| {
        let used = matrices.iter().filter(|matrix| is_run(matrix, layers));
        used.map(size).sum::<u128>()
    };
    // Something must be run: a layer, or, without layers, the rest.
    let least = wanted.min(1);
    match (least..=wanted).rev().find(|&layers| bytes(layers) <= budget) {
        Some(run) => Ok(Layers { run, all, available: (run < wanted).then_some(available) }),
        None => Err(format!(
            "{} MB of memory are available ({}), of which weights may take {} MB; the least to \
             run takes {} MB",
            available.bytes / 1_000_000,
            available.by,
            budget / 1_000_000,
            bytes(least) / 1_000_000,
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
