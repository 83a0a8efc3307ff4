//! The table of empty regions: back to back, and after the caller was busy.

use super::candidate::{busy, warm_up, Candidate, Fork, YARDSTICK};
use super::machine::{clock_ns, round_trip};
use super::rounds::{alternate, Series};
use super::stats::{mean, median, quantile};
use super::verdict;
use super::who::Who;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long the caller is busy before each region, and the regions of a turn.
const GAPS: [(Duration, usize); 5] = [
    (Duration::ZERO, 4000),
    (Duration::from_micros(10), 1000),
    (Duration::from_micros(100), 200),
    (Duration::from_millis(1), 30),
    (Duration::from_millis(5), 10),
];
/// Back to back, regions are timed in batches: so many of so many a turn.
const BATCHES: usize = 30;
const BATCH: usize = 500;
/// A part of a turn ends here, however slow the pool.
const ENOUGH: Duration = Duration::from_millis(60);
const WARM_UP: Duration = Duration::from_millis(10);

/// One turn of one candidate, in ns.
struct Turn {
    typical: f64,
    singles: Vec<f64>,
    forked: f64,
}

/// A candidate's row.
struct Row {
    name: &'static str,
    ns: f64,
    p99: f64,
    forked: f64,
    tally: String,
}

/// One region of one empty slot per thread.
pub fn empty(pool: &mut dyn Fork, threads: usize) {
    pool.region(threads, 0, &|range| {
        black_box(range.start);
    });
}

/// Mean of a batch of empty regions, in ns.
pub fn batch(pool: &mut dyn Fork, threads: usize, regions: usize) -> f64 {
    let begun = Instant::now();
    for _ in 0..regions {
        empty(pool, threads);
    }
    begun.elapsed().as_nanos() as f64 / regions as f64
}

/// One region after a gap, in ns, less the clock's own cost.
pub fn single(pool: &mut dyn Fork, threads: usize, gap: Duration, clock: f64) -> f64 {
    if !gap.is_zero() {
        busy(gap);
    }
    let begun = Instant::now();
    empty(pool, threads);
    begun.elapsed().as_nanos() as f64 - clock
}

/// Calls `f` up to `n` times, until it has taken long enough; all of the times.
fn up_to(n: usize, mut f: impl FnMut() -> f64) -> Vec<f64> {
    let begun = Instant::now();
    let enough = if super::short() { ENOUGH / 20 } else { ENOUGH };
    let mut times = Vec::with_capacity(n);
    while times.len() < n && (times.is_empty() || begun.elapsed() < enough) {
        times.push(f());
    }
    times
}

/// The share of `regions` regions, each after a gap, that really forked: looked
/// at apart, since the noting takes time.
fn forked(pool: &mut dyn Fork, threads: usize, gap: Duration, regions: usize) -> f64 {
    let who = Who::new(threads, regions);
    for _ in 0..regions {
        if !gap.is_zero() {
            busy(gap);
        }
        pool.region(threads, 0, &|range| range.for_each(|slot| who.note(slot)));
    }
    who.forked()
}

fn turn(candidate: &Candidate, (gap, regions): (Duration, usize), clock: f64) -> Turn {
    let threads = candidate.threads;
    let mut turn = Turn { typical: f64::NAN, singles: Vec::new(), forked: f64::NAN };
    candidate.run(&mut |pool| {
        warm_up(pool, threads, WARM_UP);
        turn.singles = up_to(regions, || single(pool, threads, gap, clock));
        turn.typical = median(&turn.singles);
        if gap.is_zero() {
            turn.typical = median(&up_to(BATCHES, || batch(pool, threads, BATCH)));
        }
        turn.forked = forked(pool, threads, gap, turn.singles.len());
    });
    turn
}

