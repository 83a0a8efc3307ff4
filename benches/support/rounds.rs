//! Alternated rounds: every candidate has a turn in each, so that what drifts
//! (clock rates, a neighbour's caches) meets all of them alike. A turn in which
//! others used the CPUs is dropped and tried again.

use super::machine::Watch;
use std::time::{Duration, Instant};

/// Attempts at one turn.
const ATTEMPTS: usize = 4;

/// Others disturb when they use this much of one CPU.
pub const DISTURBED: f64 = 0.02;

/// What one candidate did, round by round; `None` where each attempt was
/// disturbed.
pub struct Series<T> {
    pub turns: Vec<Option<T>>,
    /// Attempts that were dropped.
    pub dropped: usize,
}

impl<T> Series<T> {
    pub fn kept(&self) -> impl Iterator<Item = &T> + Clone {
        self.turns.iter().flatten()
    }

    /// One figure of each kept turn.
    pub fn figures(&self, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.kept().map(figure).collect()
    }

    /// One figure of each turn, for paired ratios.
    pub fn paired(&self, figure: impl Fn(&T) -> f64) -> Vec<Option<f64>> {
        self.turns.iter().map(|turn| turn.as_ref().map(&figure)).collect()
    }

    /// Drops turns that measured nothing.
    pub fn drop_if(&mut self, bad: impl Fn(&T) -> bool) {
        for turn in self.turns.iter_mut().filter(|turn| turn.as_ref().is_some_and(&bad)) {
            if !super::short() {
                *turn = None;
                self.dropped += 1;
            }
        }
    }

    /// "kept of all, dropped".
    pub fn tally(&self) -> String {
        format!("{}/{} kept, {} dropped", self.kept().count(), self.turns.len(), self.dropped)
    }
}

/// Runs `rounds` rounds of `turn(0..n)`, beginning with another candidate each
/// time; `limit` is the CPU time that others may use during a turn, as a part of
/// one CPU.
pub fn alternate_within<T>(
    limit: impl Fn(usize) -> f64,
    rounds: usize,
    n: usize,
    mut turn: impl FnMut(usize) -> T,
) -> Vec<Series<T>> {
    let empty = || Series { turns: (0..rounds).map(|_| None).collect(), dropped: 0 };
    let mut series: Vec<Series<T>> = (0..n).map(|_| empty()).collect();
    let mut patience = Patience::new();
    for round in 0..rounds {
        for i in (0..n).map(|i| (i + round) % n) {
            let (result, dropped) = patience.undisturbed(limit(i), || turn(i));
            series[i].turns[round] = result;
            series[i].dropped += dropped;
        }
    }
    series
}

/// How long to wait for the machine to be quiet.
pub struct Patience {
    left: Duration,
}

impl Patience {
    /// 60 s, or what `ROWPOOL_BENCH_PATIENCE` says, in s.
    pub fn new() -> Patience {
        let set = std::env::var("ROWPOOL_BENCH_PATIENCE").ok().and_then(|s| s.trim().parse().ok());
        Patience { left: Duration::from_secs(set.unwrap_or(60)) }
    }

    /// Tries until nobody disturbs, and says how many attempts were dropped.
    /// In short form the first attempt counts.
    pub fn undisturbed<T>(
        &mut self,
        limit: f64,
        mut attempt: impl FnMut() -> T,
    ) -> (Option<T>, usize) {
        if super::short() {
            return (Some(attempt()), 0);
        }
        for dropped in 0..ATTEMPTS {
            self.wait();
            let watch = Watch::start();
            let result = attempt();
            if !watch.disturbed(limit) {
                return (Some(result), dropped);
            }
        }
        (None, ATTEMPTS)
    }

    /// Sleeps while others are busy.
    fn wait(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < self.left {
            let watch = Watch::start();
            std::thread::sleep(Duration::from_millis(10));
            if !watch.disturbed(DISTURBED) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.left = self.left.saturating_sub(begun.elapsed());
    }
}
