//! One decode step of SmolLM2-135M's shape, serial and on each pool, in int8
//! and f32, with fused regions, with steps, and the limit. The tables decide (alternated
//! rounds, paired ratios); criterion keeps the history.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench gemv`

mod history;
#[path = "support/published.rs"]
mod published;
mod support;

use criterion::Criterion;
use published::{FERROX, FORKUNION, RAYON_INSIDE, RAYON_OUTSIDE};
use support::candidate::{FUSED, GEMV, STEPS};
use support::prelude::*;
use support::token_table::{print, Ratio};

const CANDIDATES: [Candidate; 11] = [
    SERIAL,
    ROWPOOL,
    GEMV,
    FUSED,
    STEPS,
    LIMIT,
    YARDSTICK,
    FORKUNION,
    RAYON_INSIDE,
    RAYON_OUTSIDE,
    FERROX,
];

const RATIOS: [Ratio; 10] = [
    (ROWPOOL, YARDSTICK, Some(0.98)),
    (ROWPOOL, LIMIT, None),
    (YARDSTICK, LIMIT, None),
    (GEMV, ROWPOOL, None),
    (FUSED, GEMV, None),
    (STEPS, GEMV, None),
    (ROWPOOL, FORKUNION, Some(1.0)),
    (ROWPOOL, RAYON_INSIDE, Some(1.0)),
    (ROWPOOL, RAYON_OUTSIDE, Some(1.0)),
    (ROWPOOL, FERROX, Some(1.0)),
];

fn main() {
    published::set_up();
    let mut criterion = Criterion::default().configure_from_args();
    for (format, usual) in [(Format::Q8_0, 25), (Format::F32, 9)] {
        // Hundreds of MB: one at a time.
        let mut token = Token::new(format);
        if wanted("gemv_table") {
            print("Token, T = 2", &mut token, &CANDIDATES, &RATIOS, rounds(usual));
        }
        let name = format!("token_{format:?}").to_lowercase();
        history::group(&mut criterion, &name, &CANDIDATES, |pool, steps| {
            pool.decode(&mut token);
            let begun = Instant::now();
            (0..steps).for_each(|_| pool.decode(&mut token));
            begun.elapsed()
        });
    }
    criterion.final_summary();
}
