//! Does rowpool ever lose? The token and small regions where pools do: among
//! busy neighbours, with more threads than cores, under masks and quotas, after
//! idleness, with many callers, beside other pools; rowpool against serial code
//! and published pools, in one run. Prints one table.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench straggler -- [FILTER]
//! [--test]`; a filter is a part of a measure's name, such as `hog` or `quota`.
//! The whole takes 20 minutes on a quiet machine, and any of its parts a few.

#[path = "support/published.rs"]
mod published;
mod scenarios;
mod support;

use published::{FORKUNION, FORKUNION_COMMON, RAYON_COMMON, RAYON_INSIDE, RAYON_OUTSIDE};
use scenarios::Candidates;
use support::prelude::*;

const CANDIDATES: Candidates<'_> = Candidates {
    all: &[SERIAL, ROWPOOL, RAYON_INSIDE, RAYON_OUTSIDE, FORKUNION, YARDSTICK],
    spin: &[ROWPOOL, FORKUNION, YARDSTICK],
    twice: &[ROWPOOL, RAYON_OUTSIDE, FORKUNION, YARDSTICK],
    beside: &[RAYON_INSIDE, RAYON_OUTSIDE, FORKUNION],
    common: &[ROWPOOL_COMMON, RAYON_COMMON, FORKUNION_COMMON, YARDSTICK_COMMON],
};

fn main() {
    scenarios::run_child(&CANDIDATES);
    scenarios::run(&CANDIDATES);
}
