//! Iterators made from iterators: how each turns the items of a part into its
//! own. A part is worked off in order, so these are the serial adapters of the
//! standard library.

use super::{IntoParallelIterator, ParallelIterator};
use crate::rayon::raw::{of_base, Exact, Iterate, Source};
use crate::sync::StaticMutex;

/// An adapter: its documentation, its fields after `base`, and whether it keeps
/// one item per position.
macro_rules! adapter {
    ($(#[$doc:meta])* $name:ident $(<$($F:ident: $field:ident),+>)?) => {
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "iterators do nothing until they are consumed"]
        pub struct $name<I $($(, $F)+)?> {
            pub(in crate::rayon) base: I,
            $($(pub(in crate::rayon) $field: $F,)+)?
        }

        impl<I: std::fmt::Debug $($(, $F)+)?> std::fmt::Debug for $name<I $($(, $F)+)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("base", &self.base).finish_non_exhaustive()
            }
        }
    };
}

type Part<'a, I> = <<I as Iterate>::Source as Source>::Part<'a>;

adapter! {
    /// What [`map`](ParallelIterator::map) makes.
    Map<F: f>
}

impl<I: Iterate, R: Send, F: Fn(I::Of) -> R + Sync + Send> Iterate for Map<I, F> {
    of_base!(I);
    type Of = R;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = R> {
        self.base.serial(first, part).map(&self.f)
    }
}
impl<I: Exact, R: Send, F: Fn(I::Of) -> R + Sync + Send> Exact for Map<I, F> {}

adapter! {
    /// What [`map_init`](ParallelIterator::map_init) makes.
    MapInit<N: init, F: f>
}

impl<I, R, S, N, F> Iterate for MapInit<I, N, F>
where
    I: Iterate,
    R: Send,
    N: Fn() -> S + Sync + Send,
    F: Fn(&mut S, I::Of) -> R + Sync + Send,
{
    of_base!(I);
    type Of = R;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = R> {
        let mut state = (self.init)();
        self.base.serial(first, part).map(move |item| (self.f)(&mut state, item))
    }
}
impl<I, R, S, N, F> Exact for MapInit<I, N, F>
where
    I: Exact,
    R: Send,
    N: Fn() -> S + Sync + Send,
    F: Fn(&mut S, I::Of) -> R + Sync + Send,
{
}

/// What [`map_with`](ParallelIterator::map_with) makes.
#[derive(Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct MapWith<I, T, F> {
    pub(super) base: I,
    pub(super) init: StaticMutex<T>,
    pub(super) f: F,
}

impl<I, T, R, F> Iterate for MapWith<I, T, F>
where
    I: Iterate,
    T: Send + Clone,
    R: Send,
    F: Fn(&mut T, I::Of) -> R + Sync + Send,
{
    of_base!(I);
    type Of = R;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = R> {
        let mut state = self.init.lock().clone();
        self.base.serial(first, part).map(move |item| (self.f)(&mut state, item))
    }
}
impl<I, T, R, F> Exact for MapWith<I, T, F>
where
    I: Exact,
    T: Send + Clone,
    R: Send,
    F: Fn(&mut T, I::Of) -> R + Sync + Send,
{
}

adapter! {
    /// What [`inspect`](ParallelIterator::inspect) makes.
    Inspect<F: f>
}

impl<I: Iterate, F: Fn(&I::Of) + Sync + Send> Iterate for Inspect<I, F> {
    of_base!(I);
    type Of = I::Of;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = I::Of> {
        self.base.serial(first, part).inspect(&self.f)
    }
}
impl<I: Exact, F: Fn(&I::Of) + Sync + Send> Exact for Inspect<I, F> {}

adapter! {
    /// What [`cloned`](ParallelIterator::cloned) makes.
    Cloned
}

impl<'d, T, I> Iterate for Cloned<I>
where
    T: 'd + Clone + Send + Sync,
    I: Iterate<Of = &'d T>,
{
    of_base!(I);
    type Of = T;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = T> {
        self.base.serial(first, part).cloned()
    }
}
impl<'d, T: 'd + Clone + Send + Sync, I: Exact<Of = &'d T>> Exact for Cloned<I> {}

adapter! {
    /// What [`copied`](ParallelIterator::copied) makes.
    Copied
}

impl<'d, T, I> Iterate for Copied<I>
where
    T: 'd + Copy + Send + Sync,
    I: Iterate<Of = &'d T>,
{
    of_base!(I);
    type Of = T;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = T> {
        self.base.serial(first, part).copied()
    }
}
impl<'d, T: 'd + Copy + Send + Sync, I: Exact<Of = &'d T>> Exact for Copied<I> {}

adapter! {
    /// What [`filter`](ParallelIterator::filter) makes.
    Filter<F: f>
}

impl<I: Iterate, F: Fn(&I::Of) -> bool + Sync + Send> Iterate for Filter<I, F> {
    of_base!(I);
    type Of = I::Of;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = I::Of> {
        self.base.serial(first, part).filter(&self.f)
    }
}

adapter! {
    /// What [`filter_map`](ParallelIterator::filter_map) makes.
    FilterMap<F: f>
}

