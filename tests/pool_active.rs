//! The active width: what regions use of a pool's threads.

#[macro_use]
mod common;

use rowpool::topology::Topology;
use rowpool::Pool;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// The ranges of a region over `n` indices.
fn ranges(pool: &Pool, n: usize) -> usize {
    let ranges: Mutex<Vec<Range<usize>>> = Mutex::default();
    pool.for_each_range(n, |range| ranges.lock().unwrap().push(range));
    let ranges = ranges.into_inner().unwrap();
    assert_eq!(ranges.iter().map(Range::len).sum::<usize>(), n);
    ranges.len()
}

/// The threads that some regions of every shape use.
fn threads(pool: &Pool) -> HashSet<ThreadId> {
    let seen = Mutex::new(HashSet::new());
    let see = || {
        seen.lock().unwrap().insert(thread::current().id());
    };
    for _ in 0..50 {
        pool.wake();
        pool.broadcast(|_| see());
        pool.for_each_index(1000, |_| see());
        pool.for_each_chunk(&mut [0; 100], 3, |_, _| see());
    }
    seen.into_inner().unwrap()
}

/// S2: under whatever mask the facts tell, the width is that of the CPUs left.
#[test]
fn s2_the_width_is_the_masks() {
    bounded!();
    for cpus in [16, 4, 2, 9, 12, 3, 1] {
        let mut facts = Topology::new(16);
        facts.mask = Some((16 - cpus..16).collect());
        let pool = Pool::builder().width(12).topology(facts).build().unwrap();
        let active = cpus.min(12);
        assert_eq!(pool.active_width(), active);
        assert_eq!(pool.num_threads(), 12, "the width keeps its value");
        assert_eq!(ranges(&pool, 1000), active);
        let owners = common::on_all_threads(&pool, |_| ());
        assert_eq!(owners.len(), active);
        let used = threads(&pool);
        assert!(used.iter().all(|id| owners.contains(id)), "of {active}");
    }
}

/// Confines each thread of this process to so many CPUs, as `taskset -a` does.
#[cfg(target_os = "linux")]
fn confine_to(cpus: usize) {
    let all: Vec<usize> = Topology::detect().online().iter().collect();
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in &all[..cpus] {
        // SAFETY: the ids are those of this machine, in the range of the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let id = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: the kernel reads the size of the set. A thread may be gone.
        unsafe { libc::sched_setaffinity(id, size_of_val(&set), &set) };
    }
}

/// The CPUs that there are to confine to; `None`, said on the terminal, where
/// there is no second one.
#[cfg(target_os = "linux")]
fn several() -> Option<usize> {
    let cpus = Topology::detect().allowed().len();
    if cpus < 2 || cpus < Topology::detect().cpus.len() {
        cannot_check!("cpus", "wants two, and all");
        return None;
    }
    Some(cpus)
}

/// S2: never above the CPUs that the process may use, read again when asked.
#[test]
#[cfg(target_os = "linux")]
fn s2_the_mask_shrinks_and_grows() {
    bounded!();
    isolated!().run(|| {
        let Some(all) = several() else { return };
        let pool = Pool::new(12).unwrap();
        assert_eq!(pool.active_width(), all.min(12));
        let owners = common::on_all_threads(&pool, |_| ());
        for cpus in [1, all, 1, all / 2, all] {
            confine_to(cpus);
            let active = cpus.min(12);
            assert_eq!(pool.active_width(), active);
            assert_eq!(pool.num_threads(), 12, "the width keeps its value");
            assert_eq!(ranges(&pool, 1000), active);
            assert_eq!(common::on_all_threads(&pool, |_| ()), owners[..active], "owners stay");
            let used = threads(&pool);
            assert!(used.iter().all(|id| owners[..active].contains(id)), "of {active}");
        }
    });
}

/// `wake` reads the mask again too: what comes next is sized by it.
#[test]
#[cfg(target_os = "linux")]
fn s2_wake_notices_the_mask() {
    bounded!();
    isolated!().run(|| {
        let Some(all) = several() else { return };
        let pool = Pool::new(6).unwrap();
        for cpus in [1, all, 1, all] {
            confine_to(cpus);
            pool.wake();
            assert_eq!(ranges(&pool, 1000), cpus.min(6));
        }
    });
}

/// Regions of one caller while another changes the width under them.
#[test]
#[cfg(target_os = "linux")]
fn s2_the_mask_changes_during_regions() {
    bounded!();
    isolated!().run(|| {
        let Some(all) = several() else { return };
        let pool = Pool::new(5).unwrap();
        let end = common::Latch::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                for cpus in [1, all].into_iter().cycle() {
                    if end.is_open() {
                        break;
                    }
                    confine_to(cpus);
                    pool.active_width();
                    thread::yield_now();
                }
            });
            let mut rows = vec![0; 100];
            for round in 0..3000 {
                pool.for_each_row(&mut rows, |row, out| *out = row + round);
                assert!(rows.iter().enumerate().all(|(row, out)| *out == row + round));
            }
            end.open();
        });
    });
}

#[test]
fn a_pool_wider_than_the_machine() {
    bounded!();
    let pool = common::cpus::pool(40);
    let active = pool.active_width();
    assert_eq!(active, common::cpus::CPUS);
    assert_eq!(ranges(&pool, 1000), active);
    assert_eq!(ranges(&pool, active), active);
    assert_eq!(ranges(&pool, active - 1), active - 1);
    assert!(threads(&pool).len() <= active);
}
