//! Medians, percentiles and the 95% interval of a median.

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The value below which the share `q` of `values` lies (nearest rank); NaN for
/// no values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// The middle value, or the mean of the middle two; NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The median of what `f` returns `n` times.
pub fn median_of(n: usize, mut f: impl FnMut() -> f64) -> f64 {
    median(&(0..n).map(|_| f()).collect::<Vec<f64>>())
}

/// A median with the interval that holds the true one in 95 of 100 runs,
/// whatever the distribution: it lies between two order statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// How many values it stands on.
    pub n: usize,
}

impl Estimate {
    /// Below 6 values no two of them enclose 95%: the interval is then their
    /// whole range.
    pub fn of(values: &[f64]) -> Estimate {
        let sorted = sorted(values);
        let n = sorted.len();
        let Some(last) = n.checked_sub(1) else {
            return Estimate { median: f64::NAN, low: f64::NAN, high: f64::NAN, n };
        };
        let out = outside(n);
        Estimate { median: median(&sorted), low: sorted[out], high: sorted[last - out], n }
    }
}

/// How many of `n` sorted values may lie outside the interval on each side: the
/// largest `k` for which fewer than `k` heads in `n` throws come at most 2.5% of
/// the time.
pub fn outside(n: usize) -> usize {
    // Binomial(n, 1/2), its terms from 0 heads up, in logarithms: no underflow.
    let mut log_term = n as f64 * 0.5f64.ln();
    let mut below = 0.0;
    for heads in 0..n {
        below += log_term.exp();
        if below > 0.025 {
            return heads.saturating_sub(1);
        }
        log_term += ((n - heads) as f64 / (heads + 1) as f64).ln();
    }
    0
}
