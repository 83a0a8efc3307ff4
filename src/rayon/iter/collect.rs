//! What an iterator can be collected into.

use super::gather::{vector, vectors, Gather, Stop};
use super::{IntoParallelIterator, ParallelIterator};
use crate::rayon::raw::{Iterate, Whole};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

/// A collection that can be made from a parallel iterator.
///
/// Order is kept. Each part collects its own items, and the caller puts the
/// parts together. The error of a collected `Result` is the one with the lowest
/// index, whatever the threads do.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let even: Vec<u32> = (0..10u32).into_par_iter().filter(|n| n % 2 == 0).collect();
/// assert_eq!(even, [0, 2, 4, 6, 8]);
/// let error: Result<Vec<u32>, u32> =
///     (0..10).into_par_iter().map(|n| if n < 7 { Ok(n) } else { Err(n) }).collect();
/// assert_eq!(error, Err(7));
/// ```
pub trait FromParallelIterator<T: Send> {
    /// Collects the items.
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self;
}

/// A collection that a parallel iterator can be added to.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// let mut numbers = vec![7];
/// numbers.par_extend(0..3);
/// assert_eq!(numbers, [7, 0, 1, 2]);
/// ```
pub trait ParallelExtend<T: Send> {
    /// Adds the items.
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I);
}

impl<T: Send, C: Extend<T>> ParallelExtend<T> for C {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        vectors(par_iter.into_par_iter()).for_each(|part| self.extend(part));
    }
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        vector(par_iter.into_par_iter())
    }
}

/// Collections that are made from all items at once.
macro_rules! collection {
    ($($(#[$bound:meta])? [$($generics:tt)*] $item:ty => $to:ty;)*) => {$(
        impl<$($generics)*> FromParallelIterator<$item> for $to {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(par_iter: I) -> Self {
                vectors(par_iter.into_par_iter()).flatten().collect()
            }
        }
    )*};
}

collection! {
    [T: Send] T => Box<[T]>;
    [T: Send] T => Rc<[T]>;
    [T: Send] T => Arc<[T]>;
    [T: Send] T => VecDeque<T>;
    [T: Send] T => LinkedList<T>;
    [T: Send + Ord] T => BinaryHeap<T>;
    [T: Send + Ord] T => BTreeSet<T>;
    [K: Send + Ord, V: Send] (K, V) => BTreeMap<K, V>;
    [T: Send + Eq + Hash, S: BuildHasher + Default] T => HashSet<T, S>;
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default] (K, V) => HashMap<K, V, S>;
    [] char => String;
    ['a] &'a char => String;
    ['a] &'a str => String;
    [] String => String;
    ['a] Cow<'a, str> => String;
}

impl FromParallelIterator<()> for () {
    fn from_par_iter<I: IntoParallelIterator<Item = ()>>(par_iter: I) {
        par_iter.into_par_iter().for_each(|()| ());
    }
}

impl<T: Send, C: FromParallelIterator<T>, E: Send> FromParallelIterator<Result<T, E>>
    for Result<C, E>
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(par_iter: I) -> Self {
        all_or_first(par_iter.into_par_iter(), |item| item).map(C::from_par_iter)
    }
}

impl<T: Send, C: FromParallelIterator<T>> FromParallelIterator<Option<T>> for Option<C> {
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(par_iter: I) -> Self {
        all_or_first(par_iter.into_par_iter(), |item| item.ok_or(())).map(C::from_par_iter).ok()
    }
}

/// All items, or the error with the lowest index.
fn all_or_first<I: Iterate, T: Send, E: Send>(
    iter: I,
    split: impl Fn(I::Of) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (whole, parts, stop) = (Whole::new(iter), Gather::new(), Stop::new());
    let iter = whole.iter();
    whole.drive(|first, part| {
        let items = iter.serial(first, part).take_while(|_| !stop.before(first));
        let part: Result<Vec<T>, E> = items.map(&split).collect();
        if part.is_err() {
            stop.found(first);
        }
        parts.put(first, part);
    });
    let mut all = Vec::new();
    for part in parts.in_order() {
        all.append(&mut part?);
    }
    Ok(all)
}
