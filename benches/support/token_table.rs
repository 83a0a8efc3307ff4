//! The table of the token: each shape, the whole, and the ratios between
//! candidates, paired round by round.

use super::candidate::{rowpool, warm_up, SERIAL, YARDSTICK};
use super::fork::{Candidate, Fork};
use super::fork_table::batch;
use super::machine::round_trip;
use super::rounds::{alternate, Series};
use super::stats::{median, ratios, Estimate};
use super::token::{ForEachRow, RowFn, Token, SHAPES};
use std::time::{Duration, Instant};

/// Steps of one turn, of which the median counts.
const STEPS: usize = 9;

/// How a step is run.
#[derive(Clone, Copy)]
pub enum Way {
    /// A region for each matrix, one range of rows per thread.
    Regions(Candidate),
    /// One region for the whole step: what no pool can beat.
    Limit(Candidate),
    /// `rowpool::gemv` at two threads.
    Gemv,
    /// A closure for each row.
    ByRow(&'static str, ForEachRow),
}

impl Way {
    pub fn name(&self) -> &'static str {
        match self {
            Way::Regions(candidate) => candidate.name,
            Way::Limit(_) => "limit (no regions)",
            Way::Gemv => "rowpool::gemv",
            Way::ByRow(name, _) => name,
        }
    }

