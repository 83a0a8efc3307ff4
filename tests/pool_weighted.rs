//! S16: on CPUs of unequal capacity the slots have unequal sizes, and small
//! ones may be empty. Everything else is as it is on equal CPUs.

#![cfg(any(target_os = "linux", target_os = "android"))]

#[macro_use]
mod common;

use rowpool::topology::{CoreKind, Topology};
use rowpool::Pool;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Four fast CPUs and four slow ones, as a phone has them.
const CAPACITIES: [u32; 8] = [1024, 1024, 1024, 1024, 160, 160, 160, 160];

fn facts() -> Topology {
    let mut facts = Topology::new(CAPACITIES.len());
    for (cpu, capacity) in facts.cpus.iter_mut().zip(CAPACITIES) {
        cpu.capacity = capacity;
        if capacity < 768 {
            cpu.kind = CoreKind::Efficiency;
        }
    }
    facts
}

fn pool(width: usize) -> Pool {
    let pool = Pool::builder().width(width).topology(facts()).build().unwrap();
    assert_eq!(pool.active_width(), width);
    pool
}

fn ranges(pool: &Pool, n: usize) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    pool.for_each_range(n, |range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

#[test]
fn s16_ranges_by_weight() {
    bounded!();
    for width in [2, 4, 5, 8] {
        let pool = pool(width);
        let sum: u64 = CAPACITIES[..width].iter().map(|&capacity| u64::from(capacity)).sum();
        for n in [0, 1, 2, 3, 7, 8, 9, 100, 4736, 100_000, usize::MAX] {
            let ranges = ranges(&pool, n);
            let mut end = 0;
            for range in &ranges {
                assert!(range.start == end && !range.is_empty(), "{ranges:?}");
                end = range.end;
            }
            assert_eq!(end, n);
            assert!(ranges.len() <= width);
            if n >= 4736 {
                for (range, capacity) in ranges.iter().zip(CAPACITIES) {
                    let share = n as u128 * u128::from(capacity) / u128::from(sum);
                    assert!((range.len() as u128).abs_diff(share) <= 1, "{ranges:?}");
                }
            }
        }
    }
}

#[test]
fn s16_every_shape_is_complete() {
    bounded!();
    for width in [2, 5, 8] {
        let pool = pool(width);
        for n in (0..20).chain([31, 32, 100, 1000, 4097]) {
            let mut rows = vec![7u32; n];
            pool.for_each_row(&mut rows, |row, out| *out += row as u32);
            assert!(rows.iter().enumerate().all(|(row, out)| *out == row as u32 + 7));

            let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
            struct State<'a>(&'a AtomicUsize, usize);
            impl Drop for State<'_> {
                fn drop(&mut self) {
                    assert!(self.1 > 0, "a state without a chunk");
                    common::tick(self.0);
                }
            }
            let init = || {
                common::tick(&made);
                State(&dropped, 0)
            };
            pool.for_each_chunk_init(&mut rows, 3, init, |state, i, chunk| {
                state.1 += 1;
                chunk.iter_mut().for_each(|x| *x = i as u32);
            });
            assert!(rows.iter().enumerate().all(|(at, out)| *out == at as u32 / 3));
            assert_eq!(made.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst));

            let visits = Mutex::new(vec![0; n]);
            pool.for_each_index(n, |i| visits.lock().unwrap()[i] += 1);
            assert!(visits.into_inner().unwrap().iter().all(|visits| *visits == 1));
        }
    }
}

/// `run` and `broadcast` are about threads, not about work: with no more slots
/// than active threads, no worker has two while others have none.
#[test]
fn run_and_broadcast_give_each_worker_one_slot() {
    bounded!();
    let pool = pool(8);
    let me = thread::current().id();
    for round in 0..1000 {
        let threads = Mutex::new(Vec::new());
        pool.wake();
        let see = |_| {
            threads.lock().unwrap().push(thread::current().id());
            // Some time for others to come.
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(20) {
                std::hint::spin_loop();
            }
        };
        match round % 2 {
            0 => pool.broadcast(see),
            _ => pool.run(8, see),
        }
        let mut workers = threads.into_inner().unwrap();
        assert_eq!(workers.len(), 8);
        // The caller may have more: those of late owners.
        workers.retain(|id| *id != me);
        assert_eq!(workers.iter().collect::<HashSet<_>>().len(), workers.len());
    }
}

/// Rows never depend on the split.
#[test]
fn i6_the_same_bits_as_on_one_thread() {
    bounded!();
    let pool = pool(8);
    let kernel = |row: usize| (0..100).fold(0.1f32, |sum, i| sum * 1.01 + (row * i) as f32);
    let serial: Vec<u32> = (0..1000).map(|row| kernel(row).to_bits()).collect();
    for _ in 0..20 {
        let mut rows = vec![0.0; 1000];
        pool.for_each_row(&mut rows, |row, out| *out = kernel(row));
        assert!(rows.iter().map(|x| x.to_bits()).eq(serial.iter().copied()));
    }
}
