//! Ranges of integers.

use super::iter::IntoParallelIterator;
use super::raw::{Exact, Iterate, Positions};
use std::ops::{Range, RangeInclusive};

/// The iterator over a range of integers. Unlike rayon's it has a length for
/// every integer type.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let numbers: rowpool::rayon::range::Iter<i8> = (-3..3).into_par_iter();
/// assert_eq!(numbers.len(), 6);
/// ```
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct Iter<T> {
    start: T,
    positions: Positions,
}

macro_rules! integers {
    ($($T:ty)*) => {$(
        impl Iterate for Iter<$T> {
            type Of = $T;
            type Source = Positions;

            fn source(&self) -> &Positions {
                &self.positions
            }

            #[inline]
            fn serial(&self, _: usize, part: Range<usize>) -> impl Iterator<Item = $T> {
                // Positions beyond the type's values do not occur: it wraps
                // where the range begins below zero.
                part.map(|at| self.start.wrapping_add(at as $T))
            }
        }
        impl Exact for Iter<$T> {}

        impl IntoParallelIterator for Range<$T> {
            type Iter = Iter<$T>;
            type Item = $T;

            fn into_par_iter(self) -> Iter<$T> {
                let len = if self.is_empty() { 0 } else { distance(self.start.abs_diff(self.end)) };
                Iter { start: self.start, positions: Positions(len) }
            }
        }

        impl IntoParallelIterator for RangeInclusive<$T> {
            type Iter = Iter<$T>;
            type Item = $T;

            fn into_par_iter(self) -> Iter<$T> {
                let len = if self.is_empty() {
                    0
                } else {
                    distance(self.start().abs_diff(*self.end())).checked_add(1).expect(TOO_LONG)
                };
                Iter { start: *self.start(), positions: Positions(len) }
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

const TOO_LONG: &str = "the range has more than usize::MAX items";

fn distance<D: TryInto<usize>>(distance: D) -> usize {
    distance.try_into().ok().expect(TOO_LONG)
}
