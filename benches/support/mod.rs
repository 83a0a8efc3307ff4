//! What the benches share: how to measure, against what, and on which work.
//! `benches/peers` includes it too, and `cargo test` runs its tests.

// Each bench uses a part of it.
#![allow(dead_code, unused_imports)]

use std::time::Duration;

pub mod candidate;
pub mod cgroup;
pub mod child;
pub mod fork;
pub mod fork_table;
pub mod machine;
pub mod report;
pub mod rounds;
pub mod stats;
pub mod token;
pub mod token_table;
pub mod who;
pub mod yardstick;

/// What nearly every bench and table names.
pub mod prelude {
    pub use super::candidate::{busy, rowpool, warm_up, ROWPOOL, ROWPOOL_COMMON, ROWPOOL_MUTEX};
    pub use super::candidate::{
        LIMIT, ROWPOOL_THREADS, SCOPE, SERIAL, YARDSTICK, YARDSTICK_COMMON,
    };
    pub use super::fork::{Candidate, Common, Fork, Shared};
    pub use super::report::{self, each, Asked, Case, Figures, One, Row, Turns};
    pub use super::stats::{median, median_of, quantile, Estimate};
    pub use super::token::{Format, Token};
    pub use super::{ms, rounds, short, some, time, wanted};
    pub use std::time::{Duration, Instant};
}

/// Whether everything is to run once, quickly: `cargo bench -p rowpool-bench -- --test`, `cargo
/// test --benches`. Figures mean nothing then.
pub fn short() -> bool {
    let given = |option: &str| std::env::args().any(|arg| arg == option);
    given("--test") || !given("--bench")
}

/// Whether a table was asked for: all of them are without a filter
/// (`cargo bench -p rowpool-bench --bench gemv -- FILTER`).
pub fn wanted(table: &str) -> bool {
    let mut args = std::env::args().skip(1);
    match args.next() {
        _ if std::env::args().any(|arg| arg == "--list") => false,
        Some(filter) if !filter.starts_with('-') => table.contains(&filter),
        _ => true,
    }
}

/// So many, or a few in short form.
pub fn some<N>(usual: N, few: N) -> N {
    if short() {
        few
    } else {
        usual
    }
}

/// Rounds of a table: 1 in short form, or what `ROWPOOL_BENCH_ROUNDS` says.
pub fn rounds(usual: usize) -> usize {
    let set = std::env::var("ROWPOOL_BENCH_ROUNDS").ok().and_then(|n| n.trim().parse().ok());
    some(set.unwrap_or(usual), 1)
}

/// So many ms, or a small part of them in short form.
pub fn time(ms: u64) -> Duration {
    Duration::from_micros(some(1000, 20) * ms)
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Says whether a requirement of the project is met; nothing fails by it.
pub fn verdict(met: bool, measured: bool) -> &'static str {
    match met {
        _ if short() => "(short run)",
        _ if !measured => "not measured",
        true => "met",
        false => "MISSED",
    }
}
