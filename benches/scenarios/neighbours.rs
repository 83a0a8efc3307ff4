//! Several pools in one process: two of a kind used in turn, and another's
//! beside ours.

use super::{begin, tokens, usual_rounds, Candidates};
use crate::support::prelude::*;

/// What the others are compared with.
const ALONE: &str = "one_pool";
const TWO: &str = "two_pools";
const BESIDE: &str = "pool_beside";

/// The token of a pool, or of pools in turn, in ms.
fn alone(candidate: &Candidate, token: &mut Token) -> Figures {
    [candidate.run(|pool| median(&tokens::decode(pool, token, time(500)))); 3]
}

/// The same of two pools of a kind, used in turn.
pub fn in_turn(candidate: &Candidate, token: &mut Token) -> Figures {
    let (twice, threads) = (candidate.twice.expect("one that can be doubled"), candidate.threads);
    let mut figure = f64::NAN;
    let mut body = |pool: &mut dyn Fork| figure = median(&tokens::decode(pool, token, time(500)));
    // On a thread of its own: forkunion binds the calling thread to one CPU and
    // puts back what it found, so after two of them the thread would stay bound.
    std::thread::scope(|scope| {
        scope.spawn(|| twice(threads, &mut body)).join().expect("nobody panics");
    });
    [figure; 3]
}

/// Ours, and that of a pool that has every other token, in ms.
fn beside(candidate: &Candidate, token: &mut Token) -> Figures {
    let mut ours = rowpool(ROWPOOL.threads);
    candidate.run(|theirs| {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let mut step = |pool: &mut dyn Fork| ms(pool.paced(token, tokens::limit()).time);
        let begun = Instant::now();
        while one.is_empty() || begun.elapsed() < time(1000) {
            one.push(step(&mut ours));
            other.push(step(theirs));
        }
        [median(&one), median(&other), 0.0]
    })
}

/// A kind of turn.
type Kind = fn(&Candidate, &mut Token) -> Figures;

/// What was asked for, and what it is compared with.
fn cases(candidates: &Candidates<'_>) -> Vec<Case<(Kind, Candidate)>> {
    let twice = if begin(TWO) { candidates.twice } else { &[] };
    let (ours, others) =
        if begin(BESIDE) { (&[ROWPOOL][..], candidates.beside) } else { (&[][..], &[][..]) };
    let mut single: Vec<Candidate> = Vec::new();
    for &pool in [ours, twice, others].into_iter().flatten() {
        if single.iter().all(|have| have.name != pool.name) {
            single.push(pool);
        }
    }
    let kinds: [(_, Kind, _); 3] =
        [(ALONE, alone, &single[..]), (TWO, in_turn, twice), (BESIDE, beside, others)];
    kinds.into_iter().flat_map(|(measure, kind, pools)| each(measure, kind, pools)).collect()
}

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    let cases = cases(candidates);
    if cases.is_empty() {
        return Vec::new();
    }
    let mut token = Token::new(Format::Q8_0);
    let turns = Turns::of(usual_rounds(), &cases, |(kind, candidate)| kind(candidate, &mut token));
    turns.rows(rows)
}

/// Of one kind of turn.
fn rows(one: One<'_>) -> Vec<Row> {
    let candidate = one.candidate();
    let row =
        |name: &str, at| one.row_as(one.measure(), name, "ms", at).capped(tokens::limit_ms(), "ms");
    let most = Some(Asked::AtMost(1.3));
    match one.measure() {
        TWO => {
            let asked = most.filter(|_| candidate == ROWPOOL.name);
            let over = one.over(0, ALONE, candidate);
            vec![row(candidate, 0).compared("over one of them", over, asked)]
        }
        BESIDE => {
            // A pool that spins for ever takes a core whatever ours does.
            let asked = most.filter(|_| candidate.starts_with("rayon"));
            let (ours, theirs) = (one.over(0, ALONE, ROWPOOL.name), one.over(1, ALONE, candidate));
            let pair = format!("rowpool beside {candidate}");
            let first = row(&pair, 0).compared("over ours alone", ours, asked);
            let pair = format!("{candidate} beside rowpool");
            vec![first, row(&pair, 1).compared("over it alone", theirs, asked)]
        }
        _ => vec![row(candidate, 0)],
    }
}