impl<I: Iterate, R: Send, F: Fn(I::Of) -> Option<R> + Sync + Send> Iterate for FilterMap<I, F> {
    of_base!(I);
    type Of = R;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = R> {
        self.base.serial(first, part).filter_map(&self.f)
    }
}

adapter! {
    /// What [`flat_map_iter`](ParallelIterator::flat_map_iter) makes.
    FlatMapIter<F: f>
}

impl<I, S, F> Iterate for FlatMapIter<I, F>
where
    I: Iterate,
    S: IntoIterator<Item: Send>,
    F: Fn(I::Of) -> S + Sync + Send,
{
    of_base!(I);
    type Of = S::Item;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = S::Item> {
        self.base.serial(first, part).flat_map(&self.f)
    }
}

adapter! {
    /// What [`flatten_iter`](ParallelIterator::flatten_iter) makes.
    FlattenIter
}

impl<I: Iterate<Of: IntoIterator<Item: Send>>> Iterate for FlattenIter<I> {
    of_base!(I);
    type Of = <I::Of as IntoIterator>::Item;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = Self::Of> {
        self.base.serial(first, part).flatten()
    }
}

adapter! {
    /// What [`flat_map`](ParallelIterator::flat_map) makes.
    FlatMap<F: f>
}

impl<I, P, F> Iterate for FlatMap<I, F>
where
    I: Iterate,
    P: IntoParallelIterator,
    F: Fn(I::Of) -> P + Sync + Send,
{
    of_base!(I);
    type Of = P::Item;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = P::Item> {
        self.base.serial(first, part).flat_map(|item| items((self.f)(item)))
    }
}

adapter! {
    /// What [`flatten`](ParallelIterator::flatten) makes.
    Flatten
}

impl<I: Iterate<Of: IntoParallelIterator>> Iterate for Flatten<I> {
    of_base!(I);
    type Of = <I::Of as IntoParallelIterator>::Item;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = Self::Of> {
        self.base.serial(first, part).flat_map(items)
    }
}

/// The items of an inner iterator. Inside a region it runs inline.
fn items<P: IntoParallelIterator>(inner: P) -> Vec<P::Item> {
    inner.into_par_iter().collect()
}

adapter! {
    /// What [`fold`](ParallelIterator::fold) makes.
    Fold<N: identity, F: f>
}

impl<I, T, N, F> Iterate for Fold<I, N, F>
where
    I: Iterate,
    T: Send,
    N: Fn() -> T + Sync + Send,
    F: Fn(T, I::Of) -> T + Sync + Send,
{
    of_base!(I);
    type Of = T;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = T> {
        std::iter::once(self.base.serial(first, part).fold((self.identity)(), &self.f))
    }
}

adapter! {
    /// What [`enumerate`](super::IndexedParallelIterator::enumerate) makes.
    Enumerate
}

impl<I: Exact> Iterate for Enumerate<I> {
    of_base!(I);
    type Of = (usize, I::Of);
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = Self::Of> {
        // Not `(first..).zip`: that checks both ends at each item.
        self.base.serial(first, part).enumerate().map(move |(i, item)| (first + i, item))
    }
}
impl<I: Exact> Exact for Enumerate<I> {}

/// What [`with_min_len`](super::IndexedParallelIterator::with_min_len) makes.
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct MinLen<I> {
    pub(super) base: I,
    pub(super) min: usize,
}

impl<I: Exact> Iterate for MinLen<I> {
    type Source = I::Source;
    type Of = I::Of;
    fn source(&self) -> &I::Source {
        self.base.source()
    }
    fn min_len(&self) -> usize {
        self.base.min_len().max(self.min)
    }
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = I::Of> {
        self.base.serial(first, part)
    }
}
impl<I: Exact> Exact for MinLen<I> {}

adapter! {
    /// What [`with_max_len`](super::IndexedParallelIterator::with_max_len) makes.
    MaxLen
}

impl<I: Exact> Iterate for MaxLen<I> {
    of_base!(I);
    type Of = I::Of;
    #[inline]
    fn serial<'a>(&'a self, first: usize, part: Part<'a, I>) -> impl Iterator<Item = I::Of> {
        self.base.serial(first, part)
    }
}
impl<I: Exact> Exact for MaxLen<I> {}

/// What [`zip`](super::IndexedParallelIterator::zip) makes.
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until they are consumed"]
pub struct Zip<A, B> {
    pub(in crate::rayon) a: A,
    pub(in crate::rayon) b: B,
}

impl<A: Exact, B: Exact> Iterate for Zip<A, B> {
    type Of = (A::Of, B::Of);
    type Source = Self;
    fn source(&self) -> &Self {
        self
    }
    fn min_len(&self) -> usize {
        self.a.min_len().max(self.b.min_len())
    }
    #[inline]
    fn serial<'a>(
        &'a self,
        first: usize,
        (a, b): <Self as Source>::Part<'a>,
    ) -> impl Iterator<Item = Self::Of> {
        self.a.serial(first, a).zip(self.b.serial(first, b))
    }
}
impl<A: Exact, B: Exact> Exact for Zip<A, B> {}
