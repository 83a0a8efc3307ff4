//! The unsafe part of the face: what a region takes apart, each position
//! handed out once, and which pool the calling thread works for.

use super::iter::Zip;
use crate::pool::Pool;
use crate::sync::StaticMutex;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// Something with positions `0..positions()` that is taken apart by ranges.
///
/// Sealed: the module is private, so that only this file implements it.
pub trait Source: Sync {
    /// What a range of positions is handed out as; never outlives the source.
    type Part<'a>
    where
        Self: 'a;

    fn positions(&self) -> usize;

    /// Boundaries of parts had better be multiples of this.
    fn unit(&self) -> u32 {
        1
    }

    /// Hands a range of positions out.
    ///
    /// # Safety
    /// The range lies within `0..positions()`, and no position of it has been
    /// handed out by this source before.
    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_>;
}

/// The common core of all parallel iterators: a source, and how a part of it
/// becomes items.
///
/// Sealed as [`Source`] is. An implementation hands out the source that it
/// owns, its own field or that of the iterator it is made of: see [`Whole`].
pub trait Iterate: Sized + Send + Sync {
    type Of: Send;
    type Source: Source;

    fn source(&self) -> &Self::Source;

    /// The items of a part that begins at position `first`.
    fn serial<'a>(
        &'a self,
        first: usize,
        part: <Self::Source as Source>::Part<'a>,
    ) -> impl Iterator<Item = Self::Of>;

    /// Positions that a part should have at least.
    fn min_len(&self) -> usize {
        1
    }
}

/// Marks iterators with one item per position.
pub trait Exact: Iterate {}

/// The methods of [`Iterate`] that an adapter of one iterator passes on.
macro_rules! of_base {
    ($I:ident) => {
        type Source = $I::Source;
        fn source(&self) -> &$I::Source {
            self.base.source()
        }
        fn min_len(&self) -> usize {
            self.base.min_len()
        }
    };
}
pub(super) use of_base;

/// An iterator that owns its source, and gives each position out once.
pub(super) struct Whole<I> {
    iter: I,
    started: Cell<bool>,
}

impl<I: Iterate> Whole<I> {
    pub(super) fn new(iter: I) -> Self {
        Whole { iter, started: Cell::new(false) }
    }

    pub(super) fn iter(&self) -> &I {
        &self.iter
    }

    /// Calls `f(first, part)` with parts that cover all positions, as one
    /// region of the current pool; with one empty part if there are none.
    #[inline]
    pub(super) fn drive<'a>(&'a self, f: impl Fn(usize, <I::Source as Source>::Part<'a>) + Sync) {
        assert!(!self.started.replace(true), "an iterator is run once");
        let source = self.iter.source();
        let positions = source.positions();
        super::region::ranges(positions, self.iter.min_len(), source.unit(), |range| {
            assert!(range.start <= range.end && range.end <= positions, "a range of the source");
            // SAFETY: in bounds: asserted. Not before this call: `iter` owns its
            // source (`Iterate`), came here by value, and `started` lets one call
            // through. Not twice by this call: `ranges` calls with ranges that do
            // not overlap, each once (its contract, and `for_each_range`'s). Parts
            // do not outlive the source: they borrow `self`.
            f(range.start, unsafe { source.part(range) });
        });
    }
}

/// Positions without data: ranges of numbers, and slices that are only read.
#[derive(Clone, Debug)]
pub struct Positions(pub(super) usize);

impl Source for Positions {
    type Part<'a> = Range<usize>;

    fn positions(&self) -> usize {
        self.0
    }

    unsafe fn part(&self, range: Range<usize>) -> Range<usize> {
        range
    }
}

/// A mutable slice in chunks; a position is a chunk, the last of which may be
/// short.
#[derive(Debug)]
pub struct Rows<'data, T> {
    base: *mut T,
    len: usize,
    chunk: usize,
    slice: PhantomData<&'data mut [T]>,
}

// SAFETY: stands for a `&'data mut [T]`, which may be sent where `T: Send`.
unsafe impl<T: Send> Send for Rows<'_, T> {}
// SAFETY: what shared access gives is `part`, exclusive access to elements of
// type `T: Send` that nobody else is given (contract).
unsafe impl<T: Send> Sync for Rows<'_, T> {}

impl<'data, T> Rows<'data, T> {
    /// `chunk` is above 0.
    pub(super) fn new(slice: &'data mut [T], chunk: usize) -> Self {
        assert!(chunk > 0, "a chunk has elements");
        Rows { base: slice.as_mut_ptr(), len: slice.len(), chunk, slice: PhantomData }
    }

    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }
}

impl<'data, T: Send> Source for Rows<'data, T> {
    type Part<'a>
        = &'data mut [T]
    where
        Self: 'a;

    fn positions(&self) -> usize {
        self.len.div_ceil(self.chunk)
    }

    fn unit(&self) -> u32 {
        crate::partition::unit(size_of::<T>(), self.chunk)
    }

    unsafe fn part(&self, range: Range<usize>) -> &'data mut [T] {
        // No chunk begins past the end, but the last may reach past it.
        let start = range.start.saturating_mul(self.chunk).min(self.len);
        let end = range.end.saturating_mul(self.chunk).min(self.len);
        // SAFETY:
        // - In bounds: `start <= end <= len`.
        // - Alive for `'data`, and borrowed by `self` alone: `new`.
        // - Unique: no chunk is handed out twice (contract), and different
        //   chunks have no element in common.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(start), end - start) }
    }
}

