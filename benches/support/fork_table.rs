//! The table of empty regions: back to back, and after the caller was busy.

use super::machine::{clock_ns, round_trip};
use super::prelude::*;
use super::rounds::DISTURBED;
use super::who;

/// What is measured: how long the caller is busy before each region, in µs,
/// how many regions of one turn are timed one by one, and whether the closure
/// captures something, as real ones do.
type Kind = (&'static str, u64, usize, bool);

const HOT: &str = "back to back";
const AFTER_100US: &str = "after 100 µs";
const KINDS: [Kind; 6] = [
    (HOT, 0, 4000, false),
    ("back to back, captures", 0, 4000, true),
    ("after 10 µs", 10, 1000, false),
    (AFTER_100US, 100, 200, false),
    ("after 1 ms", 1000, 30, false),
    ("after 5 ms", 5000, 10, false),
];

/// The round trip of a line, as a candidate.
const F: &str = "F";

/// Back to back, regions are timed in batches: so many of so many a turn.
const BATCHES: usize = 30;
const BATCH: usize = 500;

/// An empty region after a gap, in ns, less the clock's own cost.
fn single(pool: &mut dyn Fork, gap: Duration, captures: bool, clock: f64) -> f64 {
    if !gap.is_zero() {
        busy(gap);
    }
    let begun = Instant::now();
    pool.empty(captures);
    begun.elapsed().as_nanos() as f64 - clock
}

/// The mean of a batch of empty regions, in ns.
fn batch(pool: &mut dyn Fork, captures: bool) -> f64 {
    let begun = Instant::now();
    (0..BATCH).for_each(|_| pool.empty(captures));
    begun.elapsed().as_nanos() as f64 / BATCH as f64
}

/// Calls `f` up to `n` times, until it has taken long enough, however slow the
/// pool; all of the times.
fn up_to(n: usize, mut f: impl FnMut() -> f64) -> Vec<f64> {
    let (begun, enough) = (Instant::now(), super::time(60));
    let mut times = Vec::with_capacity(n);
    while times.len() < n && (times.is_empty() || begun.elapsed() < enough) {
        times.push(f());
    }
    times
}

/// The typical region and the 99th percentile, in ns, and the share of regions
/// that really forked: looked at apart, since the noting takes time.
fn turn(candidate: &Candidate, (_, gap, regions, captures): Kind, clock: f64) -> Figures {
    let gap = Duration::from_micros(gap);
    candidate.run(|pool| {
        warm_up(pool, super::time(10));
        let singles = up_to(regions, || single(pool, gap, captures, clock));
        let typical = match gap.is_zero() {
            true => median(&up_to(BATCHES, || batch(pool, captures))),
            false => median(&singles),
        };
        let watched = || _ = single(pool, gap, captures, 0.0);
        let forked = who::forked(candidate.threads, singles.len(), watched);
        [typical, quantile(&singles, 0.99), 100.0 * forked]
    })
}

/// Measures our own pools and published ones, and prints the table.
pub fn print(own: &[Candidate], published: &[Candidate], rounds: usize) {
    let clock = clock_ns();
    let mut rows = Vec::new();
    for kind in KINDS {
        // F is a candidate of its own: its turns are watched like the others'.
        let all = own.iter().chain(published).map(|it| (kind.0.into(), it.name, Some(*it)));
        let cases: Vec<Case<_>> = all.chain([(kind.0.into(), F, None)]).collect();
        // The kernel cleans up after ended threads in threads of its own.
        let spawns = |c: &Option<Candidate>| c.is_some_and(|it| it.name == SCOPE.name);
        let limit = |c: &Option<Candidate>| if spawns(c) { 0.5 } else { DISTURBED };
        let turns = Turns::within(limit, rounds, &cases, |candidate| match candidate {
            Some(candidate) => turn(candidate, kind, clock),
            None => [round_trip().unwrap_or(f64::NAN), 0.0, 0.0],
        });
        let rival = |one: One<'_>| published.iter().any(|it| it.name == one.candidate());
        rows.extend(turns.rows(|one| vec![row(one, rival(one))]));
    }
    report::print("Empty regions, T = 2", &rows);
    println!("\nA reading of the clock, {clock:.0} ns, is taken off regions timed one by one.");
}

fn row(one: One<'_>, rival: bool) -> Row {
    let row = one.row("ns", 0);
    if one.candidate() == F {
        return row;
    }
    // The least of any turn: one that others disturb for a ms shows there.
    let least = one.figures(2).into_iter().fold(f64::INFINITY, f64::min);
    let forked = one.median(2);
    let row = row.note(&format!("p99 {:.0}", one.median(1)));
    let row = row.note(&format!("both threads in {forked:.1}% (least {least:.0}%)"));
    let most = match one.measure() {
        HOT => Some(1.5),
        AFTER_100US => Some(2.0),
        _ => None,
    };
    let asked = most.and_then(|most| one.ours(Asked::AtMost(most)));
    let row = row.compared("in F", one.over(0, one.measure(), F), asked);
    if one.measure() != HOT {
        return row;
    }
    if one.candidate() == ROWPOOL.name {
        return row.required("both threads in 99%", forked >= 99.0);
    }
    // Of published pools, where their regions fork.
    let asked = Some(Asked::AtLeast(2.0)).filter(|_| rival && forked >= 99.0);
    row.compared("time over rowpool's", one.over(0, HOT, ROWPOOL.name), asked)
}
