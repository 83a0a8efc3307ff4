//! Several pools in one process: two of a kind used in turn, and another's
//! beside ours.

use super::report::{Asked, Row};
use super::{announce, time, tokens, usual_rounds, Cast, Rows, Turns, MS};
use crate::support::candidate::{rowpool, ROWPOOL, ROWPOOL_TWICE};
use crate::support::fork::{Candidate, Fork};
use crate::support::rounds::alternate;
use crate::support::stats::{median, ratios};
use crate::support::token::{Format, Token};
use crate::support::wanted;
use std::time::Instant;

const TWO: &str = "two_pools";
const BESIDE: &str = "pool_beside";

/// The token in ms: ours, or of the pools in turn, and of the pool beside.
struct Turn {
    ours: f64,
    theirs: f64,
}

/// A turn's kind.
#[derive(Clone, Copy)]
enum Case {
    Alone(Candidate),
    Beside(Candidate),
}

fn turn(case: Case, token: &mut Token) -> Turn {
    let mut turn = Turn { ours: f64::NAN, theirs: f64::NAN };
    match case {
        Case::Alone(candidate) => candidate.run(&mut |pool| {
            turn.ours = median(&tokens::decode(pool, token, time(500 * MS)));
        }),
        Case::Beside(candidate) => {
            let mut ours = rowpool(ROWPOOL.threads);
            candidate.run(&mut |theirs| {
                let (mut one, mut other) = (Vec::new(), Vec::new());
                let mut ms = |pool: &mut dyn Fork| {
                    pool.paced(token, tokens::limit()).time.as_secs_f64() * 1e3
                };
                let begun = Instant::now();
                while one.is_empty() || begun.elapsed() < time(1000 * MS) {
                    one.push(ms(&mut ours));
                    other.push(ms(theirs));
                }
                turn = Turn { ours: median(&one), theirs: median(&other) };
            });
        }
    }
    turn
}

type Named = (&'static str, &'static str, Case);

/// What was asked for, and what it is compared with.
fn cases(cast: &Cast<'_>) -> Vec<Named> {
    let mut cases: Vec<Named> = Vec::new();
    let mut add = |measure, candidate: Candidate, case: fn(Candidate) -> Case| {
        if !cases.iter().any(|(have, name, _)| (*have, *name) == (measure, candidate.name)) {
            cases.push((measure, candidate.name, case(candidate)));
        }
    };
    if wanted(TWO) {
        announce(TWO);
        for &(two, one) in cast.twice {
            add(ALONE, one, Case::Alone);
            add(TWO, two, Case::Alone);
        }
    }
    if wanted(BESIDE) {
        announce(BESIDE);
        add(ALONE, ROWPOOL, Case::Alone);
        for &other in cast.beside {
            add(ALONE, other, Case::Alone);
            add(BESIDE, other, Case::Beside);
        }
    }
    cases
}

pub fn play(cast: &Cast<'_>) -> Rows {
    let cases = cases(cast);
    if cases.is_empty() {
        return Rows::new();
    }
    let mut token = Token::new(Format::Q8_0);
    let names = cases.iter().map(|&(measure, candidate, _)| (measure, candidate)).collect();
    let series = alternate(usual_rounds(), cases.len(), |i| turn(cases[i].2, &mut token));
    let turns = Turns { names, series };
    let named = turns.iter();
    named.flat_map(|(measure, candidate, _)| rows(cast, &turns, measure, candidate)).collect()
}

/// Of one kind of turn.
fn rows(cast: &Cast<'_>, turns: &Turns<Turn>, measure: &str, candidate: &str) -> Rows {
    let Some(series) = turns.of(measure, candidate) else {
        return Rows::new();
    };
    let row = |name: &str, figure: fn(&Turn) -> f64| {
        let cap = tokens::limit().as_secs_f64() * 1e3;
        Row::new(measure, name, series, "ms", figure).capped(cap, "ms")
    };
    let (ours, theirs) = (|turn: &Turn| turn.ours, |turn: &Turn| turn.theirs);
    let over = |figure: fn(&Turn) -> f64, other: &str| {
        ratios(&series.paired(figure), &turns.paired(ALONE, other, ours))
    };
    let most = Some(Asked::AtMost(1.3));
    match measure {
        TWO => {
            let one = cast.twice.iter().find(|(two, _)| two.name == candidate);
            let one = one.map_or("", |(_, one)| one.name);
            let asked = most.filter(|_| candidate == ROWPOOL_TWICE.name);
            vec![row(candidate, ours).compared("over one of them", over(ours, one), asked)]
        }
        BESIDE => {
            // A pool that spins for ever takes a core whatever ours does.
            let asked = most.filter(|_| candidate.starts_with("rayon"));
            let alone = over(ours, ROWPOOL.name);
            let pair = format!("rowpool beside {candidate}");
            let first = row(&pair, ours).compared("over ours alone", alone, asked);
            let alone = over(theirs, candidate);
            let pair = format!("{candidate} beside rowpool");
            vec![first, row(&pair, theirs).compared("over it alone", alone, asked)]
        }
        _ => vec![row(candidate, ours)],
    }
}

/// What both are compared with.
const ALONE: &str = "one_pool";
