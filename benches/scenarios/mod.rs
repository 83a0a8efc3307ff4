//! The scenarios of the bench `straggler`: what a pool does among busy neighbours,
//! with too many threads, under a mask or a quota, when it is seldom used, with
//! many callers, beside other pools. `benches/peers` runs them too.
//!
//! Each scenario alternates its candidates round by round; a turn in which others
//! used the CPUs is dropped and tried again (the neighbours that a scenario starts
//! are its own). All fill one table.

// `ablation` uses a part of it.
#![allow(dead_code)]

pub mod callers;
pub mod confined;
pub mod light;
pub mod neighbours;
pub mod seldom;
pub mod tokens;

use crate::support::child;
use crate::support::machine::round_trip;
use crate::support::prelude::*;

/// Who takes part.
pub struct Candidates<'a> {
    /// Serial code first, then rowpool.
    pub all: &'a [Candidate],
    /// rowpool, and pools that spin for ever.
    pub spin: &'a [Candidate],
    /// Pools of which two are used in turn.
    pub twice: &'a [Candidate],
    /// Pools that rowpool stands beside.
    pub beside: &'a [Candidate],
    /// Pools with several callers.
    pub common: &'a [Common],
}

/// A turn in a process of its own, if this is one; to be called before anything
/// else.
pub fn run_child(candidates: &Candidates<'_>) {
    child::run(|role| confined::turn(role, candidates));
}

/// Runs all scenarios that were asked for.
pub fn run(candidates: &Candidates<'_>) {
    let parts =
        [tokens::run, light::run, confined::run, seldom::run, callers::run, neighbours::run];
    let rows: Vec<Row> = parts.iter().flat_map(|part| part(candidates)).collect();
    if rows.is_empty() {
        return;
    }
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let trip = round_trip().map_or("unknown".into(), |ns| format!("{ns:.0} ns"));
    report::print(&format!("Stragglers: {cpus} CPUs, F = {trip}"), &rows);
}

/// Rounds of each scenario: enough for an interval of 95%.
fn usual_rounds() -> usize {
    rounds(7)
}

/// Whether a scenario was asked for; says so, where nobody redirects it.
fn begin(scenario: &str) -> bool {
    if wanted(scenario) {
        eprintln!("measuring: {scenario}");
    }
    wanted(scenario)
}
