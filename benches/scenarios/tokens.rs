//! The token: quiet, with more threads than cores, beside busy neighbours.

use super::{begin, usual_rounds, Candidates};
use crate::support::child::Neighbour;
use crate::support::prelude::*;

/// Under what the token is decoded: threads, where not each candidate's own, and
/// busy neighbours.
type Scenario = (&'static str, Option<usize>, &'static [Neighbour]);

const QUIET: &str = "token_quiet";
const OVER_4: &str = "token_4_threads";
const OVER_8: &str = "token_8_threads";
const ONE_HOG: &str = "token_one_hog";
const TWO_HOGS: &str = "token_two_hogs";
const SCENARIOS: [Scenario; 5] = [
    (QUIET, None, &[]),
    (OVER_4, Some(4), &[]),
    (OVER_8, Some(8), &[]),
    (ONE_HOG, None, &[Neighbour::HOGS[0]]),
    (TWO_HOGS, None, &Neighbour::HOGS),
];

/// A token that takes this long is given up.
pub fn limit() -> Duration {
    time(2000)
}

pub fn limit_ms() -> f64 {
    ms(limit())
}

/// Times of the tokens of one turn, in ms; where one was given up, that is the
/// last.
pub fn decode(pool: &mut dyn Fork, token: &mut Token, enough: Duration) -> Vec<f64> {
    let mut next = || {
        let step = pool.paced(token, limit());
        (ms(step.time), step.done == 1.0)
    };
    // For the caches, and until the threads are on their cores.
    let (first, done) = next();
    if !done {
        return vec![first.max(limit_ms())];
    }
    next();
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.is_empty() || begun.elapsed() < enough {
        let (time, done) = next();
        times.push(time);
        if !done {
            break;
        }
    }
    times
}

/// p50 and p99 in ms.
fn turn(
    ((_, _, hogs), candidate): &(Scenario, Candidate),
    token: &mut Token,
    right: &[u32],
) -> Figures {
    let Some(hogs) = Neighbour::start_all(hogs) else {
        return [f64::NAN; 3];
    };
    // A hundred tokens and more, for p99.
    let enough = time(if hogs.is_empty() { 700 } else { 1200 });
    token.clear();
    let times = candidate.run(|pool| decode(pool, token, enough));
    let given_up = times.last().is_some_and(|&ms| ms >= limit_ms());
    assert!(given_up || token.output() == right, "{} computes something else", candidate.name);
    [median(&times), quantile(&times, 0.99), 0.0]
}

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    // Too many threads are compared with the right number.
    let quiet = wanted(OVER_4) || wanted(OVER_8);
    let mut cases: Vec<Case<(Scenario, Candidate)>> = Vec::new();
    for scenario @ (name, threads, _) in SCENARIOS {
        if begin(name) || (name == QUIET && quiet) {
            let many = candidates.all.iter().filter(|c| c.threads > 1 || threads.is_none());
            cases.extend(many.map(|&own| {
                let threads = threads.unwrap_or(own.threads);
                (name.into(), own.name, (scenario, Candidate { threads, ..own }))
            }));
        }
    }
    if cases.is_empty() {
        return Vec::new();
    }
    let mut token = Token::new(Format::Q8_0);
    let right = token.right();
    let turns = Turns::of(usual_rounds(), &cases, |case| turn(case, &mut token, &right));
    let best = best(candidates, &turns);
    turns.rows(|one| rows(one, best))
}

fn rows(one: One<'_>, best: &str) -> Vec<Row> {
    let scenario = one.measure();
    let row = |what: &str, at: usize| {
        let measure = format!("{scenario}{what}");
        one.row_as(&measure, one.candidate(), "ms", at).capped(limit_ms(), "ms")
    };
    match scenario {
        OVER_4 | OVER_8 => {
            let least = if scenario == OVER_4 { 0.95 } else { 0.90 };
            let speed = one.speed(0, QUIET, one.candidate());
            let asked = one.ours(Asked::AtLeast(least));
            vec![row("", 0).compared("speed over quiet T = 2", speed, asked)]
        }
        ONE_HOG => {
            let serial = one.over(0, scenario, SERIAL.name);
            let tail = one.ours(Asked::AtMost(2.5));
            vec![
                row(", p50", 0).compared("time over serial", serial, one.ours(Asked::AtMost(0.90))),
                row(", p99", 1).compared("over its p50", one.within(1, 0), tail),
            ]
        }
        TWO_HOGS => {
            let (most, what) = (one.ours(Asked::AtMost(1.0)), format!("time over {best}"));
            let over = |at| one.over(at, scenario, best);
            vec![
                row(", p50", 0).compared(&what, over(0), most),
                row(", p99", 1).compared(&what, over(1), most),
            ]
        }
        _ => {
            let speed = one.speed(0, scenario, SERIAL.name);
            vec![row("", 0).compared("speed over serial", speed, None)]
        }
    }
}

/// The best rival with two hogs, serial code included.
fn best<'a>(candidates: &Candidates<'a>, turns: &Turns) -> &'a str {
    let p50 = |c: &&Candidate| turns.one(TWO_HOGS, c.name).map_or(f64::NAN, |one| one.median(0));
    let rival = |c: &&Candidate| c.name != ROWPOOL.name && c.name != YARDSTICK.name;
    // NaN, for no turns, comes last.
    let rivals = candidates.all.iter().filter(rival);
    rivals.min_by(|a, b| p50(a).total_cmp(&p50(b))).map_or(SERIAL.name, |best| best.name)
}
