//! The shapes: what the items of a region are, and how slots get theirs. Each
//! has one definition, in a file of this folder: its method, its documentation
//! and its way to take data apart. From there it is one step to the protocol:
//! [`open`](Pool::open) calls `Pool::fork`.
//!
//! The items are split into contiguous ranges, one per slot (`partition`); a
//! shape hands `&mut` to the items of a slot's own range only.

/// Defines a shape that is a free function too: a method of [`Pool`], and, with the
/// lines of an example behind `par:`, a function that [`par`](crate::par) lists.
macro_rules! shape {
    (
        $(#[$doc:meta])*
        pub fn $name:ident $(<$($of:ident $(: $bound:ident)?),+>)?
        (&$self:ident $(, $arg:ident: $ty:ty)* $(,)?) $(-> $value:ty)? $body:block
        par:
        $(#[doc = $line:literal])+
    ) => {
        impl $crate::Pool {
            $(#[$doc])*
            #[inline]
            pub fn $name $(<$($of $(: $bound)?),+>)? (&$self $(, $arg: $ty)*) $(-> $value)? $body
        }

        #[doc = concat!(
            " [`Pool::", stringify!($name), "`](crate::Pool::", stringify!($name), ")",
            " on the process-wide pool.\n\n ```",
        )]
        $(#[doc = $line])+
        #[doc = " ```"]
        #[inline]
        pub fn $name $(<$($of $(: $bound)?),+>)? ($($arg: $ty),*) $(-> $value)? {
            $crate::global().$name($($arg),*)
        }
    };
}

pub(crate) mod chunks;
pub(crate) mod collect;
pub(crate) mod indices;
pub(crate) mod join;
pub(crate) mod pairs;
pub(crate) mod reduce;
pub(crate) mod rows;
mod rows_of;
mod slots;
mod tiles;

pub use rows_of::Rows;

use crate::partition::Split;
use crate::pool::{Pool, Region};
use std::marker::PhantomData;
use std::ops::Range;

/// A region whose slots are calls of one closure.
struct Slots<F>(F);

// SAFETY: it touches what is `Sync` alone: a closure that gets at more does so
// by `Shared::part`, and says there why no other slot does.
unsafe impl<F: Fn(usize, Split<'_>) + Sync> Region for Slots<F> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        (self.0)(slot, split);
    }
}

impl Pool {
    /// Opens a region over `n` items, which are `work` multiply-adds together,
    /// where that is known: `f(slot, split)` is called once for each slot of one
    /// split. No items make no region.
    #[inline(always)]
    fn open(&self, n: usize, work: Option<u64>, f: impl Fn(usize, Split<'_>) + Sync) {
        if n > 0 {
            // SAFETY: `f` is moved into the call, so that what it borrows is
            // borrowed until that returns.
            unsafe { self.fork(n, work, Slots(f)) };
        }
    }
}

/// A slice that is mutably borrowed for a region, to be handed out in parts.
#[derive(Debug)]
struct Shared<'a, T> {
    base: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: all that can be done to it is `part`, whose contract makes each part
// one thread's; elements go to other threads: `T: Send`.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
// SAFETY: as the `&mut [T]` that it was.
unsafe impl<T: Send> Send for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    #[inline(always)]
    fn new(slice: &'a mut [T]) -> Self {
        Shared { base: slice.as_mut_ptr(), len: slice.len(), borrow: PhantomData }
    }

    /// The elements `range`.
    ///
    /// # Safety
    /// No two parts that are in use at a time have an element in common. So it
    /// is in a region where each slot takes the part that is its own by the
    /// region's split, once.
    #[inline(always)]
    unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "a slot lies within its slice");
        // SAFETY: in bounds (asserted) of a slice that is borrowed for `'a`,
        // where nobody else uses these elements (contract).
        unsafe { std::slice::from_raw_parts_mut(self.base.add(range.start), range.len()) }
    }
}

/// The elements of chunks that are not none, where `n` elements are chunked.
#[inline(always)]
fn elements(chunks: &Range<usize>, chunk_len: usize, n: usize) -> Range<usize> {
    // The last chunk may reach past the end, and past `usize`; no start does.
    chunks.start * chunk_len..chunks.end.saturating_mul(chunk_len).min(n)
}
