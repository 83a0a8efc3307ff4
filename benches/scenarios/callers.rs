//! Many callers of one pool: what they get done together, whether one starves,
//! and what waiting for a turn costs.

use super::{begin, usual_rounds, Candidates};
use crate::support::machine::{thread_cpu, Line};
use crate::support::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const COUNTS: [(&str, usize); 5] =
    [("callers_1", 1), ("callers_2", 2), ("callers_4", 4), ("callers_8", 8), ("callers_64", 64)];
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
    pub fn region(self, pool: &dyn Shared, time: Duration, begun: &(dyn Fn() + Sync)) {
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

/// Regions a second of threads that open them all the time, the slowest one's
/// over the mean, and the longest wait for a region, in ms.
pub fn turn(pool: &dyn Shared, callers: usize, work: Work) -> Figures {
    let stop = AtomicBool::new(false);
    let counts: Vec<_> = (0..callers).map(|_| Line(AtomicU64::new(0))).collect();
    let longest = AtomicU64::new(0);
    let [rate, slowest] = std::thread::scope(|scope| {
        for Line(count) in &counts {
            scope.spawn(|| {
                let mut own = Duration::ZERO;
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    work.region(pool, REGION, &|| ());
                    own = own.max(begun.elapsed());
                    count.fetch_add(1, Ordering::Relaxed);
                }
                longest.fetch_max(own.as_micros() as u64, Ordering::Relaxed);
            });
        }
        // From when all run.
        std::thread::sleep(time(20));
        let begun = Instant::now();
        let before: Vec<u64> = counts.iter().map(|own| own.0.load(Ordering::Relaxed)).collect();
        std::thread::sleep(time(600));
        let after = counts.iter().map(|own| own.0.load(Ordering::Relaxed));
        let each: Vec<f64> = after.zip(before).map(|(now, before)| (now - before) as f64).collect();
        let seconds = begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let all = each.iter().sum::<f64>();
        [all / seconds, quantile(&each, 0.0) / (all / callers as f64)]
    });
    [rate, slowest, longest.into_inner() as f64 / 1e3]
}

fn together(candidates: &Candidates<'_>) -> Vec<Row> {
    let mut cases: Vec<Case<(usize, Common)>> = Vec::new();
    let any = COUNTS.iter().any(|(name, _)| wanted(name));
    for (name, callers) in COUNTS {
        // One caller is what the others are compared with.
        if begin(name) || (any && callers == 1) {
            let how = |&pool: &Common| (name.into(), pool.name, (callers, pool));
            cases.extend(candidates.common.iter().map(how));
        }
    }
    let work = Work::calibrated();
    let run = |&(callers, pool): &(usize, Common)| pool.run(|pool| turn(pool, callers, work));
    let turns = Turns::of(usual_rounds(), &cases, run);
    turns.rows(|one| {
        let row = one.row("regions/s", 0);
        let (single, _) = COUNTS[0];
        if one.measure() == single {
            return vec![row];
        }
        let gain = one.over(0, single, one.candidate());
        let slowest = Estimate::of(&one.figures(1));
        // With so many a fair mutex keeps 0.7.
        let least = if one.measure() == "callers_64" { 0.7 } else { 0.9 };
        let row = row.compared("over one caller's", gain, one.ours(Asked::AtLeast(least)));
        let row = row.compared("slowest/mean", slowest, one.ours(Asked::AtLeast(0.5)));
        vec![row.compared("longest wait, ms", Estimate::of(&one.figures(2)), None)]
    })
}

/// Callers that wait while another's region is long.
const WAITERS: usize = 3;

/// CPU time of the waiting callers, all of them, in hundredths of the time that
/// they wait; NaN where it is not known. Callers that run others' rows while
/// they wait show that here too.
fn burnt(pool: &dyn Shared, work: Work) -> f64 {
    let (mut waited, mut used) = (0.0, 0.0);
    for _ in 0..some(10, 1) {
        let begun = AtomicBool::new(false);
        let wait = || {
            while !begun.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(50));
            }
            let (from, before) = (Instant::now(), thread_cpu());
            work.region(pool, REGION, &|| ());
            let used = thread_cpu().zip(before).map_or(f64::NAN, |(now, before)| ms(now - before));
            (ms(from.elapsed()), used)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // 15 ms with two threads: pools may see a lock-up in longer ones.
                let told = || begun.store(true, Ordering::Relaxed);
                work.region(pool, Duration::from_millis(30), &told);
            });
            let waiters = [(); WAITERS].map(|()| scope.spawn(wait));
            for (time, cpu) in waiters.map(|waiter| waiter.join().expect("nobody panics")) {
                waited += time / WAITERS as f64;
                used += cpu;
            }
        });
    }
    100.0 * used / waited
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
