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

    /// "kept of all, dropped".
    pub fn tally(&self) -> String {
        format!("{}/{} kept, {} dropped", self.kept().count(), self.turns.len(), self.dropped)
    }
}

/// Runs `rounds` rounds of `turn(0..n)`, beginning with another candidate each
/// time; one may measure nothing. `limit` is the part of one CPU that others may use
/// during a turn. A quiet machine is awaited for 60 s, or what
/// `ROWPOOL_BENCH_PATIENCE` says.
pub fn alternate_within<T>(
    limit: impl Fn(usize) -> f64,
    rounds: usize,
    n: usize,
    mut turn: impl FnMut(usize) -> Option<T>,
) -> Vec<Series<T>> {
    let empty = || Series { turns: (0..rounds).map(|_| None).collect(), dropped: 0 };
    let mut series: Vec<Series<T>> = (0..n).map(|_| empty()).collect();
    // How long to wait for a quiet machine, all in all.
    let set = std::env::var("ROWPOOL_BENCH_PATIENCE").ok().and_then(|s| s.trim().parse().ok());
    let mut patience = Duration::from_secs(set.unwrap_or(60));
    for round in 0..rounds {
        for i in (0..n).map(|i| (i + round) % n) {
            for _ in 0..ATTEMPTS {
                wait(&mut patience);
                let watch = Watch::start();
                let result = turn(i);
                // In short form the first attempt counts.
                let kept = super::short() || !watch.disturbed(limit(i));
                series[i].dropped += usize::from(!kept || result.is_none());
                if kept {
                    series[i].turns[round] = result;
                    break;
                }
            }
        }
    }
    series
}

/// Sleeps while others are busy.
fn wait(patience: &mut Duration) {
    let begun = Instant::now();
    while !super::short() && begun.elapsed() < *patience {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(10));
        if !watch.disturbed(DISTURBED) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    *patience = patience.saturating_sub(begun.elapsed());
}
