//! Vectors and arrays, by value and by reference.

use super::iter::IntoParallelIterator;
use super::raw::{Exact, Items, Iterate, Moved};
use super::slice;

/// The iterator over the elements of a vector or array, by value. What is not
/// reached, because of a panic or a shorter partner in a `zip`, is dropped with
/// it.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let names: rowpool::rayon::vec::IntoIter<&str> = vec!["q", "k", "v"].into_par_iter();
/// assert_eq!(names.len(), 3);
/// ```
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct IntoIter<T> {
    items: Items<T>,
}

impl<T: Send> Iterate for IntoIter<T> {
    type Of = T;
    type Source = Items<T>;

    fn source(&self) -> &Items<T> {
        &self.items
    }

    #[inline]
    fn serial<'a>(&'a self, _: usize, part: Moved<'a, T>) -> impl Iterator<Item = T> {
        part
    }
}
impl<T: Send> Exact for IntoIter<T> {}

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { items: Items::new(self) }
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        self.into_vec().into_par_iter()
    }
}

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        Vec::from(self).into_par_iter()
    }
}

macro_rules! by_reference {
    ($([$($generics:tt)*] $from:ty;)*) => {$(
        impl<'data, T: Sync + 'data, $($generics)*> IntoParallelIterator for &'data $from {
            type Iter = slice::Iter<'data, T>;
            type Item = &'data T;

            fn into_par_iter(self) -> slice::Iter<'data, T> {
                slice::Iter::new(self)
            }
        }

        impl<'data, T: Send + 'data, $($generics)*> IntoParallelIterator for &'data mut $from {
            type Iter = slice::IterMut<'data, T>;
            type Item = &'data mut T;

            fn into_par_iter(self) -> slice::IterMut<'data, T> {
                slice::IterMut::new(self)
            }
        }
    )*};
}

by_reference! {
    [] [T];
    [] Vec<T>;
    [] Box<[T]>;
    [const N: usize] [T; N];
}
