//! Tests of `src/partition.rs`, inside of it.

use super::*;

fn cover(n: usize, width: usize, unit: u32) -> Vec<Range<usize>> {
    let ranges = tile(n, unit, Split { width, weights: None });
    for range in &ranges {
        assert!(n < width || !range.is_empty(), "n {n} width {width} unit {unit}: {ranges:?}");
    }
    ranges
}

fn tile(n: usize, unit: u32, split: Split<'_>) -> Vec<Range<usize>> {
    let width = split.width;
    let ranges: Vec<_> = (0..width).map(|slot| split.range(n, slot, unit)).collect();
    assert_eq!(ranges[0].start, 0);
    assert_eq!(ranges[width - 1].end, n);
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].end, pair[1].start, "n {n} width {width} unit {unit}");
    }
    for range in &ranges {
        assert!(range.start <= range.end, "n {n} width {width} unit {unit}");
    }
    ranges
}

#[test]
fn covers_everything_once() {
    for n in (0..300).chain([511, 512, 513, 4095, 4096, 49152, usize::MAX - 1, usize::MAX]) {
        for width in [1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 512] {
            for unit in [1, 2, 4, 8, 16, 32, 64, 128] {
                cover(n, width, unit);
            }
        }
    }
}

#[test]
fn shares_differ_by_one_where_nothing_is_rounded() {
    assert_eq!(cover(10, 4, 1), [0..3, 3..6, 6..8, 8..10]);
    assert_eq!(cover(3, 4, 32), [0..1, 1..2, 2..3, 3..3]);
    assert_eq!(cover(0, 2, 1), [0..0, 0..0]);
}

#[test]
fn large_shares_end_on_lines() {
    for n in [2560, 2561, 5000, 49152, 49153, usize::MAX] {
        for width in [2, 3, 5] {
            let ranges = cover(n, width, 32);
            let even = n / width;
            for range in &ranges[1..] {
                assert_eq!(range.start % 32, 0, "n {n} width {width}");
            }
            for range in &ranges {
                assert!(range.len().abs_diff(even) <= 32, "{ranges:?}");
            }
        }
    }
    // 18 lines for 8 slots would make slots of 2 and 3: not worth it.
    assert_eq!(cover(576, 8, 32)[0], 0..72);
}

#[test]
fn weights_size_the_slots() {
    // Two fast cores and two at a quarter of their speed.
    let weights = Weights::new(&[1024, 1024, 256, 256]);
    let split = |width| Split { width, weights: Some(&weights) };
    assert_eq!(tile(1000, 1, split(4)), [0..400, 400..800, 800..900, 900..1000]);
    assert_eq!(tile(1000, 1, split(3)), [0..444, 444..888, 888..1000], "its first slots");
    assert_eq!(tile(1000, 1, split(2)), [0..500, 500..1000]);
    assert_eq!(tile(4096, 32, split(4)), [0..1632, 1632..3264, 3264..3680, 3680..4096]);
    assert_eq!(tile(3, 1, split(4)), [0..1, 1..2, 2..2, 2..3]);
    for n in [0, 1, 2, 5, 100, 1023, 49152, usize::MAX - 1, usize::MAX] {
        for width in 1..=4 {
            for unit in [1, 2, 32, 128] {
                tile(n, unit, split(width));
            }
        }
    }
    assert_eq!(
        tile(10, 1, Split { width: 2, weights: Some(&Weights::new(&[0, 0])) }),
        [0..5, 5..10]
    );
}

/// Boundaries by another way: the nearest multiple where slots have 16 units.
#[test]
fn boundaries_move_by_half_a_unit_at_most() {
    let weights = [[1, 1, 1, 1], [1000, 1, 1000, 1], [1, 1000, 1, 1000], [7, 5, 3, 1]];
    for n in [0, 1, 2047, 2048, 2049, 4095, 4096, 5100, 8191, 8192, 8220, 49152, 1 << 40] {
        for unit in [1, 2, 32, 128] {
            for (width, sizes) in (1..=4).flat_map(|width| weights.map(|sizes| (width, sizes))) {
                let made = Weights::new(&sizes);
                let of = |slots: usize| sizes[..slots].iter().map(|&w| w as usize).sum::<usize>();
                let moves = unit > 1 && n / width / 16 >= unit;
                let near = |at: usize| if moves { (at + unit / 2) / unit * unit } else { at };
                let weighted = |slot: usize| near(n * of(slot) / of(width)).min(n);
                let even = |slot: usize| near(n / width * slot + slot.min(n % width)).min(n);
                let at = |slot, weights| {
                    let range = Split { width, weights }.range(n, slot, unit as u32);
                    (range.start, range.end)
                };
                for slot in 0..width {
                    let next = slot + 1;
                    let ends = |end: usize| if next == width { n } else { end };
                    let what = format!("n {n} unit {unit} width {width} of {sizes:?}");
                    assert_eq!(at(slot, None), (even(slot), ends(even(next))), "{what}");
                    let by_weight = (weighted(slot), ends(weighted(next)));
                    assert_eq!(at(slot, Some(&made)), by_weight, "{what}");
                }
            }
        }
    }
    let split = Split { width: 2, weights: Some(&Weights::new(&[1000, 1])) };
    assert_eq!(split.range(5100, 0, 128), 0..5100, "5095 is nearer to 5120, which is too many");
    assert_eq!(split.range(5100, 1, 128), 5100..5100);
}

#[test]
fn slots_that_weights_are_for() {
    let weights = Weights::new(&[3, 1, 1]);
    assert_eq!(weights.slots(), 3);
    let even = Split { width: 3, weights: Some(&weights) }.evenly();
    assert_eq!([0, 1, 2].map(|slot| even.range(6, slot, 1)), [0..2, 2..4, 4..6]);
    assert_eq!(Split::SERIAL.range(6, 0, 32), 0..6);
}

#[test]
fn units_are_multiples_of_128_bytes() {
    for size in [1, 2, 3, 4, 8, 12, 16, 24, 100, 128, 256, 1 << 40] {
        for times in [1, 2, 3, 7, 32, 1 << 20] {
            let step = u128::from(unit(size, times)) * size as u128 * times as u128;
            assert_eq!(step % 128, 0, "{size} x {times}");
        }
    }
    assert_eq!((unit(4, 1), unit(1, 1), unit(128, 1), unit(0, 1), unit(8, 0)), (32, 128, 1, 1, 1));
    assert_eq!(unit(1 << 40, 1 << 40), 1, "the product overflows");
}

#[test]
fn the_end_stays_the_end() {
    let split = Split { width: 2, weights: None };
    assert_eq!([4999, 5000].map(|at| split.snapped(at, 5000, 32)), [4992, 5000]);
}
