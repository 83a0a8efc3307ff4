//! Busy neighbours (S4, S29): while other threads want the same CPUs, workers
//! give theirs away between slots and callers run what is late. Every row is
//! still run once, and drop and rest still work.

#[macro_use]
mod common;

use rowpool::Pool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Regions of some µs, until workers have been preempted often enough to share
/// their CPU, have done so for a while and tried without.
fn regions(pool: &Pool, time: Duration) {
    let begun = Instant::now();
    let mut rows = vec![0u64; 64];
    for round in 1.. {
        pool.for_each_row(&mut rows, |row, out| {
            *out += (0..200).fold(row as u64, |sum, i| std::hint::black_box(sum + i));
        });
        if begun.elapsed() > time {
            for (row, out) in (0..).zip(&rows) {
                assert_eq!(*out, round * (row + 19_900), "row {row} after {round} regions");
            }
            break;
        }
    }
}

#[test]
fn every_row_once_beside_busy_neighbours() {
    bounded!();
    let cpus = core_affinity::get_core_ids().unwrap_or_default();
    let pool = Pool::new(cpus.len().max(2)).unwrap();
    for busy in [&cpus[cpus.len().saturating_sub(1)..], &cpus[..]] {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for &cpu in busy {
                let stop = &stop;
                scope.spawn(move || {
                    core_affinity::set_for_current(cpu);
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::black_box(0);
                    }
                });
            }
            regions(&pool, Duration::from_millis(700));
            pool.rest();
            regions(&pool, Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
    }
    drop(pool);
}
