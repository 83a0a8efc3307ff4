//! `reduce`: the ranges and the tree depend on the number of items alone, so
//! the bits of a sum are the same at every width, whoever runs the slots.

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, LatePool};
use rowpool::Pool;
use std::ops::Range;

/// Lengths around the number of leaves, and others.
const COUNTS: [usize; 14] = [0, 1, 2, 3, 5, 100, 255, 256, 257, 511, 512, 513, 5000, 100_003];

/// The bits of the sum in all ways that a pool has.
fn sums(pool: &Pool, x: &[f32]) -> Vec<Option<u32>> {
    let leaf = |range: Range<usize>| x[range].iter().sum::<f32>();
    let add = |a, b| a + b;
    vec![
        pool.reduce(x.len(), leaf, add),
        pool.with_work(1).reduce(x.len(), leaf, add),
        pool.with_work(0).reduce(x.len(), leaf, add),
        pool.with_work(usize::MAX).reduce(x.len(), leaf, add),
        pool.scope_steps(|| pool.reduce(x.len(), leaf, add)),
        // Inside of a region.
        pool.map_collect(3, |_| pool.reduce(x.len(), leaf, add))[2],
    ]
    .into_iter()
    .map(|sum| sum.map(f32::to_bits))
    .collect()
}

#[test]
fn every_width_gives_the_same_bits() {
    bounded!();
    let x = common::numbers(100_003, 7);
    let one = cpus::pool(1);
    let serial: Vec<_> = COUNTS.iter().map(|&n| sums(&one, &x[..n])[0]).collect();
    let naive = x.iter().sum::<f32>().to_bits();
    assert_ne!(serial[13], Some(naive), "the order of addition shows in these numbers");
    for width in 1..=9 {
        let (pool, late) = (cpus::pool(width), LatePool::new(width));
        on_all_threads(&pool, |_| ());
        for (n, &right) in COUNTS.into_iter().zip(&serial) {
            for pool in [&pool, &late] {
                for (way, bits) in sums(pool, &x[..n]).into_iter().enumerate() {
                    assert_eq!(bits, right, "width {width} n {n} way {way}");
                }
            }
        }
    }
}

/// The tree in words: neighbours only, in order, each item in one leaf.
#[test]
fn the_tree() {
    bounded!();
    let tree = |pool: &Pool, n| {
        let leaf = |range: Range<usize>| format!("{range:?}");
        pool.reduce(n, leaf, |a, b| format!("({a} {b})"))
    };
    for width in [1, 2, 3, 9] {
        let pool = cpus::pool(width);
        let tree = |n| tree(&pool, n);
        assert_eq!(tree(0), None);
        assert_eq!(tree(1).unwrap(), "0..1");
        assert_eq!(tree(2).unwrap(), "(0..1 1..2)");
        assert_eq!(tree(3).unwrap(), "((0..1 1..2) 2..3)");
        assert_eq!(tree(6).unwrap(), "(((0..1 1..2) (2..3 3..4)) (4..5 5..6))");
        assert!(tree(1000).unwrap().starts_with("((((((((0..4 4..8) (8..12 12..16)) "));
    }
}

/// Contiguous ranges, none empty, at most 256, in order; no item is lost.
#[test]
fn the_leaves() {
    bounded!();
    let huge = [usize::MAX / 2, usize::MAX - 1, usize::MAX];
    for width in [1, 2, 5] {
        let pool = cpus::pool(width);
        for n in COUNTS.into_iter().chain(huge) {
            let join = |a: (Range<usize>, usize), b: (Range<usize>, usize)| {
                assert_eq!(a.0.end, b.0.start);
                (a.0.start..b.0.end, a.1 + b.1)
            };
            let leaf = |range: Range<usize>| {
                assert!(!range.is_empty());
                (range, 1)
            };
            let whole = pool.reduce(n, leaf, join);
            assert_eq!(whole, (n > 0).then_some((0..n, n.min(256))));
        }
    }
}

/// What is reduced need not be `Sync`, `Copy` or small.
#[test]
fn any_value() {
    bounded!();
    let pool = cpus::pool(4);
    let largest = |range: Range<usize>| {
        let cell = std::cell::Cell::new([0u64; 40]);
        cell.set([range.end as u64; 40]);
        cell
    };
    let sum = pool.reduce(1000, largest, |a, b| {
        let (x, y) = (a.get(), b.get());
        a.set(std::array::from_fn(|i| x[i].max(y[i])));
        a
    });
    assert_eq!(sum.unwrap().get(), [1000; 40]);
    assert_eq!(pool.reduce(1000, |_| (), |_, _| ()), Some(()));
}
