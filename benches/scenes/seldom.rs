//! Pools that are seldom used: small regions after a while, the first token
//! after a second, and the CPU time that waiting takes.

use super::report::{Asked, Row};
use super::{announce, is_ours, time, tokens, usual_rounds, Cast, Rows, Turns, MS};
use crate::support::candidate::{busy, warm_up, SERIAL};
use crate::support::fork::{Candidate, Fork};
use crate::support::machine::{own_cpu, thread_cpu};
use crate::support::rounds::{alternate, alternate_within, Series};
use crate::support::stats::{median, ratios, Estimate};
use crate::support::token::{Format, Token};
use crate::support::{rounds, short, wanted};
use std::time::{Duration, Instant};

/// 1 024 multiply-adds, in the issue 1 000.
const SMALL: (usize, usize) = (8, 128);
/// 331 776 of them: the projections of the token.
const MEDIUM: (usize, usize) = (576, 576);

/// Some 500 µs of serial work: one that is worth a wake.
const LARGE: (usize, usize) = (20_480, 576);

pub fn play(cast: &Cast<'_>) -> Rows {
    let mut rows = gaps(cast);
    rows.extend(first_token(cast));
    rows.extend(idle(cast));
    rows.extend(shares(cast));
    rows
}

/// A region once in a while.
#[derive(Clone, Copy)]
struct Gap {
    name: &'static str,
    shape: (usize, usize),
    every: Duration,
    /// Of one turn.
    regions: usize,
}

/// The caller is busy with other things meanwhile.
const GAPS: [Gap; 4] = [
    Gap { name: "small_every_1ms", shape: SMALL, every: MS, regions: 100 },
    Gap { name: "small_every_5ms", shape: SMALL, every: Duration::from_millis(5), regions: 40 },
    Gap { name: "small_every_100ms", shape: SMALL, every: Duration::from_millis(100), regions: 7 },
    Gap { name: "medium_every_5ms", shape: MEDIUM, every: Duration::from_millis(5), regions: 40 },
];

