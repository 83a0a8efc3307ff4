//! One decode step of SmolLM2-135M's shape, serial and on each pool, in int8
//! and f32: each shape, the whole, and the limit. The tables decide (alternated
//! rounds, paired ratios); criterion keeps the history.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench gemv`

mod history;
#[path = "support/published.rs"]
mod published;
mod support;

use criterion::Criterion;
use published::{FERROX, FERROX_BY_ROW, FORKUNION, RAYON_INSIDE, RAYON_OUTSIDE};
use std::time::Instant;
use support::candidate::{
    GEMV, LIMIT, ROWPOOL, ROWPOOL_BY_ROW, ROWPOOL_OVER, SERIAL, SERIAL_BY_ROW, YARDSTICK,
};
use support::fork::Candidate;
use support::token::{Format, Token};
use support::token_table::{print, Ratio};
use support::{rounds, wanted};

const CANDIDATES: [Candidate; 10] = [
    SERIAL,
    ROWPOOL,
    GEMV,
    ROWPOOL_OVER,
    LIMIT,
    YARDSTICK,
    FORKUNION,
    RAYON_INSIDE,
    RAYON_OUTSIDE,
    FERROX,
];
const BY_ROW: [Candidate; 3] = [SERIAL_BY_ROW, ROWPOOL_BY_ROW, FERROX_BY_ROW];

const RATIOS: [Ratio; 9] = [
    (ROWPOOL, YARDSTICK, Some(0.98)),
    (ROWPOOL, LIMIT, None),
    (YARDSTICK, LIMIT, None),
    (ROWPOOL_OVER, ROWPOOL, Some(0.95)),
    (GEMV, ROWPOOL, None),
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
            if format == Format::Q8_0 {
                let drop_in = [(ROWPOOL_BY_ROW, FERROX_BY_ROW, Some(1.0))];
                print("Token by rows, T = 2", &mut token, &BY_ROW, &drop_in, rounds(9));
            }
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
