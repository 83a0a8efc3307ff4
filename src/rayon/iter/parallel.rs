//! The methods of all parallel iterators.

use super::gather::{vectors, Gather, Stop};
use super::outcome::Try;
use super::{
    Cloned, Copied, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FromParallelIterator, Inspect, IntoParallelIterator, Map, MapInit, MapWith, ParallelExtend,
};
use crate::rayon::raw::{Iterate, Whole};
use crate::sync::StaticMutex;
use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::ops::ControlFlow;

/// One value per part, made from its items in order, with the parts in order.
macro_rules! parts {
    ($iter:expr, |$items:ident| $part:expr) => {{
        let (whole, parts) = (Whole::new($iter), Gather::new());
        let iter = whole.iter();
        whole.drive(|first, part| {
            let mut $items = iter.serial(first, part);
            parts.put(first, $part);
        });
        parts.in_order()
    }};
}

/// A parallel iterator.
///
/// ```
/// use rowpool::rayon::prelude::*;
/// fn total(numbers: impl ParallelIterator<Item = u32>) -> u32 {
///     numbers.filter(|n| n % 2 == 1).sum()
/// }
/// assert_eq!(total((0..10u32).into_par_iter()), 25);
/// ```
///
/// What the closures share must be `Sync`:
///
/// ```compile_fail
/// use rowpool::rayon::prelude::*;
/// let calls = std::cell::Cell::new(0);
/// (0..10).into_par_iter().for_each(|_| calls.set(calls.get() + 1));
/// ```
///
/// and an item that borrows cannot outlive its slice:
///
/// ```compile_fail
/// use rowpool::rayon::prelude::*;
/// let kept: Vec<&mut u32> = {
///     let mut rows = [1, 2, 3];
///     rows.par_iter_mut().collect()
/// };
/// ```
pub trait ParallelIterator: Iterate<Of = <Self as ParallelIterator>::Item> {
    /// What it gives.
    type Item: Send;

    /// Calls `op` with each item.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = vec![1; 100];
    /// y.par_iter_mut().for_each(|y| *y += 1);
    /// assert_eq!(y, [2; 100]);
    /// ```
    #[inline]
    fn for_each<OP: Fn(Self::Item) + Sync + Send>(self, op: OP) {
        let whole = Whole::new(self);
        let iter = whole.iter();
        whole.drive(|first, part| iter.serial(first, part).for_each(&op));
    }

