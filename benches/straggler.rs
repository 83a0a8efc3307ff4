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
mod scenes;
mod support;

use published::{
    FORKUNION, FORKUNION_COMMON, FORKUNION_TWICE, RAYON_COMMON, RAYON_INSIDE, RAYON_OUTSIDE,
    RAYON_TWICE,
};
use scenes::Cast;
use support::candidate::{
    ROWPOOL, ROWPOOL_COMMON, ROWPOOL_TWICE, SERIAL, YARDSTICK, YARDSTICK_COMMON, YARDSTICK_TWICE,
};

const CAST: Cast<'_> = Cast {
    all: &[SERIAL, ROWPOOL, RAYON_INSIDE, RAYON_OUTSIDE, FORKUNION, YARDSTICK],
    yardstick: YARDSTICK.name,
    twice: &[
        (ROWPOOL_TWICE, ROWPOOL),
        (RAYON_TWICE, RAYON_OUTSIDE),
        (FORKUNION_TWICE, FORKUNION),
        (YARDSTICK_TWICE, YARDSTICK),
    ],
    beside: &[RAYON_INSIDE, RAYON_OUTSIDE, FORKUNION],
    common: &[ROWPOOL_COMMON, RAYON_COMMON, FORKUNION_COMMON, YARDSTICK_COMMON],
};

fn main() {
    scenes::play_role(&CAST);
    published::set_up();
    scenes::play(&CAST);
}
