//! Many callers of one pool: what they get done together, whether one starves,
//! and what waiting for a turn costs.

use super::report::{Asked, Row};
use super::{announce, is_ours, time, usual_rounds, Cast, Rows, Turns, MS};
use crate::support::candidate::{rowpool, ROWPOOL};
use crate::support::fork::{Common, Shared};
use crate::support::machine::{thread_cpu, Line};
use crate::support::rounds::{alternate, Series};
use crate::support::stats::{quantile, ratios, Estimate};
use crate::support::wanted;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const COUNTS: [(&str, usize); 4] =
    [("callers_1", 1), ("callers_2", 2), ("callers_4", 4), ("callers_8", 8)];
/// Eight of them, as tokio's blocking tasks.
const TOKIO: &str = "callers_tokio";
const WAITING: &str = "callers_waiting";
/// Items of one region.
const ITEMS: usize = 100;
/// What a region takes on one CPU.
const REGION: Duration = Duration::from_micros(20);

pub fn play(cast: &Cast<'_>) -> Rows {
    let mut rows = together(cast);
    rows.extend(waiting(cast));
    rows
}

/// Work that takes no memory, and CPU time rather than time: a thread that is
/// off the CPU gets nothing done.
#[derive(Clone, Copy)]
struct Work {
    steps_per_us: f64,
}

impl Work {
    fn calibrated() -> Work {
        const STEPS: u64 = 100_000;
        let rate = || {
            let begun = Instant::now();
            spin(STEPS);
            STEPS as f64 / (begun.elapsed().as_secs_f64() * 1e6)
        };
        // The fastest was not disturbed.
        let rates: Vec<f64> = (0..9).map(|_| rate()).collect();
        Work { steps_per_us: quantile(&rates, 1.0) }
    }

    /// One region that takes `time` on one CPU.
    fn region(self, pool: &dyn Shared, time: Duration) {
        let steps = self.steps_per_us * time.as_secs_f64() * 1e6 / ITEMS as f64;
        pool.region(ITEMS, &|items| items.for_each(|_| spin(steps as u64)));
    }
}

/// Multiplications that wait for each other, in registers: what goes through
/// memory takes more or less by where the stack lies.
#[inline(never)]
fn spin(steps: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    (0..steps).for_each(|_| state = (state ^ state >> 7).wrapping_mul(0x2545_f491_4f6c_dd1d));
    black_box(state);
}

struct Turn {
    /// Regions a second of all callers.
    rate: f64,
    /// The slowest caller's, over the mean.
    slowest: f64,
}

/// Threads that open regions until they are told to stop.
struct Callers {
    stop: AtomicBool,
    counts: Vec<Line<AtomicU64>>,
    work: Work,
}

impl Callers {
    fn new(callers: usize, work: Work) -> Callers {
        let counts = (0..callers).map(|_| Line::default()).collect();
        Callers { stop: AtomicBool::new(false), counts, work }
    }