/// The median region, in µs.
fn after_gaps(gap: Gap, candidate: &Candidate) -> f64 {
    let mut token = Token::single(Format::Q8_0, gap.shape);
    let mut times = Vec::new();
    candidate.run(&mut |pool| {
        warm_up(pool, candidate.threads, time(10 * MS));
        for _ in 0..if short() { 2 } else { gap.regions } {
            busy(gap.every);
            let begun = Instant::now();
            pool.decode(&mut token);
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    });
    median(&times)
}

fn gaps(cast: &Cast<'_>) -> Rows {
    let mut cases = Vec::new();
    for gap in GAPS.into_iter().filter(|gap| wanted(gap.name)) {
        announce(gap.name);
        cases.extend(cast.all.iter().map(|candidate| (gap, candidate)));
    }
    let names = cases.iter().map(|(gap, candidate)| (gap.name, candidate.name)).collect();
    let series = alternate(usual_rounds(), cases.len(), |i| after_gaps(cases[i].0, cases[i].1));
    let turns = Turns { names, series };
    let row = |(measure, candidate, series): (&str, &str, &Series<f64>)| {
        let own = series.paired(|us| *us);
        let serial = turns.paired(measure, SERIAL.name, |us| *us);
        let over = own.iter().zip(&serial).filter_map(|(own, serial)| Some((*own)? - (*serial)?));
        let over = Estimate::of(&over.collect::<Vec<f64>>());
        let small = measure.starts_with("small");
        let ask = |asked, wanted| Some(asked).filter(|_| wanted && is_ours(candidate));
        Row::new(measure, candidate, series, "µs", |us| *us)
            .compared("µs over serial", over, ask(Asked::AtMost(0.5), small))
            .compared("time over serial", ratios(&own, &serial), ask(Asked::AtMost(1.1), !small))
    };
    turns.iter().map(row).collect()
}

const FIRST: &str = "first_token";

/// The token hot, and the first one after a second of idleness, in ms.
struct First {
    hot: f64,
    first: f64,
}

fn first_of(candidate: &Candidate, token: &mut Token) -> First {
    let mut turn = First { hot: f64::NAN, first: f64::NAN };
    candidate.run(&mut |pool| {
        turn.hot = median(&tokens::decode(pool, token, time(150 * MS)));
        let mut after_idleness = || {
            std::thread::sleep(time(1000 * MS));
            let first = pool.paced(token, tokens::limit()).time.as_secs_f64() * 1e3;
            // Hot again.
            tokens::decode(pool, token, time(30 * MS));
            first
        };
        let firsts: Vec<f64> = (0..if short() { 1 } else { 3 }).map(|_| after_idleness()).collect();
        turn.first = median(&firsts);
    });
    turn
}

fn first_token(cast: &Cast<'_>) -> Rows {
    if !wanted(FIRST) {
        return Rows::new();
    }
    announce(FIRST);
    let mut token = Token::new(Format::Q8_0);
    let turn = |i: usize| first_of(&cast.all[i], &mut token);
    let series = alternate(usual_rounds(), cast.all.len(), turn);
    let row = |(candidate, series): (&Candidate, &Series<First>)| {
        let of = |figure: fn(&First) -> f64| Estimate::of(&series.figures(figure));
        let asked = Some(Asked::AtMost(1.0)).filter(|_| is_ours(candidate.name));
        Row::new(FIRST, candidate.name, series, "ms", |turn| turn.first)
            .compared("over the hot one", of(|turn| turn.first / turn.hot), None)
            .compared(
                "over 1.1 x hot + 100 µs",
                of(|turn| turn.first / (1.1 * turn.hot + 0.1)),
                asked,
            )
    };
    cast.all.iter().zip(&series).map(row).collect()
}

/// For CPU time: others use their own, and it varies little.
fn calm<T>(n: usize, turn: impl FnMut(usize) -> T) -> Vec<Series<T>> {
    alternate_within(|_| 1.0, rounds(5), n, turn)
}

const IDLE: &str = "idle_2s";

/// CPU time of the process over 2 s, from 1 s after the last region, in ms; NaN
/// where it is not known.
fn idle_ms(candidate: &Candidate) -> f64 {
    let mut used = f64::NAN;
    candidate.run(&mut |pool| {
        warm_up(pool, candidate.threads, time(20 * MS));
        std::thread::sleep(time(1000 * MS));
        let before = own_cpu();
        std::thread::sleep(time(2000 * MS));
        let spent = own_cpu().zip(before).map(|(now, before)| now - before);
        used = spent.map_or(f64::NAN, |spent| spent.as_secs_f64() * 1e3);
    });
    used
}

fn idle(cast: &Cast<'_>) -> Rows {
    if !wanted(IDLE) {
        return Rows::new();
    }
    announce(IDLE);
    let series = calm(cast.all.len(), |i| idle_ms(&cast.all[i]));
    let row = |(candidate, series): (&Candidate, &Series<f64>)| {
        let asked = Some(Asked::AtMost(0.5)).filter(|_| is_ours(candidate.name));
        Row::new(IDLE, candidate.name, series, "ms of CPU", |ms| *ms).asked(asked)
    };
    cast.all.iter().zip(&series).map(row).collect()
}

/// A region once in a while; the caller sleeps meanwhile.
const SHARES: [Gap; 3] = [
    Gap {
        name: "cpu_medium_per_100ms",
        shape: MEDIUM,
        every: Duration::from_millis(100),
        regions: 20,
    },
    Gap {
        name: "cpu_large_per_100ms",
        shape: LARGE,
        every: Duration::from_millis(100),
        regions: 20,
    },
    Gap { name: "cpu_medium_per_1ms", shape: MEDIUM, every: MS, regions: 800 },
];

/// CPU time of all threads but the caller, in hundredths of a core.
fn share(gap: Gap, candidate: &Candidate) -> f64 {
    let mut token = Token::single(Format::Q8_0, gap.shape);
    let mut share = f64::NAN;
    let others = || Some(own_cpu()?.saturating_sub(thread_cpu()?));
    candidate.run(&mut |pool: &mut dyn Fork| {
        warm_up(pool, candidate.threads, time(20 * MS));
        // The spin after the warm-up is none of it.
        std::thread::sleep(time(50 * MS));
        let (before, begun) = (others(), Instant::now());
        for region in 1..=if short() { 2 } else { gap.regions as u32 } {
            pool.decode(&mut token);
            std::thread::sleep((gap.every * region).saturating_sub(begun.elapsed()));
        }
        let used = others().zip(before).map(|(now, before)| now.saturating_sub(before));
        let whole = begun.elapsed().as_secs_f64();
        share = used.map_or(f64::NAN, |used| 100.0 * used.as_secs_f64() / whole);
    });
    share
}

fn shares(cast: &Cast<'_>) -> Rows {
    let mut rows = Rows::new();
    for gap in SHARES.into_iter().filter(|gap| wanted(gap.name)) {
        announce(gap.name);
        let pools: Vec<&Candidate> = cast.all.iter().filter(|c| c.threads > 1).collect();
        let series = calm(pools.len(), |i| share(gap, pools[i]));
        for (candidate, series) in pools.iter().zip(&series) {
            let per_worker = (candidate.threads - 1) as f64;
            let row = Row::new(gap.name, candidate.name, series, "% of a core", |share| *share);
            let ours = is_ours(candidate.name);
            rows.push(match gap.every > 10 * MS {
                true => row.asked(Some(Asked::AtMost(per_worker)).filter(|_| ours)),
                false if ours => row.note("the knob: spin_window, ROWPOOL_SPIN_US"),
                false => row,
            });
        }
    }
    rows
}
