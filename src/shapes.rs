//! How each shape takes its data apart: the only slice unsafe. A shape is
//! split into contiguous ranges of items, one per slot (see `partition`), and
//! hands `&mut` to the items of its own range only.

mod collect;
mod fused;
mod once;
mod pairs;

pub(crate) use collect::{collect, try_collect};
pub(crate) use fused::fused;
pub use fused::Rows;
pub(crate) use once::{once2, once3};
pub(crate) use pairs::pairs;

use crate::partition::{unit, Split};
use crate::pool::{Pool, Region};
use std::marker::PhantomData;
use std::ops::Range;

/// One range of indices per slot.
struct Ranges<F> {
    n: usize,
    f: F,
}

/// Single slots: one each on the active ones, whatever their weight.
struct Slots<F> {
    n: usize,
    f: F,
}

/// Opens a region over ranges of `0..n`.
#[inline(always)]
pub(crate) fn ranges(pool: &Pool, work: Option<u64>, n: usize, f: impl Fn(Range<usize>) + Sync) {
    if n > 0 {
        // SAFETY: `f` and what it borrows outlive the call.
        unsafe { pool.fork(n, work, Ranges { n, f }) };
    }
}

/// Opens a region over the slots `0..n`.
#[inline(always)]
pub(crate) fn slots(pool: &Pool, work: Option<u64>, n: usize, f: impl Fn(usize) + Sync) {
    if n > 0 {
        // SAFETY: `f` and what it borrows outlive the call.
        unsafe { pool.fork(n, work, Slots { n, f }) };
    }
}

// SAFETY: touches what is `Sync` only.
unsafe impl<F: Fn(Range<usize>) + Sync> Region for Ranges<F> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let range = split.range(self.n, slot, 1);
        if !range.is_empty() {
            (self.f)(range);
        }
    }
}

// SAFETY: touches what is `Sync` only.
unsafe impl<F: Fn(usize) + Sync> Region for Slots<F> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        Split { weights: None, ..split }.range(self.n, slot, 1).for_each(&self.f);
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
    /// No two parts that are in use at a time have an element in common.
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

/// One part of a slice per slot.
struct Parts<'a, T, F> {
    rows: Shared<'a, T>,
    f: F,
}

/// Opens a region over parts of a slice: `f(first, part)` gets the index of
/// its first element.
#[inline(always)]
pub(crate) fn parts<T: Send>(
    pool: &Pool,
    work: Option<u64>,
    rows: &mut [T],
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    let n = rows.len();
    if n > 0 {
        // SAFETY: `rows`, `f` and what it borrows outlive the call.
        unsafe { pool.fork(n, work, Parts { rows: Shared::new(rows), f }) };
    }
}

// SAFETY: a slot touches the elements of its own range; ranges of different
// slots of one split do not overlap.
unsafe impl<T: Send, F: Fn(usize, &mut [T]) + Sync> Region for Parts<'_, T, F> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let rows = split.range(self.rows.len, slot, const { unit(size_of::<T>(), 1) });
        if !rows.is_empty() {
            // SAFETY: no other slot has this range, and this one runs once
            // (contract).
            (self.f)(rows.start, unsafe { self.rows.part(rows) });
        }
    }
}

/// Chunks of a slice, the last of which may be short, with scratch.
struct Chunks<'a, T, I, F> {
    data: Shared<'a, T>,
    /// Elements in a chunk, above 0.
    len: usize,
    init: I,
    f: F,
}

/// Opens a region over chunks of a slice; `chunk_len` is above 0.
#[inline(always)]
pub(crate) fn chunks<T: Send, S>(
    pool: &Pool,
    work: Option<u64>,
    data: &mut [T],
    chunk_len: usize,
    init: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    let n = data.len().div_ceil(chunk_len);
    if n > 0 {
        let region = Chunks { data: Shared::new(data), len: chunk_len, init, f };
        // SAFETY: `data`, the closures and what they borrow outlive the call.
        unsafe { pool.fork(n, work, region) };
    }
}

// SAFETY: a slot touches the elements of its own chunks; ranges of different
// slots of one split do not overlap, nor do chunks.
unsafe impl<T: Send, S, I, F> Region for Chunks<'_, T, I, F>
where
    I: Fn() -> S + Sync,
    F: Fn(&mut S, usize, &mut [T]) + Sync,
{
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let (n, len) = (self.data.len, self.len);
        let chunks = split.range(n.div_ceil(len), slot, unit(size_of::<T>(), len));
        if chunks.is_empty() {
            return;
        }
        // SAFETY: as for `Parts`, with the elements of this slot's chunks.
        let part = unsafe { self.data.part(elements(&chunks, len, n)) };
        // Dropped here, before the slot is reported.
        let mut state = (self.init)();
        chunks.zip(part.chunks_mut(len)).for_each(|(i, chunk)| (self.f)(&mut state, i, chunk));
    }
}