/// Measures all candidates and prints the table. The first is rowpool.
pub fn print(title: &str, candidates: &[Candidate], rounds: usize) {
    let clock = clock_ns();
    println!("\n## {title}\n");
    println!("A reading of the clock, {clock:.0} ns, is taken off regions timed one by one.");
    let mut tables = Vec::new();
    for gap in GAPS {
        // F is a candidate of its own: its turns are watched like the others'.
        let mut series = alternate(rounds, candidates.len() + 1, |i| match candidates.get(i) {
            Some(candidate) => turn(candidate, gap, clock),
            None => {
                Turn { typical: round_trip().unwrap_or(f64::NAN), singles: vec![], forked: 1.0 }
            }
        });
        let trips = series.pop().expect("there is F");
        let f = median(&trips.figures(|turn| turn.typical));
        match gap.0.is_zero() {
            true => println!("\nback to back; F = {f:.0} ns ({}):", trips.tally()),
            false => println!("\nafter {:?}; F = {f:.0} ns ({}):", gap.0, trips.tally()),
        }
        for (candidate, series) in candidates.iter().zip(&mut series) {
            if candidate.name == YARDSTICK.name && gap.0.is_zero() {
                drop_slow(series, &trips.paired(|turn| turn.typical));
            }
        }
        let rows: Vec<Row> = candidates.iter().zip(&series).map(row).collect();
        print_rows(&rows, f);
        tables.push((rows, f));
    }
    judge(&tables[0], &tables[2]);
}

fn row((candidate, series): (&Candidate, &Series<Turn>)) -> Row {
    let singles: Vec<f64> = series.kept().flat_map(|turn| turn.singles.iter().copied()).collect();
    Row {
        name: candidate.name,
        ns: median(&series.figures(|turn| turn.typical)),
        p99: quantile(&singles, 0.99),
        forked: mean(&series.figures(|turn| turn.forked)),
        tally: series.tally(),
    }
}

fn print_rows(rows: &[Row], f: f64) {
    println!("| pool | median ns | in F | p99 ns | both threads | rounds |");
    println!("|---|---|---|---|---|---|");
    for Row { name, ns, p99, forked, tally } in rows {
        let (in_f, both) = (ns / f, 100.0 * forked);
        println!("| {name} | {ns:.0} | {in_f:.2} | {p99:.0} | {both:.1}% | {tally} |");
    }
}

/// A yardstick that is slow itself measures nothing: only turns of at most
/// 1.2 F count.
fn drop_slow(series: &mut Series<Turn>, f: &[Option<f64>]) {
    for (turn, f) in series.turns.iter_mut().zip(f) {
        let fork = turn.as_ref().map(|turn| turn.typical);
        if !super::short() && fork.zip(*f).is_some_and(|(fork, f)| fork > 1.2 * f) {
            *turn = None;
            series.dropped += 1;
        }
    }
}

/// What the project requires of rowpool.
fn judge((hot, f): &(Vec<Row>, f64), (later, later_f): &(Vec<Row>, f64)) {
    println!();
    let Row { name, ns, forked, .. } = hot[0];
    let (in_f, both) = (ns / f, 100.0 * forked);
    let met = verdict(in_f <= 1.5 && forked >= 0.99, in_f.is_finite());
    println!("{name}: {in_f:.2} F, both threads in {both:.1}% (<= 1.5 F, >= 99%): {met}");
    let in_f = later[0].ns / later_f;
    let met = verdict(in_f <= 2.0, in_f.is_finite());
    println!("{name}: after 100 µs {in_f:.2} F (<= 2 F): {met}");
    // Not the yardstick, nor another way to call rowpool.
    let ours = |name: &str| name.starts_with("rowpool") || name == YARDSTICK.name;
    let published = hot.iter().filter(|row| row.forked >= 0.99 && !ours(row.name));
    if let Some(best) = published.min_by(|a, b| a.ns.total_cmp(&b.ns)) {
        let ratio = ns / best.ns;
        let met = verdict(ratio <= 0.5, ratio.is_finite());
        println!(
            "{name}: {ratio:.2} of {}, the fastest here that forks (<= 0.5): {met}",
            best.name
        );
    }
}
