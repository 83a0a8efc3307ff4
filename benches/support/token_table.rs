//! The table of the token: the whole, each shape, and the ratios between
//! candidates, paired round by round.

use super::fork_table::batch;
use super::machine::round_trip;
use super::prelude::*;
use super::token::{self, Shape};

/// Steps of one turn, of which the median counts.
const STEPS: usize = 9;

/// The step in ms.
fn step(candidate: &Candidate, token: &mut Token, right: &[u32]) -> Figures {
    let trip = if candidate.name == YARDSTICK.name { round_trip() } else { None };
    let (fork, ms) = candidate.run(|pool| {
        warm_up(pool, time(10));
        let fork = median_of(5, || batch(pool, false));
        token.clear();
        pool.decode(token);
        assert_eq!(token.output(), right, "{} computes something else", candidate.name);
        let step = || {
            let begun = Instant::now();
            pool.decode(token);
            ms(begun.elapsed())
        };
        (fork, median_of(some(STEPS, 1), step))
    });
    // A yardstick whose empty fork is slow measures nothing.
    [if trip.is_some_and(|f| fork > 1.2 * f) { f64::NAN } else { ms }, 0.0, 0.0]
}

/// A region of one shape, in µs.
fn shape(candidate: &Candidate, token: &mut Token, shape: Shape) -> Figures {
    candidate.run(|pool| {
        warm_up(pool, time(10));
        pool.shape(token, shape);
        let begun = Instant::now();
        let regions = pool.shape(token, shape);
        [begun.elapsed().as_secs_f64() * 1e6 / regions as f64, 0.0, 0.0]
    })
}

/// Whose speed over whose, with what the upper end of its interval is to reach.
pub type Ratio = (Candidate, Candidate, Option<f64>);

/// Measures all candidates, of which the first is the serial one, and prints the
/// table.
pub fn print(title: &str, token: &mut Token, all: &[Candidate], ratios: &[Ratio], rounds: usize) {
    let (right, serial) = (token.right(), all[0].name);
    let turns = Turns::of(rounds, &each("token", all), |candidate| step(candidate, token, &right));
    let bytes = token.bytes() as f64;
    let mut rows = turns.rows(|one| {
        let mut row = one.row("ms", 0).note(&format!("{:.1} GB/s", bytes / one.median(0) / 1e6));
        row = row.compared("speed over serial", one.speed(0, "token", serial), None);
        for (_, under, least) in ratios.iter().filter(|(over, ..)| over.name == one.candidate()) {
            let speed = one.speed(0, "token", under.name);
            row = row.compared(&format!("over {}", under.name), speed, least.map(Asked::Reaches));
        }
        vec![row]
    });
    rows.extend(shapes(token, all, rounds));
    let (format, regions, mb) = (token.format(), token.regions(), token.bytes() / 1_000_000);
    report::print(&format!("{title}: {format:?}, {regions} regions, {mb} MB"), &rows);
}

/// Region by region.
fn shapes(token: &mut Token, all: &[Candidate], rounds: usize) -> Vec<Row> {
    let mut cases: Vec<Case<(Candidate, Shape)>> = Vec::new();
    for size @ (rows, cols) in token::shapes() {
        let pools =
            all.iter().filter(|pool| pool.name != LIMIT.name && !pool.name.contains("by row"));
        cases.extend(pools.map(|&pool| (format!("{rows}x{cols}").into(), pool.name, (pool, size))));
    }
    let turns = Turns::of(rounds, &cases, |(pool, size)| shape(pool, token, *size));
    turns.rows(|one| {
        let speed = one.speed(0, one.measure(), all[0].name);
        vec![one.row("µs a region", 0).compared("speed over serial", speed, None)]
    })
}
