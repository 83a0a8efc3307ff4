//! A pool under a CPU quota: whole CPUs always, what is left of it in shifts.
//! The quota is one that the test gives; that the kernel's are seen, and seen
//! again when they change, is checked live.

#[macro_use]
mod common;
#[cfg(target_os = "linux")]
#[path = "common/group.rs"]
mod group;

use rowpool::topology::{Quota, Topology};
use rowpool::{Pool, PoolBuilder};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// On four CPUs, of which the quota leaves some percent of one.
fn quota(percent: u64) -> PoolBuilder {
    let mut facts = Topology::new(4);
    facts.quota = Quota::new(percent * 1000, 100_000);
    assert!(facts.quota.is_some());
    Pool::builder().topology(facts)
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
fn seen(pool: &Pool, enough: impl Fn(&HashSet<usize>) -> bool) -> Vec<usize> {
    let (begun, mut seen) = (Instant::now(), HashSet::new());
    let mut round = 0;
    while !enough(&seen) && begun.elapsed() < Duration::from_secs(5) {
        seen.insert(slots(pool, round));
        round += 1;
    }
    let mut seen: Vec<usize> = seen.into_iter().collect();
    seen.sort_unstable();
    seen
}

/// S1: the whole CPUs always, and one thread more for a part of the time.
#[test]
fn s1_a_fraction_is_worked_in_shifts() {
    bounded!();
    for (percent, whole) in [(150, 1), (240, 2)] {
        let pool = quota(percent).width(4).build().unwrap();
        assert_eq!((pool.num_threads(), pool.active_width()), (4, whole));
        assert_eq!(seen(&pool, |seen| seen.len() == 2), [whole, whole + 1], "{percent}%");
        assert_eq!(pool.active_width(), whole, "asked in either shift");
    }
}

/// S1: with the policy switched off what is left over stays unused.
#[test]
fn s1_a_fraction_without_its_policy() {
    bounded!();
    for (percent, whole) in [(150, 1), (240, 2)] {
        let pool = quota(percent).width(4).without(rowpool::Policy::Quota).build().unwrap();
        let begun = Instant::now();
        let seen = seen(&pool, |_| begun.elapsed() > Duration::from_millis(50));
        assert_eq!((seen, pool.active_width()), (vec![whole], whole), "{percent}%");
    }
}

/// S1: nothing is left over, or there was less than one to begin with.
#[test]
fn s1_whole_cpus_have_no_shifts() {
    bounded!();
    for (percent, whole) in [(50, 1), (100, 1), (112, 1), (300, 3), (900, 4)] {
        let pool = quota(percent).width(4).build().unwrap();
        let begun = Instant::now();
        let seen = seen(&pool, |_| begun.elapsed() > Duration::from_millis(50));
        assert_eq!(seen, [whole], "{percent}%");
        assert_eq!(pool.active_width(), whole);
    }
}

/// S1: the default width is of whole CPUs too.
#[test]
fn s1_the_default_width() {
    bounded!();
    isolated!().run(|| {
        for (percent, width) in [(50, 1), (150, 1), (399, 3), (400, 4), (1000, 4)] {
            assert_eq!(quota(percent).build().unwrap().num_threads(), width, "{percent}%");
        }
    });
}

/// Pools end in either shift, and start again.
#[test]
fn dropped_in_every_shift() {
    bounded!();
    for round in 0..60 {
        let pool = quota(150).width(2).build().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(200 * round) {
            slots(&pool, round as usize);
        }
        drop(pool);
    }
}

/// Looks at the active width for up to 10 s, until it is `width`.
#[cfg(target_os = "linux")]
fn await_width(pool: &Pool, width: usize) {
    let begun = Instant::now();
    while pool.active_width() != width {
        assert!(begun.elapsed() < Duration::from_secs(10), "still {}", pool.active_width());
        common::tasks::nap();
    }
}

/// S1, live: the quota of the process's group, and each new one that it gets.
#[test]
#[cfg(target_os = "linux")]
fn s1_the_quota_of_this_moment() {
    bounded!();
    isolated!().run(|| {
        let cpus = Topology::detect().allowed().len();
        let Some(group) = group::Group::with_quota(100) else { return };
        assert_eq!(Topology::detect().usable(), 1);
        let pool = Pool::new(4).unwrap();
        assert_eq!((pool.num_threads(), pool.active_width()), (4, 1));
        for percent in [400, 100, 200, 50, 300, 150] {
            group.set_quota(percent).unwrap();
            let whole = (percent as usize / 100).clamp(1, cpus.min(4));
            await_width(&pool, whole);
            assert_eq!(seen(&pool, |seen| seen.len() == 1), [whole], "{percent}%");
        }
        // Out of the group: as if there had never been one.
        drop(group);
        await_width(&pool, cpus.min(4));
    });
}

/// S1, live: a pool that was made under a fraction goes on under other quotas.
#[test]
#[cfg(target_os = "linux")]
fn s1_a_fraction_that_changes() {
    bounded!();
    isolated!().run(|| {
        let cpus = Topology::detect().allowed().len();
        let Some(group) = group::Group::with_quota(150) else { return };
        let pool = Pool::new(4).unwrap();
        if cpus == 1 {
            return cannot_check!("cpus", "wants two");
        }
        assert_eq!(seen(&pool, |seen| seen.len() == 2), [1, 2]);
        group.set_quota(200).unwrap();
        await_width(&pool, 2);
        let begun = Instant::now();
        let wide = seen(&pool, |_| begun.elapsed() > Duration::from_millis(50));
        assert_eq!(wide, [2], "nobody is in shifts");
        group.set_quota(150).unwrap();
        await_width(&pool, 1);
        assert_eq!(seen(&pool, |seen| seen.len() == 2), [1, 2], "and again");
    });
}
