//! The token: quiet, with more threads than cores, beside busy neighbours.

use super::report::{Asked, Row};
use super::{announce, is_ours, time, usual_rounds, Cast, Rows, Turns, MS};
use crate::support::candidate::SERIAL;
use crate::support::child::Hog;
use crate::support::fork::{Candidate, Fork};
use crate::support::rounds::alternate;
use crate::support::stats::{median, quantile, ratios, Estimate};
use crate::support::token::{Format, Token};
use crate::support::wanted;
use std::time::{Duration, Instant};

/// Under what the token is decoded.
struct Scene {
    name: &'static str,
    /// Threads, where not each candidate's own.
    threads: Option<usize>,
    /// CPUs with a busy neighbour.
    hogs: &'static [usize],
    time: Duration,
}

const fn scene(name: &'static str, threads: Option<usize>, hogs: &'static [usize]) -> Scene {
    // A hundred tokens and more, for p99.
    let time = if hogs.is_empty() { 700 } else { 1200 };
    Scene { name, threads, hogs, time: Duration::from_millis(time) }
}

const QUIET: &str = "token_quiet";
const OVER_4: &str = "token_4_threads";
const OVER_8: &str = "token_8_threads";
const ONE_HOG: &str = "token_one_hog";
const TWO_HOGS: &str = "token_two_hogs";
const SCENES: [Scene; 5] = [
    scene(QUIET, None, &[]),
    scene(OVER_4, Some(4), &[]),
    scene(OVER_8, Some(8), &[]),
    scene(ONE_HOG, None, &[1]),
    scene(TWO_HOGS, None, &[0, 1]),
];

/// A token that takes this long is given up.
pub fn limit() -> Duration {
    time(2000 * MS)
}

fn limit_ms() -> f64 {
    limit().as_secs_f64() * 1e3
}

/// Times of the tokens of one turn, in ms; where one was given up, that is the
/// last.
pub fn decode(pool: &mut dyn Fork, token: &mut Token, enough: Duration) -> Vec<f64> {
    let mut next = || {
        let step = pool.paced(token, limit());
        (step.time.as_secs_f64() * 1e3, step.done == 1.0)
    };
    // For the caches, and until the threads are on their cores.
    let (ms, done) = next();
    if !done {
        return vec![ms.max(limit_ms())];
    }
    next();
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.is_empty() || begun.elapsed() < enough {
        let (ms, done) = next();
        times.push(ms);
        if !done {
            break;
        }
    }
    times
}

struct Turn {
    p50: f64,
    p99: f64,
}

fn turn(scene: &Scene, candidate: Candidate, token: &mut Token, right: &[u32]) -> Turn {
    let hogs: Vec<Option<Hog>> = scene.hogs.iter().map(|&cpu| Hog::on(cpu)).collect();
    if hogs.iter().any(Option::is_none) {
        return Turn { p50: f64::NAN, p99: f64::NAN };
    }
    let mut times = Vec::new();
    candidate.run(&mut |pool| {
        token.clear();
        times = decode(pool, token, time(scene.time));
    });
    let given_up = times.last().is_some_and(|&ms| ms >= limit_ms());
    assert!(given_up || token.output() == right, "{} computes something else", candidate.name);
    Turn { p50: median(&times), p99: quantile(&times, 0.99) }
}

pub fn play(cast: &Cast<'_>) -> Rows {
    // Too many threads are compared with the right number.
    let quiet = wanted(QUIET) || wanted(OVER_4) || wanted(OVER_8);
    let mut cases = Vec::new();
    for scene in &SCENES {
        if wanted(scene.name) || (scene.name == QUIET && quiet) {
            announce(scene.name);
            let many = |candidate: &Candidate| candidate.threads > 1 || scene.threads.is_none();
            for &candidate in cast.all.iter().filter(|candidate| many(candidate)) {
                let threads = scene.threads.unwrap_or(candidate.threads);
                cases.push((scene, Candidate { threads, ..candidate }));
            }
        }
    }
    if cases.is_empty() {
        return Rows::new();
    }
    let mut token = Token::new(Format::Q8_0);
    SERIAL.run(&mut |pool| pool.decode(&mut token));
    let right = token.output();
    let names = cases.iter().map(|(scene, candidate)| (scene.name, candidate.name)).collect();
    let mut series = alternate(usual_rounds(), cases.len(), |i| {
        let (scene, candidate) = cases[i];
        turn(scene, candidate, &mut token, &right)
    });
    series.iter_mut().for_each(|series| series.drop_if(|turn| turn.p50.is_nan()));
    let turns = Turns { names, series };
    turns.iter().flat_map(|(scene, candidate, _)| rows(cast, &turns, scene, candidate)).collect()
}

/// Of one candidate in one scene.
fn rows(cast: &Cast<'_>, turns: &Turns<Turn>, scene: &str, candidate: &str) -> Rows {
    let Some(series) = turns.of(scene, candidate) else {
        return Rows::new();
    };
    let ours = |asked| Some(asked).filter(|_| is_ours(candidate));
    let (p50, p99) = (|turn: &Turn| turn.p50, |turn: &Turn| turn.p99);
    let row = |what: &str, figure: fn(&Turn) -> f64| {
        let measure = format!("{scene}{what}");
        Row::new(&measure, candidate, series, "ms", figure).capped(limit_ms(), "ms")
    };
    let versus = |figure: fn(&Turn) -> f64, scene_of: &str, other: &str| {
        ratios(&turns.paired(scene, candidate, figure), &turns.paired(scene_of, other, figure))
    };
    let tail = row(", p99", p99);
    match scene {
        OVER_4 | OVER_8 => {
            let least = if scene == OVER_4 { 0.95 } else { 0.90 };
            // Speeds: the inverse of the times.
            let quiet = turns.paired(QUIET, candidate, p50);
            let speed = ratios(&quiet, &turns.paired(scene, candidate, p50));
            let what = "speed over quiet T = 2";
            vec![row("", p50).compared(what, speed, ours(Asked::AtLeast(least)))]
        }
        ONE_HOG => {
            let most = ours(Asked::AtMost(0.90));
            let serial = versus(p50, scene, SERIAL.name);
            let shape = Estimate::of(&series.figures(|turn| turn.p99 / turn.p50));
            vec![
                row(", p50", p50).compared("time over serial", serial, most),
                tail.compared("over its p50", shape, ours(Asked::AtMost(2.5))),
            ]
        }
        TWO_HOGS => {
            let most = ours(Asked::AtMost(1.0));
            let best = best(cast, turns);
            let what = format!("time over {best}");
            vec![
                row(", p50", p50).compared(&what, versus(p50, scene, best), most),
                tail.compared(&what, versus(p99, scene, best), most),
            ]
        }
        _ => {
            let speed = ratios(
                &turns.paired(scene, SERIAL.name, p50),
                &turns.paired(scene, candidate, p50),
            );
            vec![row("", p50).compared("speed over serial", speed, None)]
        }
    }
}

/// The best rival with two hogs, serial code included.
fn best<'a>(cast: &Cast<'a>, turns: &Turns<Turn>) -> &'a str {
    let p50 = |candidate: &Candidate| {
        let series = turns.of(TWO_HOGS, candidate.name);
        series.map_or(f64::NAN, |series| median(&series.figures(|turn| turn.p50)))
    };
    let rival = |c: &&Candidate| !is_ours(c.name) && c.name != cast.yardstick;
    // NaN, for no turns, comes last.
    let best = cast.all.iter().filter(rival).min_by(|a, b| p50(a).total_cmp(&p50(b)));
    best.map_or(SERIAL.name, |best| best.name)
}
