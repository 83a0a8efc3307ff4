//! S21 and S22: regions of changing width in quick succession, whose closures
//! and data are gone, and overwritten, as soon as each region returns.

#[macro_use]
mod common;

use common::cpus;
use rowpool::Pool;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Regions of each test: as in the report, if the machine can do it in a third
/// of what a test may take; in any case many.
const REGIONS: u64 = 1_000_000;
const AT_LEAST: u64 = 20_000;

/// Repeats `region` with its number.
fn repeat(mut region: impl FnMut(u64)) {
    let enough = Instant::now() + Duration::from_secs(8);
    for number in 0..REGIONS {
        region(number);
        if number % 1024 == 0 && number > AT_LEAST && Instant::now() > enough {
            break;
        }
    }
}

/// S22: a region whose closure lives in this frame only. What it captures has
/// to be `number`'s; a worker that came late would find what the next frame of
/// this kind, or the eraser, has left here.
#[inline(never)]
fn region(pool: &Pool, width: usize, number: u64) -> u64 {
    let sum = AtomicU64::new(0);
    let lent = black_box([number; 16]);
    pool.run(width, |slot| {
        assert!(slot < width);
        assert_eq!(lent, [number; 16], "another region's frame");
        sum.fetch_add(lent[slot] + slot as u64, Ordering::Relaxed);
    });
    let sum = sum.into_inner();
    assert_eq!(lent, [number; 16]);
    sum
}

/// Overwrites the stack that `region` has used.
#[inline(never)]
fn erase() {
    black_box([0xdead_beef_dead_beefu64; 256]);
}

fn check(pool: &Pool, width: usize, number: u64) {
    let slots = width as u64;
    assert_eq!(region(pool, width, number), slots * number + slots * (slots - 1) / 2);
    erase();
}

/// S21: a worker that is out of one region, and in the next one, again and
/// again. Width and epoch travel in one word, or it takes part in the wrong one
/// and is waited for for ever.
#[test]
fn s21_widths_2_1_2_on_three_threads() {
    bounded!();
    let pool = cpus::pool(3);
    repeat(|number| check(&pool, [2, 1, 2][number as usize % 3], number));
}

#[test]
fn s21_widths_3_2_3_on_three_threads() {
    bounded!();
    let pool = cpus::pool(3);
    repeat(|number| check(&pool, [3, 2, 3, 1, 2][number as usize % 5], number));
}

/// S22: as above where workers share their gates, and some sleep.
#[test]
fn s22_many_workers_in_groups() {
    bounded!();
    let pool = cpus::pool(12);
    repeat(|number| {
        check(&pool, 1 + (number * number) as usize % 12, number);
        if number % 64 == 0 {
            pool.rest();
        }
    });
}

/// S22: rows that are freed at once.
#[test]
fn s22_rows_that_are_freed_at_once() {
    bounded!();
    let pool = cpus::builder().width(3).spin_window(Duration::from_micros(5)).build().unwrap();
    repeat(|number| {
        let mut rows = vec![number; 1 + number as usize % 40];
        pool.for_each_row(&mut rows, |row, out| *out += row as u64);
        assert!(rows.iter().enumerate().all(|(row, out)| *out == number + row as u64));
        rows.fill(u64::MAX);
        drop(rows);
    });
}
