//! The table of empty regions: back to back, and after the caller was busy.

use super::candidate::{busy, warm_up, SCOPE, YARDSTICK};
use super::fork::{Candidate, Fork};
use super::machine::{clock_ns, round_trip};
use super::rounds::{alternate_within, Series, DISTURBED};
use super::stats::{median, quantile};
use super::verdict;
use super::who::Who;
use std::time::{Duration, Instant};

/// What a table is about.
#[derive(Clone, Copy)]
struct Case {
    /// How long the caller is busy before each region.
    gap: Duration,
    /// Regions of one turn that are timed one by one.
    regions: usize,
    /// Whether the closure captures something, as real ones do.
    captures: bool,
}

const fn case(gap: Duration, regions: usize) -> Case {
    Case { gap, regions, captures: false }
}

const CASES: [Case; 6] = [
    case(Duration::ZERO, 4000),
    Case { captures: true, ..case(Duration::ZERO, 4000) },
    case(Duration::from_micros(10), 1000),
    case(Duration::from_micros(100), 200),
    case(Duration::from_millis(1), 30),
    case(Duration::from_millis(5), 10),
];
/// Where `CASES` has those that something is required of.
const HOT: usize = 0;
const AFTER_100US: usize = 3;

/// Back to back, regions are timed in batches: so many of so many a turn.
const BATCHES: usize = 30;
const BATCH: usize = 500;
/// A part of a turn ends here, however slow the pool.
const ENOUGH: Duration = Duration::from_millis(60);
const WARM_UP: Duration = Duration::from_millis(10);

/// One turn of one candidate, in ns.
#[derive(Default)]
struct Turn {
    typical: f64,
    singles: Vec<f64>,
    forked: f64,
    /// F of the same moment, for the yardstick.
    trip: Option<f64>,
}

/// A candidate's row.
struct Row {
    name: &'static str,
    ns: f64,
    p99: f64,
    forked: f64,
    /// The least of any turn: one that others disturb for a ms shows here.
    least: f64,
    tally: String,
}

impl Case {
    /// One region of one empty slot per thread.
    fn region(&self, pool: &mut dyn Fork, threads: usize) {
        if self.captures {
            pool.captured(threads);
        } else {
            pool.empty(threads);
        }
    }

    /// One region after the gap, in ns, less the clock's own cost.
    fn single(&self, pool: &mut dyn Fork, threads: usize, clock: f64) -> f64 {
        if !self.gap.is_zero() {
            busy(self.gap);
        }
        let begun = Instant::now();
        self.region(pool, threads);
        begun.elapsed().as_nanos() as f64 - clock
    }

    /// The mean of some regions, in ns.
    fn batch(&self, pool: &mut dyn Fork, threads: usize) -> f64 {
        let begun = Instant::now();
        (0..BATCH).for_each(|_| self.region(pool, threads));
        begun.elapsed().as_nanos() as f64 / BATCH as f64
    }
}

/// The mean of a batch of empty regions, in ns.
pub fn batch(pool: &mut dyn Fork, threads: usize) -> f64 {
    CASES[HOT].batch(pool, threads)
}

/// An empty region after a gap, in ns, less the clock's own cost.
pub fn single(pool: &mut dyn Fork, threads: usize, gap: Duration, clock: f64) -> f64 {
    case(gap, 1).single(pool, threads, clock)
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

/// The share of regions that really forked: looked at apart, since the noting
/// takes time.
fn forked(case: &Case, pool: &mut dyn Fork, threads: usize, regions: usize) -> f64 {
    let mut who = Who::new(threads, regions);
    who.watch(|| {
        for _ in 0..regions {
            case.single(pool, threads, 0.0);
        }
    });
    who.forked()
}

fn turn(candidate: &Candidate, case: &Case, clock: f64) -> Turn {
    let threads = candidate.threads;
    let mut turn = Turn::default();
    if candidate.name == YARDSTICK.name {
        turn.trip = round_trip();
    }
    candidate.run(&mut |pool| {
        warm_up(pool, threads, WARM_UP);
        turn.singles = up_to(case.regions, || case.single(pool, threads, clock));
        turn.typical = median(&turn.singles);
        if case.gap.is_zero() {
            turn.typical = median(&up_to(BATCHES, || case.batch(pool, threads)));
        }
        turn.forked = forked(case, pool, threads, turn.singles.len());
    });
    turn
}

/// Measures all candidates and prints the table. The first is rowpool.
pub fn print(title: &str, candidates: &[Candidate], rounds: usize) {
    let clock = clock_ns();
    println!("\n## {title}\n");
    println!("A reading of the clock, {clock:.0} ns, is taken off regions timed one by one.");
    let mut tables = Vec::new();
    for case in &CASES {
        // F is a candidate of its own: its turns are watched like the others'.
        let turn = |i: usize| match candidates.get(i) {
            Some(candidate) => turn(candidate, case, clock),
            None => Turn { typical: round_trip().unwrap_or(f64::NAN), ..Turn::default() },
        };
        // The kernel cleans up after ended threads in threads of its own.
        let spawns = |i: usize| candidates.get(i).is_some_and(|own| own.name == SCOPE.name);
        let limit = |i| if spawns(i) { 0.5 } else { DISTURBED };
        let mut series = alternate_within(limit, rounds, candidates.len() + 1, turn);
        let trips = series.pop().expect("there is F");
        let f = median(&trips.figures(|turn| turn.typical));
        let when = match case {
            Case { captures: true, .. } => "back to back, by a closure that captures".into(),
            Case { gap: Duration::ZERO, .. } => "back to back".into(),
            Case { gap, .. } => format!("after {gap:?}"),
        };
        println!("\n{when}; F = {f:.0} ns ({}):", trips.tally());
        for (candidate, series) in candidates.iter().zip(&mut series) {
            // A yardstick that is slow itself measures nothing.
            if candidate.name == YARDSTICK.name && case.gap.is_zero() && !case.captures {
                series.drop_if(|turn| turn.trip.is_some_and(|f| turn.typical > 1.2 * f));
            }
        }
        let rows: Vec<Row> = candidates.iter().zip(&series).map(row).collect();
        print_rows(&rows, f);
        tables.push((rows, f));
    }
    judge(&tables[HOT], &tables[AFTER_100US]);
}

fn row((candidate, series): (&Candidate, &Series<Turn>)) -> Row {
    let singles: Vec<f64> = series.kept().flat_map(|turn| turn.singles.iter().copied()).collect();
    Row {
        name: candidate.name,
        ns: median(&series.figures(|turn| turn.typical)),
        p99: quantile(&singles, 0.99),
        forked: median(&series.figures(|turn| turn.forked)),
        least: series.kept().map(|turn| turn.forked).fold(f64::NAN, f64::min),
        tally: series.tally(),
    }
}

fn print_rows(rows: &[Row], f: f64) {
    println!("| pool | median ns | in F | p99 ns | both threads (least) | rounds |");
    println!("|---|---|---|---|---|---|");
    for Row { name, ns, p99, forked, least, tally } in rows {
        let (in_f, both, least) = (ns / f, 100.0 * forked, 100.0 * least);
        println!(
            "| {name} | {ns:.0} | {in_f:.2} | {p99:.0} | {both:.1}% ({least:.0}%) | {tally} |"
        );
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
