//! The scenes of the bench `straggler`: what a pool does among busy neighbours,
//! with too many threads, under a mask or a quota, when it is seldom used, with
//! many callers, beside other pools. `benches/peers` plays them too.
//!
//! Each scene alternates its candidates round by round; a turn in which others
//! used the CPUs is dropped and tried again (the neighbours that a scene starts
//! are its own). All fill one table.

mod callers;
mod confined;
mod neighbours;
mod report;
mod seldom;
mod tokens;

use crate::support::child;
use crate::support::fork::{Candidate, Common};
use crate::support::machine::round_trip;
use crate::support::rounds::Series;
use crate::support::{rounds, short};
use report::Row;
use std::time::Duration;

/// Who plays.
pub struct Cast<'a> {
    /// Serial code first, then rowpool.
    pub all: &'a [Candidate],
    /// What no program would use: no rival.
    pub yardstick: &'a str,
    /// Two pools of a kind used in turn, and one of them.
    pub twice: &'a [(Candidate, Candidate)],
    /// Pools that rowpool stands beside.
    pub beside: &'a [Candidate],
    /// Pools with several callers.
    pub common: &'a [Common],
}

/// A turn that is played in a process of its own, if this is one; to be called
/// before anything else.
pub fn play_role(cast: &Cast<'_>) {
    child::play(|role| confined::turn(role, cast));
}

/// Plays all scenes that were asked for.
pub fn play(cast: &Cast<'_>) {
    let mut rows = Vec::new();
    rows.extend(tokens::play(cast));
    rows.extend(confined::play(cast));
    rows.extend(seldom::play(cast));
    rows.extend(callers::play(cast));
    rows.extend(neighbours::play(cast));
    if rows.is_empty() {
        return;
    }
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let trip = round_trip().map_or("unknown".into(), |ns| format!("{ns:.0} ns"));
    println!("\n## Stragglers: {cpus} CPUs, F = {trip}");
    report::print(&rows);
}

const MS: Duration = Duration::from_millis(1);

/// Rounds of each scene: enough for an interval of 95%.
fn usual_rounds() -> usize {
    rounds(7)
}

/// `usual`, or a small part of it in short form.
fn time(usual: Duration) -> Duration {
    if short() {
        usual / 50
    } else {
        usual
    }
}

/// Whether `candidate` is the one that things are asked of.
fn is_ours(candidate: &str) -> bool {
    candidate == crate::support::candidate::ROWPOOL.name
}

/// The series of one kind of turn, named by measure and candidate.
struct Turns<T> {
    names: Vec<(&'static str, &'static str)>,
    series: Vec<Series<T>>,
}

impl<T> Turns<T> {
    fn of(&self, measure: &str, candidate: &str) -> Option<&Series<T>> {
        let at = self.names.iter().position(|&name| name == (measure, candidate))?;
        self.series.get(at)
    }

    /// A figure of each of its turns; of none, where it did not play.
    fn paired(
        &self,
        measure: &str,
        candidate: &str,
        figure: impl Fn(&T) -> f64,
    ) -> Vec<Option<f64>> {
        self.of(measure, candidate).map_or(Vec::new(), |series| series.paired(figure))
    }

    fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, &Series<T>)> {
        let with = |(&(measure, candidate), series)| (measure, candidate, series);
        self.names.iter().zip(&self.series).map(with)
    }
}

/// Says what is being measured, where nobody redirects it.
fn announce(scene: &str) {
    eprintln!("measuring: {scene}");
}

type Rows = Vec<Row>;
