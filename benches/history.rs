//! What criterion keeps the history of: the tables decide.

use crate::support::fork::{Candidate, Fork};
use criterion::Criterion;
use std::time::Duration;

/// A group with each candidate: the time that `sample` takes for so many on a
/// pool of its own.
pub fn group(
    criterion: &mut Criterion,
    name: &str,
    candidates: &[Candidate],
    mut sample: impl FnMut(&mut dyn Fork, u64) -> Duration + Send,
) {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    for candidate in candidates {
        group.bench_function(candidate.name, |bencher| {
            bencher.iter_custom(|n| candidate.run(|pool| sample(pool, n)));
        });
    }
    group.finish();
}
