//! A pool under a CPU quota: whole CPUs always, what is left of it in shifts.
//! Live, in groups of cgroup v1; where there are none, the test says so.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/group.rs"]
mod group;

use group::Group;
use rowpool::Pool;
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A group with a quota that this process is in.
fn quota(percent: u32) -> Option<Group> {
    let quota = (percent * 1000).to_string();
    let settings = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", &quota[..])];
    let group = Group::enter("cpu", &settings);
    group.inspect_err(|why| cannot_check!("cgroup1-cpu", "{why}")).ok()
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, |cpus| cpus.get())
}

/// Slots of a region over many rows, all of which are right.
fn slots(pool: &Pool, round: usize) -> usize {
    let mut rows = vec![0; 500];
    let threads = Mutex::new(HashSet::new());
    pool.for_each_row(&mut rows, |row, out| *out = row * 3 + round);
    assert!(rows.iter().enumerate().all(|(row, out)| *out == row * 3 + round));
    pool.for_each_range(500, |range| {
        assert!(threads.lock().unwrap().insert(range.start), "each range once");
    });
    threads.into_inner().unwrap().len()
}

/// The numbers of slots that regions have, until `enough` holds or for 5 s.
fn seen(pool: &Pool, enough: impl Fn(&HashSet<usize>) -> bool) -> HashSet<usize> {
    let (begun, mut seen) = (Instant::now(), HashSet::new());
    let mut round = 0;
    while !enough(&seen) && begun.elapsed() < Duration::from_secs(5) {
        seen.insert(slots(pool, round));
        round += 1;
    }
    seen
}

/// S1: one CPU always, and a second thread for half of the time.
#[test]
fn s1_a_fraction_is_worked_in_shifts() {
    bounded!();
    isolated!().run(|| {
        let before = cpus();
        let Some(_group) = quota(150) else { return };
        let pool = Pool::new(4).unwrap();
        assert_eq!((pool.num_threads(), pool.active_width()), (4, 1));
        let seen = seen(&pool, |seen| seen.len() == 2);
        let both = if before > 1 { vec![1, 2] } else { vec![1] };
        let mut seen: Vec<usize> = seen.into_iter().collect();
        seen.sort_unstable();
        assert_eq!(seen, both);
        assert_eq!(pool.active_width(), 1, "asked in either shift");
    });
}

/// S1: nothing is left over, or there was less than one to begin with.
#[test]
fn s1_whole_cpus_have_no_shifts() {
    for percent in [50, 100, 112] {
        bounded!();
        isolated!().env("QUOTA_OF_THIS_TEST", percent.to_string()).run(|| {
            let percent = std::env::var("QUOTA_OF_THIS_TEST").unwrap().parse().unwrap();
            let Some(_group) = quota(percent) else { return };
            let pool = Pool::new(4).unwrap();
            let begun = Instant::now();
            let seen = seen(&pool, |_| begun.elapsed() > Duration::from_millis(50));
            assert_eq!(seen, HashSet::from([1]), "{percent}%");
        });
    }
}

/// Pools end in either shift, and start again.
#[test]
fn dropped_in_every_shift() {
    bounded!();
    isolated!().run(|| {
        let Some(_group) = quota(150) else { return };
        for round in 0..60 {
            let pool = Pool::new(2).unwrap();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(200 * round) {
                slots(&pool, round as usize);
            }
            drop(pool);
        }
    });
}
