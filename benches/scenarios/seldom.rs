//! Pools that are seldom used: small regions after a while, the first token
//! after a second, and the CPU time that waiting takes.

use super::{begin, tokens, usual_rounds, Candidates};
use crate::support::machine::{own_cpu, thread_cpu};
use crate::support::prelude::*;
use crate::support::token::Shape;

/// 1 024 multiply-adds.
const SMALL: Shape = (8, 128);
/// 331 776 of them: the projections of the token.
const MEDIUM: Shape = (576, 576);
/// Some 500 µs of serial work: one that is worth a wake.
const LARGE: Shape = (20_480, 576);

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    [gaps, first_token, idle, shares].iter().flat_map(|part| part(candidates)).collect()
}

/// A region once in a while: its shape, the ms from one to the next, and how many
/// a turn has.
pub type Gap = (&'static str, Shape, u64, u32);

/// The caller is busy with other things meanwhile.
pub const GAPS: [Gap; 4] = [
    ("small_every_1ms", SMALL, 1, 100),
    ("small_every_5ms", SMALL, 5, 40),
    ("small_every_100ms", SMALL, 100, 7),
    ("medium_every_5ms", MEDIUM, 5, 40),
];

/// The caller sleeps meanwhile.
pub const SHARES: [Gap; 3] = [
    ("cpu_medium_per_100ms", MEDIUM, 100, 20),
    ("cpu_large_per_100ms", LARGE, 100, 20),
    ("cpu_medium_per_1ms", MEDIUM, 1, 800),
];

/// Those of some gaps that were asked for, with all candidates or the pools alone.
fn cases(candidates: &Candidates<'_>, gaps: &[Gap], least: usize) -> Vec<Case<(Gap, Candidate)>> {
    let mut cases: Vec<Case<(Gap, Candidate)>> = Vec::new();
    for &gap in gaps.iter().filter(|gap| begin(gap.0)) {
        let wide = |case: &Case<(Gap, Candidate)>| case.2 .1.threads >= least;
        cases.extend(each(gap.0, gap, candidates.all).into_iter().filter(wide));
    }
    cases
}

/// The median region, in µs.
pub fn after_gaps((_, shape, every, regions): Gap, candidate: &Candidate) -> f64 {
    let mut token = Token::of(Format::Q8_0, &[shape]);
    candidate.run(|pool| {
        warm_up(pool, time(10));
        median_of(some(regions as usize, 2), || {
            busy(Duration::from_millis(every));
            let begun = Instant::now();
            pool.decode(&mut token);
            begun.elapsed().as_secs_f64() * 1e6
        })
    })
}

fn gaps(candidates: &Candidates<'_>) -> Vec<Row> {
    let cases = cases(candidates, &GAPS, 1);
    let turns =
        Turns::of(usual_rounds(), &cases, |(gap, candidate)| [after_gaps(*gap, candidate); 3]);
    turns.rows(|one| {
        let small = one.measure().starts_with("small");
        let asked = |most, when: bool| one.ours(Asked::AtMost(most)).filter(|_| when);
        let over = one.minus(0, one.measure(), SERIAL.name);
        let times = one.over(0, one.measure(), SERIAL.name);
        let row = one.row("µs", 0).compared("µs over serial", over, asked(0.5, small));
        vec![row.compared("time over serial", times, asked(1.1, !small))]
    })
}

const FIRST: &str = "first_token";

/// The token hot, and the first one after a second of idleness, in ms.
pub fn first_of(candidate: &Candidate, token: &mut Token) -> [f64; 2] {
    candidate.run(|pool| {
        let hot = median(&tokens::decode(pool, token, time(150)));
        let first = median_of(some(3, 1), || {
            std::thread::sleep(time(1000));
            let first = ms(pool.paced(token, tokens::limit()).time);
            // Hot again.
            tokens::decode(pool, token, time(30));
            first
        });
        [first, hot]
    })
}

fn first_token(candidates: &Candidates<'_>) -> Vec<Row> {
    if !begin(FIRST) {
        return Vec::new();
    }
    let mut token = Token::new(Format::Q8_0);
    let cases = each(FIRST, (), candidates.all);
    let turns = Turns::of(usual_rounds(), &cases, |((), candidate)| {
        let [first, hot] = first_of(candidate, &mut token);
        [first, hot, 1.1 * hot + 0.1]
    });
    turns.rows(|one| {
        let asked = one.ours(Asked::AtMost(1.0));
        let row = one.row("ms", 0).compared("over the hot one", one.within(0, 1), None);
        vec![row.compared("over 1.1 x hot + 100 µs", one.within(0, 2), asked)]
    })
}

const IDLE: &str = "idle_2s";

/// CPU time of the process over 2 s, from 1 s after the last region, in ms; NaN
/// where it is not known.
fn idle_ms(candidate: &Candidate) -> f64 {
    candidate.run(|pool| {
        warm_up(pool, time(20));
        std::thread::sleep(time(1000));
        let before = own_cpu();
        std::thread::sleep(time(2000));
        own_cpu().zip(before).map_or(f64::NAN, |(now, before)| ms(now - before))
    })
}

fn idle(candidates: &Candidates<'_>) -> Vec<Row> {
    if !begin(IDLE) {
        return Vec::new();
    }
    let cases = each(IDLE, (), candidates.all);
    // Others use CPU time of their own, and this varies little.
    let turns = Turns::within(|_| 1.0, rounds(5), &cases, |((), pool)| [idle_ms(pool); 3]);
    turns.rows(|one| vec![one.row("ms of CPU", 0).asked(one.ours(Asked::AtMost(0.5)))])
}

/// CPU time of all threads but the caller, in hundredths of a core.
pub fn share((_, shape, every, regions): Gap, candidate: &Candidate) -> f64 {
    let mut token = Token::of(Format::Q8_0, &[shape]);
    let others = || Some(own_cpu()?.saturating_sub(thread_cpu()?));
    candidate.run(|pool| {
        warm_up(pool, time(20));
        // The spin after the warm-up is none of it.
        std::thread::sleep(time(50));
        let (before, begun) = (others(), Instant::now());
        for region in 1..=some(regions, 2) {
            pool.decode(&mut token);
            let next = Duration::from_millis(every) * region;
            std::thread::sleep(next.saturating_sub(begun.elapsed()));
        }
        let used = others().zip(before).map(|(now, before)| now.saturating_sub(before));
        used.map_or(f64::NAN, |used| 100.0 * ms(used) / ms(begun.elapsed()))
    })
}

fn shares(candidates: &Candidates<'_>) -> Vec<Row> {
    let cases = cases(candidates, &SHARES, 2);
    let turns =
        Turns::within(|_| 1.0, rounds(5), &cases, |(gap, candidate)| [share(*gap, candidate); 3]);
    turns.rows(|one| {
        let row = one.row("% of a core", 0);
        // Of one worker.
        let asked = one.ours(Asked::AtMost(ROWPOOL.threads as f64 - 1.0));
        vec![match one.measure().ends_with("100ms") {
            true => row.asked(asked),
            false if asked.is_some() => row.note("the knob: spin_window, ROWPOOL_SPIN_US"),
            false => row,
        }]
    })
}