/// A vector whose elements are moved out; those that are not are dropped with
/// it.
#[derive(Debug)]
pub struct Items<T> {
    base: *mut T,
    len: usize,
    capacity: usize,
    /// What has been handed out: no longer ours to drop.
    taken: StaticMutex<Vec<Range<usize>>>,
}

// SAFETY: owns a `Vec<T>`.
unsafe impl<T: Send> Send for Items<T> {}
// SAFETY: what shared access gives is `part`, which moves elements of type
// `T: Send` out, each once (contract); `taken` has its lock.
unsafe impl<T: Send> Sync for Items<T> {}

impl<T> Items<T> {
    pub(super) fn new(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        Items {
            base: vec.as_mut_ptr(),
            len: vec.len(),
            capacity: vec.capacity(),
            taken: StaticMutex::new(Vec::new()),
        }
    }
}

impl<T: Send> Source for Items<T> {
    type Part<'a>
        = Moved<'a, T>
    where
        Self: 'a;

    fn positions(&self) -> usize {
        self.len
    }

    unsafe fn part(&self, range: Range<usize>) -> Moved<'_, T> {
        // From here on the part drops these elements.
        self.taken.lock().push(range.clone());
        Moved { base: self.base, left: range, owner: PhantomData }
    }
}

impl<T> Drop for Items<T> {
    fn drop(&mut self) {
        let mut taken = std::mem::take(self.taken.get_mut());
        taken.sort_unstable_by_key(|range| range.start);
        // SAFETY: the parts of a `Vec<T>` that `new` took apart; of length 0,
        // so that it frees the allocation and drops no element.
        let _allocation = unsafe { Vec::from_raw_parts(self.base, 0, self.capacity) };
        let starts = std::iter::once(0).chain(taken.iter().map(|range| range.end));
        let ends = taken.iter().map(|range| range.start).chain([self.len]);
        // Dropped together: a panic in one does not keep the others.
        let _rest: Vec<Moved<'_, T>> = starts
            .zip(ends)
            .map(|(start, end)| Moved { base: self.base, left: start..end, owner: PhantomData })
            .collect();
    }
}

/// Elements that are moved out of an [`Items`], or dropped with this.
#[derive(Debug)]
pub struct Moved<'a, T> {
    base: *mut T,
    left: Range<usize>,
    owner: PhantomData<(&'a (), T)>,
}

impl<T> Iterator for Moved<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: `left` lies within the vector, whose allocation is alive (`'a`
        // or `Items::drop`); this alone has these elements, and `left` no longer
        // has the one that is read.
        self.left.next().map(|at| unsafe { self.base.add(at).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> Drop for Moved<'_, T> {
    fn drop(&mut self) {
        let left = std::ptr::slice_from_raw_parts_mut(
            // SAFETY: within the vector, or one past its end.
            unsafe { self.base.add(self.left.start) },
            self.left.len(),
        );
        // SAFETY: as for `next`: these elements are initialised and only ours.
        unsafe { std::ptr::drop_in_place(left) };
    }
}

impl<A: Exact, B: Exact> Source for Zip<A, B> {
    type Part<'a>
        = (<A::Source as Source>::Part<'a>, <B::Source as Source>::Part<'a>)
    where
        Self: 'a;

    fn positions(&self) -> usize {
        self.a.source().positions().min(self.b.source().positions())
    }

    fn unit(&self) -> u32 {
        self.a.source().unit().max(self.b.source().unit())
    }

    unsafe fn part(&self, range: Range<usize>) -> Self::Part<'_> {
        // SAFETY: `positions` is at most either's, and a position that this has
        // not handed out before neither of them has: both are its own.
        unsafe { (self.a.source().part(range.clone()), self.b.source().part(range)) }
    }
}

thread_local! {
    /// The pool that the calling thread's loops go to, if it has been told.
    static POOL: Cell<Option<*const Pool>> = const { Cell::new(None) };
}

/// Runs `f` with `pool` as the calling thread's pool.
#[inline]
pub(super) fn with_pool<R>(pool: &Pool, f: impl FnOnce() -> R) -> R {
    struct Back {
        outer: Option<*const Pool>,
        own: *const Pool,
    }
    impl Drop for Back {
        fn drop(&mut self) {
            // As in the context of regions (S50): what is put back out of order may
            // name a pool that is gone.
            if POOL.get() != Some(self.own) {
                crate::pool::abort("a pool's frame was left out of order, by a coroutine perhaps");
            }
            POOL.set(self.outer);
        }
    }
    let _back = Back { outer: POOL.replace(Some(pool)), own: pool };
    f()
}

/// Calls `f` with the pool of the innermost [`with_pool`] that this thread is
/// in.
#[inline]
pub(super) fn current_pool<R>(f: impl FnOnce(Option<&Pool>) -> R) -> R {
    // SAFETY: the pointer is set for the time of a `with_pool` only, which
    // borrows the pool, and `f` ends before that does: both run on this thread.
    f(POOL.get().map(|pool| unsafe { &*pool }))
}
