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
use support::token_table::print;

const OWN: [Candidate; 7] = [SERIAL, ROWPOOL, GEMV, FUSED, STEPS, LIMIT, YARDSTICK];
const PUBLISHED: [Candidate; 4] = [FORKUNION, RAYON_INSIDE, RAYON_OUTSIDE, FERROX];

fn main() {
    published::set_up();
    let mut criterion = Criterion::default().configure_from_args();
    for (format, usual) in [(Format::Q8_0, 25), (Format::F32, 9)] {
        // Hundreds of MB: one at a time.
        let mut token = Token::new(format);
        if wanted("gemv_table") {
            print(&mut token, &OWN, &PUBLISHED, rounds(usual));
        }
        let name = format!("token_{format:?}").to_lowercase();
        history::group(&mut criterion, &name, &[&OWN[..], &PUBLISHED].concat(), |pool, steps| {
            pool.decode(&mut token);
            let begun = Instant::now();
            (0..steps).for_each(|_| pool.decode(&mut token));
            begun.elapsed()
        });
    }
    criterion.final_summary();
}
