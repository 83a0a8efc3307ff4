//! How each shape takes its data apart: the only slice unsafe. A shape is
//! split into contiguous ranges of items, one per slot (see `partition`), and
//! hands `&mut` to the items of its own range only.

use crate::partition::{unit, Split};
use crate::pool::{Args, Pool, Shape};
use std::marker::PhantomData;
use std::ops::Range;

/// One range of indices per slot; no data.
pub(crate) struct Ranges;

/// Single indices; no data.
pub(crate) struct Indices;

/// Single slots: one each on the active ones, whatever their weight.
pub(crate) struct Slots;

/// Opens a region over indices.
#[inline(always)]
pub(crate) fn indices<S, F>(pool: &Pool, work: Option<u64>, n: usize, f: F)
where
    S: Shape<F> + Dataless,
    F: Sync,
{
    if n > 0 {
        let args = Args::new(std::ptr::null_mut(), n, 1, 1);
        // SAFETY: there is no data.
        unsafe { pool.fork::<S, F>(n, work, args, &f) };
    }
}

/// A shape that never looks behind `Args::base`.
pub(crate) trait Dataless {}
impl Dataless for Ranges {}
impl Dataless for Indices {}
impl Dataless for Slots {}

// SAFETY: touches no data.
unsafe impl<F: Fn(usize) + Sync> Shape<F> for Slots {
    #[inline(always)]
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>) {
        Split { weights: None, ..split }.range(args.len, slot, 1).for_each(f);
    }
}

// SAFETY: touches no data.
unsafe impl<F: Fn(Range<usize>) + Sync> Shape<F> for Ranges {
    #[inline(always)]
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>) {
        let range = split.range(args.len, slot, 1);
        if !range.is_empty() {
            f(range);
        }
    }
}

// SAFETY: touches no data.
unsafe impl<F: Fn(usize) + Sync> Shape<F> for Indices {
    #[inline(always)]
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>) {
        split.range(args.len, slot, 1).for_each(f);
    }
}

/// Single elements of a slice.
pub(crate) struct Rows<T>(PhantomData<T>);

/// One part of a slice per slot, with the index of its first element.
pub(crate) struct Parts<T>(PhantomData<T>);

/// Opens a region over the elements of a slice.
#[inline(always)]
pub(crate) fn elements<S, T, F>(pool: &Pool, work: Option<u64>, rows: &mut [T], f: F)
where
    S: Shape<F> + Elements<T>,
    T: Send,
    F: Sync,
{
    let n = rows.len();
    if n > 0 {
        let args = Args::new(rows.as_mut_ptr().cast(), n, 1, unit(size_of::<T>(), 1));
        // SAFETY: `rows` is borrowed mutably until the call returns, and is the
        // slice of `T` that an `Elements<T>` expects.
        unsafe { pool.fork::<S, F>(n, work, args, &f) };
    }
}

/// A shape that expects a `[T]` behind `Args::base` and `len`.
pub(crate) trait Elements<T> {}
impl<T> Elements<T> for Rows<T> {}
impl<T> Elements<T> for Parts<T> {}

// SAFETY: a slot touches the elements of its own range; ranges of different
// slots of one split do not overlap. Elements go to other threads: `T: Send`.
unsafe impl<T: Send, F: Fn(usize, &mut [T]) + Sync> Shape<F> for Parts<T> {
    #[inline(always)]
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>) {
        let rows = split.range(args.len, slot, args.unit);
        if !rows.is_empty() {
            // SAFETY: as for `Rows`.
            f(rows.start, unsafe { part::<T>(args, rows) });
        }
    }
}

// SAFETY: a slot touches the elements of its own range; ranges of different
// slots of one split do not overlap. Elements go to other threads: `T: Send`.
unsafe impl<T: Send, F: Fn(usize, &mut T) + Sync> Shape<F> for Rows<T> {
    #[inline(always)]
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>) {
        let rows = split.range(args.len, slot, args.unit);
        // SAFETY: by the contract `base` and `len` are those of a `[T]` that is
        // mutably borrowed for this region; no other slot has this range, and
        // this one runs once.
        let part = unsafe { part::<T>(args, rows.clone()) };
        rows.zip(part).for_each(|(row, out)| f(row, out));
    }
}

/// Chunks of a slice, the last of which may be short, with scratch.
pub(crate) struct Chunks<T>(PhantomData<T>);

impl<T: Send> Chunks<T> {
    /// `chunk_len` is above 0.
    #[inline(always)]
    pub(crate) fn fork<S, I, F>(
        pool: &Pool,
        work: Option<u64>,
        data: &mut [T],
        chunk_len: usize,
        f: (I, F),
    ) where
        I: Fn() -> S + Sync,
        F: Fn(&mut S, usize, &mut [T]) + Sync,
    {
        let len = data.len();
        if len > 0 {
            let args = Args::new(
                data.as_mut_ptr().cast(),
                len,
                chunk_len,
                unit(size_of::<T>(), chunk_len),
            );
            // SAFETY: `data` is borrowed mutably until the call returns, and is
            // a slice of `T`.
            unsafe { pool.fork::<Chunks<T>, (I, F)>(len.div_ceil(chunk_len), work, args, &f) };
        }
    }
}

// SAFETY: a slot touches the elements of its own chunks; ranges of different
// slots of one split do not overlap, nor do chunks. Elements go to other
// threads: `T: Send`.
unsafe impl<T: Send, S, I, F> Shape<(I, F)> for Chunks<T>
where
    I: Fn() -> S + Sync,
    F: Fn(&mut S, usize, &mut [T]) + Sync,
{
    #[inline(always)]
    unsafe fn run_slot(args: &Args, (init, f): &(I, F), slot: usize, split: Split<'_>) {
        let Args { len, chunk, unit, .. } = *args;
        let chunks = split.range(len.div_ceil(chunk), slot, unit);
        if chunks.is_empty() {
            return;
        }
        // The last chunk may reach past the end, and past `usize`; no start
        // does.
        let end = chunks.end.saturating_mul(chunk).min(len);
        // SAFETY: as for `Rows`, with the elements of this slot's chunks.
        let part = unsafe { part::<T>(args, chunks.start * chunk..end) };
        // Dropped here, before the slot is reported.
        let mut state = init();
        chunks.zip(part.chunks_mut(chunk)).for_each(|(i, chunk)| f(&mut state, i, chunk));
    }
}

/// The elements `range` of the region's slice.
///
/// # Safety
/// `args` hold the start and length of a `[T]` that is mutably borrowed for as
/// long as the result is used, and nobody else uses these elements meanwhile.
#[inline(always)]
unsafe fn part<'a, T>(args: &Args, range: Range<usize>) -> &'a mut [T] {
    assert!(range.start <= range.end && range.end <= args.len, "a slot lies within its slice");
    // SAFETY: in bounds (asserted) of a live slice that nobody else uses here
    // (contract).
    unsafe { std::slice::from_raw_parts_mut(args.base.cast::<T>().add(range.start), range.len()) }
}
