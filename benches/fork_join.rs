//! Empty regions, back to back and after gaps, at two threads: what a fork and
//! join costs. The table decides (alternated rounds, disturbed ones dropped);
//! criterion keeps the history.
//!
//! `cargo bench -p rowpool-bench --bench fork_join`

#[path = "support/published.rs"]
mod published;
mod support;

use criterion::Criterion;
use published::{FERROX, FORKUNION, RAYON_BROADCAST, RAYON_INSIDE, RAYON_OUTSIDE};
use std::time::{Duration, Instant};
use support::candidate::{warm_up, ROWPOOL, ROWPOOL_THREADS, SCOPE, YARDSTICK};
use support::fork::{Candidate, Fork};
use support::fork_table::{print, single};

const CANDIDATES: [Candidate; 9] = [
    ROWPOOL,
    ROWPOOL_THREADS,
    YARDSTICK,
    FORKUNION,
    RAYON_BROADCAST,
    RAYON_INSIDE,
    RAYON_OUTSIDE,
    FERROX,
    SCOPE,
];

fn main() {
    published::set_up();
    if support::wanted("fork_table") {
        print("Empty regions, T = 2", &CANDIDATES, support::rounds(15));
    }
    let mut criterion = Criterion::default().configure_from_args();
    hot(&mut criterion);
    after_100us(&mut criterion);
    criterion.final_summary();
}

/// One sample on a pool of its own, warm.
fn sample(
    candidate: &Candidate,
    body: &mut (dyn FnMut(&mut dyn Fork) -> Duration + Send),
) -> Duration {
    let mut time = Duration::ZERO;
    candidate.run(&mut |pool| {
        warm_up(pool, candidate.threads, Duration::from_millis(5));
        time = body(pool);
    });
    time
}

fn hot(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fork_back_to_back");
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    for candidate in &CANDIDATES {
        group.bench_function(candidate.name, |bencher| {
            bencher.iter_custom(|regions| {
                sample(candidate, &mut |pool| {
                    let begun = Instant::now();
                    (0..regions).for_each(|_| pool.empty(candidate.threads));
                    begun.elapsed()
                })
            });
        });
    }
    group.finish();
}

fn after_100us(criterion: &mut Criterion) {
    let gap = Duration::from_micros(100);
    let clock = support::machine::clock_ns();
    let mut group = criterion.benchmark_group("fork_after_100us");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    for candidate in &CANDIDATES {
        group.bench_function(candidate.name, |bencher| {
            bencher.iter_custom(|regions| {
                sample(candidate, &mut |pool| {
                    let ns: f64 =
                        (0..regions).map(|_| single(pool, candidate.threads, gap, clock)).sum();
                    Duration::from_nanos(ns.max(1.0) as u64)
                })
            });
        });
    }
    group.finish();
}
