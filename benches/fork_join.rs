//! Empty regions, back to back and after gaps, at two threads: what a fork and
//! join costs. The table decides (alternated rounds, disturbed ones dropped);
//! criterion keeps the history.
//!
//! `cargo bench -p rowpool-bench --bench fork_join`

mod history;
#[path = "support/published.rs"]
mod published;
mod support;

use criterion::Criterion;
use published::{FERROX, FORKUNION, RAYON_BROADCAST, RAYON_INSIDE, RAYON_OUTSIDE};
use support::fork_table::print;
use support::prelude::*;

const OWN: [Candidate; 3] = [ROWPOOL, ROWPOOL_THREADS, YARDSTICK];
const PUBLISHED: [Candidate; 6] =
    [FORKUNION, RAYON_BROADCAST, RAYON_INSIDE, RAYON_OUTSIDE, FERROX, SCOPE];

fn main() {
    published::set_up();
    if wanted("fork_table") {
        print(&OWN, &PUBLISHED, rounds(15));
    }
    let mut criterion = Criterion::default().configure_from_args();
    let warm = Duration::from_millis(5);
    history::group(
        &mut criterion,
        "fork_back_to_back",
        &[&OWN[..], &PUBLISHED].concat(),
        |pool, regions| {
            warm_up(pool, warm);
            let begun = Instant::now();
            (0..regions).for_each(|_| pool.empty(false));
            begun.elapsed()
        },
    );
    criterion.final_summary();
}