    /// Calls `body` with one step of this way.
    pub fn run(&self, body: &mut (dyn FnMut(Step<'_>) + Send)) {
        match *self {
            Way::Regions(candidate) => candidate.run(&mut |pool| body(Step::Regions(pool))),
            Way::Limit(candidate) => {
                candidate.run(&mut |pool| body(Step::Limit(pool, candidate.threads)))
            }
            Way::Gemv => body(Step::Gemv(&rowpool(2))),
            Way::ByRow(_, for_each_row) => body(Step::ByRow(for_each_row)),
        }
    }
}

/// A way that is up and running.
pub enum Step<'a> {
    Regions(&'a mut dyn Fork),
    Limit(&'a mut dyn Fork, usize),
    Gemv(&'a rowpool::Pool),
    ByRow(ForEachRow),
}

impl Step<'_> {
    pub fn decode(&mut self, token: &mut Token) {
        match self {
            Step::Regions(pool) => pool.decode(token),
            Step::Limit(pool, threads) => pool.limit(token, *threads),
            Step::Gemv(pool) => token.by_gemv(pool),
            Step::ByRow(for_each_row) => token.by_row(*for_each_row),
        }
    }
}

/// What a turn measured.
#[derive(Default)]
struct Turn {
    step_ms: f64,
    /// Per region of each of `SHAPES`; empty for ways without regions.
    shapes_us: Vec<f64>,
    /// The pool's own empty fork, and F of the same moment: for the yardstick.
    fork_ns: f64,
    trip: Option<f64>,
}

fn turn(way: &Way, token: &mut Token, right: &[u32]) -> Turn {
    let mut turn = Turn::default();
    if way.name() == YARDSTICK.name {
        turn.trip = round_trip();
    }
    way.run(&mut |mut step| {
        if let (Step::Regions(pool), Way::Regions(candidate)) = (&mut step, way) {
            let pause = Duration::from_millis(if super::short() { 1 } else { 10 });
            warm_up(*pool, candidate.threads, pause);
            let batches: Vec<f64> = (0..5).map(|_| batch(*pool, candidate.threads)).collect();
            turn.fork_ns = median(&batches);
        }
        token.clear();
        step.decode(token);
        assert_eq!(token.output(), right, "{} computes something else", way.name());
        let mut times = Vec::new();
        for _ in 0..if super::short() { 1 } else { STEPS } {
            let begun = Instant::now();
            step.decode(token);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        turn.step_ms = median(&times);
        if let Step::Regions(pool) = &mut step {
            for shape in SHAPES {
                let begun = Instant::now();
                let regions = pool.shape(token, shape);
                turn.shapes_us.push(begun.elapsed().as_secs_f64() * 1e6 / regions as f64);
            }
        }
    });
    turn
}

/// A ratio of speeds to print, `over` by `under`, with the least that the
/// project asks of the upper end of its interval.
pub struct Ratio {
    pub over: &'static str,
    pub under: &'static str,
    pub least: Option<f64>,
}

/// Measures all ways and prints the table and the ratios.
pub fn print(title: &str, token: &mut Token, ways: &[Way], wanted: &[Ratio], rounds: usize) {
    let mut right = Vec::new();
    SERIAL.run(&mut |pool| {
        token.clear();
        pool.decode(token);
        right = token.output();
    });
    let mut series = alternate(rounds, ways.len() + 1, |i| match ways.get(i) {
        Some(way) => turn(way, token, &right),
        None => Turn { fork_ns: round_trip().unwrap_or(f64::NAN), ..Turn::default() },
    });
    let trips = series.pop().expect("there is F");
    println!(
        "\n## {title}: {}, {} regions, {} MB\n",
        token.format(),
        token.regions(),
        token.bytes() / 1_000_000
    );
    println!("F = {:.0} ns ({})", median(&trips.figures(|turn| turn.fork_ns)), trips.tally());
    for (way, series) in ways.iter().zip(&mut series) {
        // A yardstick that is slow itself measures nothing.
        if way.name() == YARDSTICK.name {
            series.drop_if(|turn| turn.trip.is_some_and(|f| turn.fork_ns > 1.2 * f));
        }
    }
    print_steps(ways, &series, token);
    print_shapes(ways, &series);
    print_ratios(ways, &series, wanted);
}

fn print_steps(ways: &[Way], series: &[Series<Turn>], token: &Token) {
    let serial = series[0].paired(|turn| turn.step_ms);
    println!("\n| token | median ms | GB/s | speed-up [95%] | rounds |");
    println!("|---|---|---|---|---|");
    for (way, series) in ways.iter().zip(series) {
        let ms = median(&series.figures(|turn| turn.step_ms));
        let gain = ratios(&serial, &series.paired(|turn| turn.step_ms));
        let rate = token.bytes() as f64 / ms / 1e6;
        println!("| {} | {ms:.3} | {rate:.1} | {gain} | {} |", way.name(), series.tally());
    }
}

fn print_shapes(ways: &[Way], series: &[Series<Turn>]) {
    let names: String = SHAPES.iter().map(|(rows, cols)| format!(" {rows}x{cols} |")).collect();
    if !ways.iter().any(|way| matches!(way, Way::Regions(_))) {
        return;
    }
    println!("\n| µs per region (speed-up) |{names}");
    println!("|---|{}", "---|".repeat(SHAPES.len()));
    let times = |series: &Series<Turn>, shape: usize| series.paired(|turn| turn.shapes_us[shape]);
    let regions = |way: &&Way| matches!(way, Way::Regions(_));
    for (way, own) in ways.iter().zip(series).filter(|(way, _)| regions(way)) {
        let cell = |shape: usize| {
            let own_times = times(own, shape);
            let us = median(&own_times.iter().flatten().copied().collect::<Vec<f64>>());
            format!(" {us:.1} ({:.2}) |", ratios(&times(&series[0], shape), &own_times).median)
        };
        println!("| {} |{}", way.name(), (0..SHAPES.len()).map(cell).collect::<String>());
    }
}

fn print_ratios(ways: &[Way], series: &[Series<Turn>], wanted: &[Ratio]) {
    println!("\n| speed of | by that of | paired ratio [95%] | required |");
    println!("|---|---|---|---|");
    let of = |name: &str| {
        let at = ways.iter().position(|way| way.name() == name)?;
        Some(series[at].paired(|turn| turn.step_ms))
    };
    for ratio in wanted {
        let (Some(over), Some(under)) = (of(ratio.over), of(ratio.under)) else {
            continue;
        };
        // Speeds: the inverse of the times.
        let estimate: Estimate = ratios(&under, &over);
        let required = match ratio.least {
            Some(least) => {
                format!("{least}: {}", super::verdict(estimate.high >= least, estimate.n >= 6))
            }
            None => "-".into(),
        };
        println!("| {} | {} | {estimate} | {required} |", ratio.over, ratio.under);
    }
}

/// Runs everything on the caller, a closure for each row.
pub fn serial_rows(rows: &mut [f32], _: usize, f: RowFn<'_>) {
    rows.iter_mut().enumerate().for_each(|(row, out)| f(row, out));
}

/// rowpool's drop-in module.
pub fn rowpool_rows(rows: &mut [f32], cols: usize, f: RowFn<'_>) {
    rowpool::threads::for_each_row(rows, rows.len(), cols, f);
}
