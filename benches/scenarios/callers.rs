//! Many callers of one pool: what they get done together, whether one starves,
//! and what waiting for a turn costs.

use super::{begin, usual_rounds, Candidates};
use crate::support::machine::{thread_cpu, Line};
use crate::support::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

const COUNTS: [(&str, usize); 4] =
    [("callers_1", 1), ("callers_2", 2), ("callers_4", 4), ("callers_8", 8)];
/// Eight of them, as tokio's blocking tasks.
const TOKIO: &str = "callers_tokio";
const WAITING: &str = "callers_waiting";
/// Items of one region.
const ITEMS: usize = 100;
/// What a region takes on one CPU.
const REGION: Duration = Duration::from_micros(20);

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    [together, waiting].iter().flat_map(|part| part(candidates)).collect()
}

/// Work that takes no memory, and CPU time rather than time (a thread that is off
/// the CPU gets nothing done): steps that a µs has.
#[derive(Clone, Copy)]
pub struct Work(f64);

impl Work {
    pub fn calibrated() -> Work {
        const STEPS: u64 = 100_000;
        let rates = [(); 9].map(|()| {
            let begun = Instant::now();
            spin(STEPS);
            STEPS as f64 / (begun.elapsed().as_secs_f64() * 1e6)
        });
        // The fastest was not disturbed.
        Work(quantile(&rates, 1.0))
    }

    /// One region that takes `time` on one CPU; `begun` is told of each range.
    fn region(self, pool: &dyn Shared, time: Duration, begun: &(dyn Fn() + Sync)) {
        let steps = self.0 * time.as_secs_f64() * 1e6 / ITEMS as f64;
        pool.region(ITEMS, &|items| {
            begun();
            items.for_each(|_| spin(steps as u64));
        });
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
            self.work.region(pool, REGION, &|| ());
            self.counts[i].0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Watches them for a while and stops them: regions a second of them all, and
    /// the slowest caller's over the mean.
    fn measure(&self) -> Figures {
        // From when all run.
        std::thread::sleep(time(20));
        self.counts.iter().for_each(|Line(count)| count.store(0, Ordering::Relaxed));
        let begun = Instant::now();
        std::thread::sleep(time(600));
        let counts = self.counts.iter().map(|Line(count)| count.load(Ordering::Relaxed) as f64);
        let (seconds, counts) = (begun.elapsed().as_secs_f64(), counts.collect::<Vec<f64>>());
        self.stop.store(true, Ordering::Relaxed);
        let all = counts.iter().sum::<f64>();
        [all / seconds, quantile(&counts, 0.0) / (all / counts.len() as f64), 0.0]
    }
}

pub fn turn(pool: &dyn Shared, callers: usize, work: Work) -> Figures {
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
fn turn_on_tokio(callers: usize, work: Work) -> Figures {
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

fn together(candidates: &Candidates<'_>) -> Vec<Row> {
    let mut cases: Vec<Case<(usize, Option<Common>)>> = Vec::new();
    let any = COUNTS.iter().any(|(name, _)| wanted(name)) || wanted(TOKIO);
    for (name, callers) in COUNTS {
        // One caller is what the others are compared with.
        if begin(name) || (any && callers == 1) {
            let how = |&pool: &Common| (name.into(), pool.name, (callers, Some(pool)));
            cases.extend(candidates.common.iter().map(how));
        }
    }
    if begin(TOKIO) {
        cases.push((TOKIO.into(), ROWPOOL.name, (8, None)));
    }
    let work = Work::calibrated();
    let turns = Turns::of(usual_rounds(), &cases, |&(callers, pool)| match pool {
        Some(pool) => pool.run(|pool| turn(pool, callers, work)),
        None => turn_on_tokio(callers, work),
    });
    turns.rows(|one| {
        let row = one.row("regions/s", 0);
        let (single, _) = COUNTS[0];
        if one.measure() == single {
            return vec![row];
        }
        let gain = one.over(0, single, one.candidate());
        let slowest = Estimate::of(&one.figures(1));
        let row = row.compared("over one caller's", gain, one.ours(Asked::AtLeast(0.9)));
        vec![row.compared("slowest/mean", slowest, one.ours(Asked::AtLeast(0.5)))]
    })
}

/// Callers that wait while another's region is long.
const WAITERS: usize = 3;

/// CPU time of the waiting callers, all of them, in hundredths of the time that
/// they wait; NaN where it is not known. Callers that run others' rows while
/// they wait show that here too.
fn burnt(pool: &dyn Shared, work: Work) -> f64 {
    let (mut waited, mut used) = (Duration::ZERO, Some(Duration::ZERO));
    for _ in 0..some(10, 1) {
        let begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // 15 ms with two threads: pools may see a lock-up in longer ones.
                let told = || begun.store(true, Ordering::Relaxed);
                work.region(pool, Duration::from_millis(30), &told);
            });
            let wait = || {
                while !begun.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_micros(50));
                }
                let (from, before) = (Instant::now(), thread_cpu());
                work.region(pool, REGION, &|| ());
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

fn waiting(candidates: &Candidates<'_>) -> Vec<Row> {
    if !begin(WAITING) {
        return Vec::new();
    }
    let work = Work::calibrated();
    let case = |pool: &Common| (WAITING.into(), pool.name, *pool);
    let cases: Vec<Case<Common>> = candidates.common.iter().map(case).collect();
    let turns = Turns::of(usual_rounds(), &cases, |pool| [pool.run(|pool| burnt(pool, work)); 3]);
    turns.rows(|one| vec![one.row("% of a CPU", 0).asked(one.ours(Asked::AtMost(10.0)))])
}