    /// [`for_each`](Self::for_each) with scratch, a clone of `init` for each
    /// part.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..10).into_par_iter().for_each_with(sender, |sender, n| sender.send(n).unwrap());
    /// assert_eq!(receiver.iter().sum::<i32>(), 45);
    /// ```
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.map_with(init, op).for_each(|()| ());
    }

    /// [`for_each`](Self::for_each) with scratch, made by `init` for each part:
    /// at most once per thread, where rayon calls it once per split.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let mut y = [1, 2, 3];
    /// y.par_iter_mut().for_each_init(Vec::new, |scratch, y| {
    ///     scratch.clear();
    ///     scratch.resize(*y, 1);
    ///     *y = scratch.len() * 2;
    /// });
    /// assert_eq!(y, [2, 4, 6]);
    /// ```
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).for_each(|()| ());
    }

    /// Calls `op` with each item until one fails. Of several failures it
    /// returns the one with the lowest index, whatever the threads do; rayon
    /// returns any.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let tried = (0..100).into_par_iter().try_for_each(|n| if n < 40 { Ok(()) } else { Err(n) });
    /// assert_eq!(tried, Err(40));
    /// ```
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        let (whole, parts, stop) = (Whole::new(self), Gather::new(), Stop::new());
        let iter = whole.iter();
        whole.drive(|first, part| {
            for item in iter.serial(first, part) {
                if stop.before(first) {
                    return;
                }
                if let ControlFlow::Break(residual) = op(item).branch() {
                    stop.found(first);
                    return parts.put(first, R::from_residual(residual));
                }
            }
        });
        let failed = parts.in_order().next();
        failed.unwrap_or_else(|| R::from_output(()))
    }

    /// [`try_for_each`](Self::try_for_each) with scratch, made by `init` for
    /// each part.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let tried = (0..9).into_par_iter().try_for_each_init(|| 5, |five, n| (n != *five).then_some(()));
    /// assert_eq!(tried, None);
    /// ```
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_init(init, op).try_for_each(|result| result)
    }

    /// The number of items.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((0..10).into_par_iter().filter(|n| n % 3 == 0).count(), 4);
    /// ```
    fn count(self) -> usize {
        parts!(self, |items| {
            // `count` by itself may skip the items' side effects.
            items.by_ref().fold(0, |count: usize, _| count + 1)
        })
        .sum()
    }

    /// Each item through `map_op`.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let squares: Vec<i32> = (0..4).into_par_iter().map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    fn map<F, R>(self, map_op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Map { base: self, f: map_op }
    }

    /// [`map`](Self::map) with scratch, a clone of `init` for each part.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let lens: Vec<usize> = (1..4usize).into_par_iter().map_with(vec![0], |scratch, n| {
    ///     scratch.resize(n, 0);
    ///     scratch.len()
    /// }).collect();
    /// assert_eq!(lens, [1, 2, 3]);
    /// ```
    fn map_with<F, T, R>(self, init: T, map_op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        MapWith { base: self, init: StaticMutex::new(init), f: map_op }
    }

    /// [`map`](Self::map) with scratch, made by `init` for each part.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let lens: Vec<usize> = (1..4usize).into_par_iter().map_init(Vec::new, |scratch, n| {
    ///     scratch.resize(n, 0u8);
    ///     scratch.len()
    /// }).collect();
    /// assert_eq!(lens, [1, 2, 3]);
    /// ```
    fn map_init<F, INIT, T, R>(self, init: INIT, map_op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        MapInit { base: self, init, f: map_op }
    }

    /// Clones of the items behind references.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let names: Vec<String> = ["q".to_string()].par_iter().cloned().collect();
    /// assert_eq!(names, ["q"]);
    /// ```
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send + Sync,
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned { base: self }
    }

    /// Copies of the items behind references.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([1, 2, 3].par_iter().copied().sum::<i32>(), 6);
    /// ```
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send + Sync,
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied { base: self }
    }

    /// The items, shown to `inspect_op` on their way.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let sum: i32 = (0..4).into_par_iter().inspect(|&n| assert!(n < 4)).sum();
    /// assert_eq!(sum, 6);
    /// ```
    fn inspect<OP: Fn(&Self::Item) + Sync + Send>(self, inspect_op: OP) -> Inspect<Self, OP> {
        Inspect { base: self, f: inspect_op }
    }

    /// The items that fit, in order.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let even: Vec<i32> = (0..6).into_par_iter().filter(|n| n % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4]);
    /// ```
    fn filter<P: Fn(&Self::Item) -> bool + Sync + Send>(self, filter_op: P) -> Filter<Self, P> {
        Filter { base: self, f: filter_op }
    }

    /// What `filter_op` makes of the items, where it makes something.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let numbers: Vec<i32> = ["1", "x", "3"].par_iter().filter_map(|s| s.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    fn filter_map<P, R>(self, filter_op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        FilterMap { base: self, f: filter_op }
    }

    /// The items of the parallel iterators that `map_op` makes, which run
    /// inline: there is no stealing between the levels. Where the inner ones
    /// are serial anyway, [`flat_map_iter`](Self::flat_map_iter) saves a copy.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let flat: Vec<i32> = (0..3).into_par_iter().flat_map(|n| 0..n).collect();
    /// assert_eq!(flat, [0, 0, 1]);
    /// ```
    fn flat_map<F, PI>(self, map_op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        FlatMap { base: self, f: map_op }
    }

    /// The items of the serial iterators that `map_op` makes.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let flat: Vec<i32> = (0..3).into_par_iter().flat_map_iter(|n| vec![n; 2]).collect();
    /// assert_eq!(flat, [0, 0, 1, 1, 2, 2]);
    /// ```
    fn flat_map_iter<F, SI>(self, map_op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        FlatMapIter { base: self, f: map_op }
    }

    /// The items of items that make parallel iterators, which run inline.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let flat: Vec<i32> = vec![vec![1, 2], vec![3]].into_par_iter().flatten().collect();
    /// assert_eq!(flat, [1, 2, 3]);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten { base: self }
    }

    /// The items of items that make serial iterators.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let flat: Vec<i32> = vec![Some(1), None].into_par_iter().flatten_iter().collect();
    /// assert_eq!(flat, [1]);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter { base: self }
    }

    /// One value per part, folded from `identity()` over its items: as many as
    /// threads took part, one at least.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let sum: u32 = (0..10u32).into_par_iter().fold(|| 0, |sum, n| sum + n).sum();
    /// assert_eq!(sum, 45);
    /// ```
    fn fold<T, ID, F>(self, identity: ID, fold_op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Fold { base: self, identity, f: fold_op }
    }

    /// All items put together by `op`, which should be associative with
    /// `identity()` as its neutral value: where it is not quite, as for floats,
    /// the result depends on the width.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let most = [3.0f32, 7.0, 5.0].par_iter().copied().reduce(|| 0.0, f32::max);
    /// assert_eq!(most, 7.0);
    /// ```
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
        ID: Fn() -> Self::Item + Sync + Send,
    {
        let parts = parts!(self, |items| items.by_ref().fold(identity(), &op));
        parts.reduce(&op).unwrap_or_else(&identity)
    }

    /// [`reduce`](Self::reduce) without a neutral value: `None` without items.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((1..5).into_par_iter().reduce_with(|a, b| a * b), Some(24));
    /// ```
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        let parts = parts!(self, |items| items.by_ref().reduce(&op));
        parts.flatten().reduce(&op)
    }

    /// The sum. That of floats depends on the width, as each part is summed by
    /// itself.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((1..=100).into_par_iter().sum::<i32>(), 5050);
    /// ```
    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        parts!(self, |items| items.by_ref().sum::<S>()).sum()
    }

    /// The product.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((1..=5).into_par_iter().product::<i32>(), 120);
    /// ```
    fn product<P>(self) -> P
    where
        P: Send + Product<Self::Item> + Product<P>,
    {
        parts!(self, |items| items.by_ref().product::<P>()).product()
    }

    /// The least item, the first of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().min(), Some(&1));
    /// ```
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Self::Item::cmp)
    }

    /// The least item by an order, the first of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let least = [3.0, 1.0].par_iter().min_by(|a: &&f32, b| a.total_cmp(b));
    /// assert_eq!(least, Some(&1.0));
    /// ```
    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        parts!(self, |items| items.by_ref().min_by(&f)).flatten().min_by(&f)
    }

    /// The item with the least key, the first of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([-3, 2].par_iter().min_by_key(|n: &&i32| n.abs()), Some(&2));
    /// ```
    fn min_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(|item| (f(&item), item));
        keyed.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// The greatest item, the last of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([3, 1, 2].par_iter().max(), Some(&3));
    /// ```
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Self::Item::cmp)
    }

    /// The greatest item by an order, the last of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let top = [3.0, 1.0].par_iter().max_by(|a: &&f32, b| a.total_cmp(b));
    /// assert_eq!(top, Some(&3.0));
    /// ```
    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        parts!(self, |items| items.by_ref().max_by(&f)).flatten().max_by(&f)
    }

    /// The item with the greatest key, the last of equals.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!([-3, 2].par_iter().max_by_key(|n: &&i32| n.abs()), Some(&-3));
    /// ```
    fn max_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(|item| (f(&item), item));
        keyed.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// An item that fits, not always the first. Once there is one, the other
    /// parts give up.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((0..100).into_par_iter().find_any(|n| n * n == 49), Some(7));
    /// ```
    fn find_any<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_any(|item| predicate(&item).then_some(item))
    }

    /// The first item that fits.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert_eq!((0..100).into_par_iter().find_first(|n| n % 30 == 29), Some(29));
    /// ```
    fn find_first<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_first(|item| predicate(&item).then_some(item))
    }

    /// Something that `predicate` makes of an item, not always of the first
    /// that it makes something of.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let number = ["x", "7"].par_iter().find_map_any(|s| s.parse::<i32>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        let (whole, parts, stop) = (Whole::new(self), Gather::new(), Stop::new());
        let iter = whole.iter();
        whole.drive(|first, part| {
            let mut items = iter.serial(first, part).take_while(|_| !stop.anywhere());
            if let Some(found) = items.find_map(&predicate) {
                stop.found(first);
                parts.put(first, found);
            }
        });
        parts.in_order().next()
    }

    /// What `predicate` makes of the first item that it makes something of.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let number = ["x", "7", "8"].par_iter().find_map_first(|s| s.parse::<i32>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        let (whole, parts, stop) = (Whole::new(self), Gather::new(), Stop::new());
        let iter = whole.iter();
        whole.drive(|first, part| {
            let mut items = iter.serial(first, part).take_while(|_| !stop.before(first));
            if let Some(found) = items.find_map(&predicate) {
                stop.found(first);
                parts.put(first, found);
            }
        });
        parts.in_order().next()
    }

    /// Whether some item fits.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert!([0.0, f32::NAN].par_iter().any(|x| x.is_nan()));
    /// ```
    fn any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        self.find_map_any(|item| predicate(item).then_some(())).is_some()
    }

    /// Whether all items fit.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// assert!([0.0f32, 1.0].par_iter().all(|x| x.is_finite()));
    /// ```
    fn all<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        !self.any(|item| !predicate(item))
    }

    /// Collects the items, in order.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let doubled: Vec<i32> = [1, 2, 3].par_iter().map(|n| n * 2).collect();
    /// assert_eq!(doubled, [2, 4, 6]);
    /// ```
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// Collects pairs into two collections.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let (n, squares): (Vec<i32>, Vec<i32>) = (0..3).into_par_iter().map(|n| (n, n * n)).unzip();
    /// assert_eq!((n, squares), (vec![0, 1, 2], vec![0, 1, 4]));
    /// ```
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        let mut both = (FromA::default(), FromB::default());
        for part in vectors(self) {
            let (a, b): (Vec<A>, Vec<B>) = part.into_iter().unzip();
            both.0.par_extend(a);
            both.1.par_extend(b);
        }
        both
    }

    /// Collects the items that fit into one collection and the others into
    /// another, each in order.
    ///
    /// ```
    /// use rowpool::rayon::prelude::*;
    /// let (odd, even): (Vec<i32>, Vec<i32>) = (0..5).into_par_iter().partition(|n| n % 2 == 1);
    /// assert_eq!((odd, even), (vec![1, 3], vec![0, 2, 4]));
    /// ```
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        let mut both = (A::default(), B::default());
        for part in vectors(self) {
            let (fit, rest): (Vec<_>, Vec<_>) = part.into_iter().partition(&predicate);
            both.0.par_extend(fit);
            both.1.par_extend(rest);
        }
        both
    }
}

impl<T: Iterate> ParallelIterator for T {
    type Item = T::Of;
}