    /// One of them.
    fn call(&self, i: usize, pool: &dyn Shared) {
        while !self.stop.load(Ordering::Relaxed) {
            self.work.region(pool, REGION);
            self.counts[i].0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Watches them for a while and stops them.
    fn measure(&self) -> Turn {
        // From when all run.
        std::thread::sleep(time(20 * MS));
        self.counts.iter().for_each(|Line(count)| count.store(0, Ordering::Relaxed));
        let begun = Instant::now();
        std::thread::sleep(time(600 * MS));
        let counts = self.counts.iter().map(|Line(count)| count.load(Ordering::Relaxed) as f64);
        let (seconds, counts) = (begun.elapsed().as_secs_f64(), counts.collect::<Vec<f64>>());
        self.stop.store(true, Ordering::Relaxed);
        let all = counts.iter().sum::<f64>();
        Turn { rate: all / seconds, slowest: quantile(&counts, 0.0) / (all / counts.len() as f64) }
    }
}

fn turn(pool: &dyn Shared, callers: usize, work: Work) -> Turn {
    let callers = Callers::new(callers, work);
    std::thread::scope(|scope| {
        for i in 0..callers.counts.len() {
            let callers = &callers;
            scope.spawn(move || callers.call(i, pool));
        }
        callers.measure()
    })
}

/// The same on rowpool, from tokio's `spawn_blocking`.
fn turn_on_tokio(callers: usize, work: Work) -> Turn {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let runtime = runtime.expect("tokio starts");
    let callers = Arc::new(Callers::new(callers, work));
    let pool = Arc::new(rowpool(ROWPOOL.threads));
    for i in 0..callers.counts.len() {
        let (callers, pool) = (Arc::clone(&callers), Arc::clone(&pool));
        runtime.spawn_blocking(move || callers.call(i, &*pool));
    }
    // Its drop waits for the tasks.
    callers.measure()
}

/// Who calls what.
#[derive(Clone, Copy)]
enum Case {
    Threads(usize, Common),
    Tokio(usize),
}

fn together(cast: &Cast<'_>) -> Rows {
    let mut cases: Vec<(&'static str, Case)> = Vec::new();
    let any = COUNTS.iter().any(|(name, _)| wanted(name)) || wanted(TOKIO);
    // One caller is what the others are compared with.
    for (name, callers) in COUNTS.into_iter().filter(|&(name, n)| wanted(name) || any && n == 1) {
        announce(name);
        cases.extend(cast.common.iter().map(|&pool| (name, Case::Threads(callers, pool))));
    }
    if wanted(TOKIO) {
        announce(TOKIO);
        cases.push((TOKIO, Case::Tokio(8)));
    }
    let work = Work::calibrated();
    let name = |&(measure, case): &(&'static str, Case)| match case {
        Case::Threads(_, pool) => (measure, pool.name),
        Case::Tokio(_) => (measure, ROWPOOL.name),
    };
    let names = cases.iter().map(name).collect();
    let series = alternate(usual_rounds(), cases.len(), |i| match cases[i].1 {
        Case::Threads(callers, pool) => {
            let mut result = None;
            (pool.open)(&mut |pool| result = Some(turn(pool, callers, work)));
            result.expect("the body was called")
        }
        Case::Tokio(callers) => turn_on_tokio(callers, work),
    });
    let turns = Turns { names, series };
    let row = |(measure, pool, series): (&str, &str, &Series<Turn>)| {
        let row = Row::new(measure, pool, series, "regions/s", |turn| turn.rate);
        let (one, _) = COUNTS[0];
        if measure == one {
            return row;
        }
        let ask = |least| Some(Asked::AtLeast(least)).filter(|_| is_ours(pool));
        let rate = |turn: &Turn| turn.rate;
        let gain = ratios(&series.paired(rate), &turns.paired(one, pool, rate));
        let slowest = Estimate::of(&series.figures(|turn| turn.slowest));
        row.compared("over one caller's", gain, ask(0.9)).compared(
            "slowest/mean",
            slowest,
            ask(0.5),
        )
    };
    turns.iter().map(row).collect()
}

/// Callers that wait while another's region is long.
const WAITERS: usize = 3;

/// CPU time of the waiting callers, all of them, in hundredths of the time that
/// they wait; NaN where it is not known. Callers that run others' rows while
/// they wait show that here too.
fn burnt(pool: &dyn Shared, work: Work) -> f64 {
    let (mut waited, mut used) = (Duration::ZERO, Some(Duration::ZERO));
    for _ in 0..if crate::support::short() { 1 } else { 10 } {
        let begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // 15 ms with two threads: pools may see a lock-up in longer ones.
                let steps = work.steps_per_us * 30e3 / ITEMS as f64;
                pool.region(ITEMS, &|items| {
                    begun.store(true, Ordering::Relaxed);
                    items.for_each(|_| spin(steps as u64));
                });
            });
            let wait = || {
                while !begun.load(Ordering::Relaxed) {
                    std::thread::sleep(MS / 20);
                }
                let (from, before) = (Instant::now(), thread_cpu());
                work.region(pool, REGION);
                let used = thread_cpu().zip(before).map(|(now, before)| now - before);
                (from, Instant::now(), used)
            };
            let waiters: Vec<_> = (0..WAITERS).map(|_| scope.spawn(wait)).collect();
            let waits = waiters.into_iter().map(|waiter| waiter.join().expect("nobody panics"));
            let waits: Vec<_> = waits.collect();
            for (_, _, own) in &waits {
                used = used.zip(*own).map(|(all, own)| all + own);
            }
            // From the first that waited to the last.
            let from = waits.iter().map(|(from, ..)| *from).min();
            let until = waits.iter().map(|(_, until, _)| *until).max();
            waited += until.zip(from).map_or(Duration::ZERO, |(until, from)| until - from);
        });
    }
    used.map_or(f64::NAN, |used| 100.0 * used.as_secs_f64() / waited.as_secs_f64())
}

fn waiting(cast: &Cast<'_>) -> Rows {
    if !wanted(WAITING) {
        return Rows::new();
    }
    announce(WAITING);
    let work = Work::calibrated();
    let series = alternate(usual_rounds(), cast.common.len(), |i| {
        let mut result = f64::NAN;
        (cast.common[i].open)(&mut |pool| result = burnt(pool, work));
        result
    });
    let row = |(pool, series): (&Common, &Series<f64>)| {
        let asked = Some(Asked::AtMost(10.0)).filter(|_| is_ours(pool.name));
        Row::new(WAITING, pool.name, series, "% of a CPU", |burnt| *burnt).asked(asked)
    };
    cast.common.iter().zip(&series).map(row).collect()
}
