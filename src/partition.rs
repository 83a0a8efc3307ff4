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
    // Nothing has all factors of two that there can be.
    let twos = size.trailing_zeros() + times.trailing_zeros();
    let most = LINE.trailing_zeros();
    1 << (most - if twos < most { twos } else { most })
}

/// How a region is shared out: by so many slots, equal or by weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split<'a> {
    pub(crate) width: usize,
    pub(crate) weights: Option<&'a Weights>,
}

/// Relative sizes of the slots of a pool whose CPUs differ.
#[derive(Debug)]
pub(crate) struct Weights {
    /// Sum of the weights of the slots before each slot, and of all.
    before: Box<[u64]>,
}

impl Weights {
    pub(crate) fn new(weights: &[u32]) -> Self {
        let mut sum = 0;
        let ends = weights.iter().map(|&weight| {
            sum += u64::from(weight.max(1));
            sum
        });
        Weights { before: std::iter::once(0).chain(ends).collect() }
    }

    /// How many slots it is for.
    pub(crate) fn slots(&self) -> usize {
        self.before.len() - 1
    }
}

impl Split<'_> {
    /// All of it in one slot.
    pub(crate) const SERIAL: Split<'static> = Split { width: 1, weights: None };

    /// The same slots, all of one weight.
    #[inline]
    pub(crate) fn evenly(self) -> Self {
        Split { weights: None, ..self }
    }

    /// The items of `slot` when `n` are shared out: contiguous, in order, each
    /// item in exactly one slot, sizes equal or by weight but for rounding to
    /// `unit`. No slot of equal ones is empty where `n >= width`; one of small
    /// weight may be.
    #[inline]
    pub(crate) fn range(&self, n: usize, slot: usize, unit: u32) -> Range<usize> {
        debug_assert!(slot < self.width);
        match self.weights {
            None => self.even(n, slot, unit as usize)..self.even(n, slot + 1, unit as usize),
            Some(weights) => {
                self.weighted(weights, n, slot, unit)..self.weighted(weights, n, slot + 1, unit)
            }
        }
    }

    /// Where slot `slot` begins; `n` for the one after the last.
    #[inline]
    fn even(&self, n: usize, slot: usize, unit: usize) -> usize {
        if slot == self.width {
            return n;
        }
        let (share, rest) = (n / self.width, n % self.width);
        let even = share * slot + rest.min(slot);
        if unit == 1 || share / UNITS < unit {
            return even;
        }
        // The share that follows is at least 16 units: no overflow, and still
        // below n.
        (even + unit / 2) / unit * unit
    }

    #[cold]
    fn weighted(&self, weights: &Weights, n: usize, slot: usize, unit: u32) -> usize {
        if slot == self.width {
            return n;
        }
        let before = &weights.before;
        // Below n, so it fits again.
        let at = (n as u128 * u128::from(before[slot]) / u128::from(before[self.width])) as usize;
        self.snapped(at, n, unit)
    }

    /// `at` moved to a multiple of `unit` where the slots have many of them;
    /// `n` stays `n`.
    #[inline]
    pub(crate) fn snapped(&self, at: usize, n: usize, unit: u32) -> usize {
        let unit = unit as usize;
        if unit == 1 || at >= n || n / self.width / UNITS < unit {
            return at;
        }
        (at.saturating_add(unit / 2) / unit * unit).min(n)
    }
}

#[cfg(test)]
#[path = "../tests/unit/partition.rs"]
mod tests;
