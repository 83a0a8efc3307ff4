//! The table of the token, with ratios between candidates, paired round by round.

use super::candidate::{FUSED, GEMV, STEPS};
use super::prelude::*;

/// Steps of one turn, of which the median counts.
const TIMES: usize = 9;

/// The step in ms.
fn step(candidate: &Candidate, token: &mut Token, right: &[u32]) -> Figures {
    let ms = candidate.run(|pool| {
        warm_up(pool, time(10));
        token.clear();
        pool.decode(token);
        assert_eq!(token.output(), right, "{} computes something else", candidate.name);
        let step = || {
            let begun = Instant::now();
            pool.decode(token);
            ms(begun.elapsed())
        };
        median_of(some(TIMES, 1), step)
    });
    [ms, 0.0, 0.0]
}

/// Whose speed over whose, where not rowpool's over a published pool's, with what
/// the upper end of its interval is to reach.
const RATIOS: [(Candidate, Candidate, Option<f64>); 6] = [
    (ROWPOOL, YARDSTICK, Some(0.98)),
    (ROWPOOL, LIMIT, None),
    (YARDSTICK, LIMIT, None),
    (GEMV, ROWPOOL, None),
    (FUSED, GEMV, None),
    (STEPS, GEMV, None),
];

/// Measures our own ways, of which the first is the serial one, and published
/// pools, and prints the table.
pub fn print(token: &mut Token, own: &[Candidate], published: &[Candidate], rounds: usize) {
    let (right, serial) = (token.right(), own[0].name);
    let rivals = published.iter().map(|&rival| (ROWPOOL, rival, Some(1.0)));
    let ratios: Vec<_> = RATIOS.into_iter().chain(rivals).collect();
    let cases = each("token", (), &[own, published].concat());
    let turns = Turns::of(rounds, &cases, |((), candidate)| step(candidate, token, &right));
    let bytes = token.bytes() as f64;
    let rows = turns.rows(|one| {
        let mut row = one.row("ms", 0).note(&format!("{:.1} GB/s", bytes / one.median(0) / 1e6));
        row = row.compared("speed over serial", one.speed(0, "token", serial), None);
        for (_, under, least) in ratios.iter().filter(|(over, ..)| over.name == one.candidate()) {
            let speed = one.speed(0, "token", under.name);
            row = row.compared(&format!("over {}", under.name), speed, least.map(Asked::Reaches));
        }
        vec![row]
    });
    let (format, regions, mb) = (token.format(), token.regions(), token.bytes() / 1_000_000);
    report::print(&format!("Token, T = 2: {format:?}, {regions} regions, {mb} MB"), &rows);
}
