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

mod integer {
    /// The integer types. Sealed: the module is private.
    pub trait Integer: Copy + Ord + Send + Sync {
        /// How far `last`, which is not below this one, is from it.
        fn distance(self, last: Self) -> Option<usize>;
        /// The value `at` places after this one.
        fn after(self, at: usize) -> Self;
    }

    macro_rules! integers {
        ($($T:ty)*) => {$(
            impl Integer for $T {
                fn distance(self, last: $T) -> Option<usize> {
                    self.abs_diff(last).try_into().ok()
                }

                #[inline(always)]
                fn after(self, at: usize) -> $T {
                    // Within the range; the cast wraps where the range begins below
                    // zero, and the sum takes it back.
                    self.wrapping_add(at as $T)
                }
            }
        )*};
    }

    integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize u128 i128);
}
use integer::Integer;

const TOO_LONG: &str = "the range has more than usize::MAX items";

impl<T: Integer> Iterate for Iter<T> {
    type Of = T;
    type Source = Positions;

    fn source(&self) -> &Positions {
        &self.positions
    }

    #[inline]
    fn serial(&self, _: usize, part: Range<usize>) -> impl Iterator<Item = T> {
        part.map(|at| self.start.after(at))
    }
}
impl<T: Integer> Exact for Iter<T> {}

// For all integer types at once: a range of literals has a type to be inferred.
impl<T: Integer> IntoParallelIterator for Range<T> {
    type Iter = Iter<T>;
    type Item = T;

    fn into_par_iter(self) -> Iter<T> {
        let len = if self.start < self.end { self.start.distance(self.end) } else { Some(0) };
        Iter { start: self.start, positions: Positions(len.expect(TOO_LONG)) }
    }
}

impl<T: Integer> IntoParallelIterator for RangeInclusive<T> {
    type Iter = Iter<T>;
    type Item = T;

    fn into_par_iter(self) -> Iter<T> {
        let (start, end) = (*self.start(), *self.end());
        // Not `start <= end`: a range that was iterated over may be exhausted.
        let len = match self.is_empty() {
            true => Some(0),
            false => start.distance(end).and_then(|len| len.checked_add(1)),
        };
        Iter { start, positions: Positions(len.expect(TOO_LONG)) }
    }
}
