//! Pure arithmetic: n items, width and alignment to contiguous ranges.

use std::ops::Range;

/// No two slots should write one line, nor one pair of lines.
const LINE: usize = 128;

/// A boundary moves to a multiple of the unit only where a slot has this many
/// units: it moves by half a unit at most, which is then 3% of the slot.
const UNITS: usize = 16;

/// Items in the smallest step that is a multiple of 128 bytes, for items of
/// `size` bytes each `times` long (the product may overflow; only its factors
/// of two matter).
pub(crate) const fn unit(size: usize, times: usize) -> u32 {
    if size == 0 || times == 0 {
        return 1;
    }
    let twos = size.trailing_zeros() + times.trailing_zeros();
    let most = LINE.trailing_zeros();
    1 << (most - if twos < most { twos } else { most })
}

/// The items of `slot` when `n` items are shared by `width` slots: contiguous,
/// in order, each item in exactly one slot, sizes equal but for rounding to
/// `unit`. No slot is empty where `n >= width`.
#[inline]
pub(crate) fn range(n: usize, width: usize, slot: usize, unit: usize) -> Range<usize> {
    debug_assert!(slot < width);
    boundary(n, width, slot, unit)..boundary(n, width, slot + 1, unit)
}

/// Where slot `slot` begins; `n` for the one after the last.
#[inline]
fn boundary(n: usize, width: usize, slot: usize, unit: usize) -> usize {
    if slot == width {
        return n;
    }
    let (share, rest) = (n / width, n % width);
    let even = share * slot + rest.min(slot);
    if unit == 1 || share / UNITS < unit {
        return even;
    }
    // Both are at most n - share/2 here: no overflow, and still below n.
    (even + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(n: usize, width: usize, unit: usize) -> Vec<Range<usize>> {
        let ranges: Vec<_> = (0..width).map(|slot| range(n, width, slot, unit)).collect();
        assert_eq!(ranges[0].start, 0);
        assert_eq!(ranges[width - 1].end, n);
        for pair in ranges.windows(2) {
            assert_eq!(pair[0].end, pair[1].start, "n {n} width {width} unit {unit}");
        }
        for range in &ranges {
            assert!(range.start <= range.end, "n {n} width {width} unit {unit}");
            assert!(n < width || !range.is_empty(), "n {n} width {width} unit {unit}: {ranges:?}");
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
        for n in [1024, 1536, 5000, 49152, 49153, usize::MAX] {
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
}
