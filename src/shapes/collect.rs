//! Values made in the slots, each written to its place in a new `Vec` once:
//! no `Default`, no second copy.

use crate::partition::{unit, Split};
use crate::pool::{Pool, Region};
use crate::sync::{AtomicUsize, Mutex, Ordering};
use std::mem::needs_drop;
use std::ops::Range;

/// Room for values, and which of them are there, as far as slots have ended.
/// Dropping it drops those; the memory is its owner's.
struct Room<T> {
    base: *mut T,
    len: usize,
    /// Ranges that hold values. Kept where values have to be dropped.
    filled: Mutex<Vec<Range<usize>>>,
}

// SAFETY: slots write values of their own ranges (`Prefix`), on their threads,
// and the owner of the room takes them back after the region: `T: Send`.
unsafe impl<T: Send> Sync for Room<T> {}

impl<T> Room<T> {
    /// The spare room of `values`, for `len` of them, in at most so many slots.
    fn new(values: &mut Vec<T>, len: usize, slots: usize) -> Self {
        let spare = values.spare_capacity_mut();
        assert!(len <= spare.len(), "there is room for all");
        let filled = Mutex::default();
        if needs_drop::<T>() {
            *filled.lock() = Vec::with_capacity(slots);
        }
        Room { base: spare.as_mut_ptr().cast(), len, filled }
    }

    /// Gives the values to the owner of the room.
    fn release(self) {
        self.filled.lock().clear();
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        for Range { start, end } in std::mem::take(&mut *self.filled.lock()) {
            let first = self.base.wrapping_add(start);
            let values = std::ptr::slice_from_raw_parts_mut(first, end - start);
            // SAFETY: these places hold values (`Prefix::keep`), in bounds, each
            // in one range, and nobody else has them: `release` forgets the
            // ranges.
            unsafe { values.drop_in_place() };
        }
    }
}

/// The values that a slot has written so far; drops them unless they are kept.
struct Prefix<'a, T> {
    room: &'a Room<T>,
    range: Range<usize>,
    /// The first place that is still empty.
    next: usize,
}

impl<'a, T> Prefix<'a, T> {
    /// # Safety
    /// Nobody else uses the places of `range` while this lives, nor afterwards
    /// what it keeps.
    #[inline(always)]
    unsafe fn new(room: &'a Room<T>, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= room.len, "a slot lies within its room");
        Prefix { room, next: range.start, range }
    }

    #[inline(always)]
    fn push(&mut self, value: T) {
        debug_assert!(self.next < self.range.end);
        // SAFETY: in bounds (asserted by `new`), ours (its contract), empty.
        unsafe { self.room.base.add(self.next).write(value) };
        self.next += 1;
    }

    /// Leaves the values to the room.
    #[inline(always)]
    fn keep(mut self) {
        if needs_drop::<T>() && self.range.start < self.next {
            self.room.filled.lock().push(self.range.start..self.next);
        }
        self.next = self.range.start;
    }
}

impl<T> Drop for Prefix<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let len = self.next - self.range.start;
        // SAFETY: in bounds, written by `push` and not kept.
        unsafe {
            let first = self.room.base.add(self.range.start);
            std::ptr::slice_from_raw_parts_mut(first, len).drop_in_place();
        }
    }
}

/// Makes all values.
struct Collect<'a, T, F> {
    room: &'a Room<T>,
    f: F,
}

/// `f(0), .., f(n - 1)`.
#[inline(always)]
pub(crate) fn collect<T: Send>(
    pool: &Pool,
    work: Option<u64>,
    n: usize,
    f: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let mut values = Vec::with_capacity(n);
    if n == 0 {
        return values;
    }
    // Dropped before `values`, if the region panics.
    let room = Room::new(&mut values, n, pool.num_threads());
    // SAFETY: the room, `f` and what it borrows outlive the call.
    unsafe { pool.fork(n, work, Collect { room: &room, f }) };
    room.release();
    // SAFETY: every slot has ended without a panic, so each of the `n` places
    // was written, and the room has given the values up.
    unsafe { values.set_len(n) };
    values
}

// SAFETY: a slot writes to the places of its own range; ranges of different
// slots of one split do not overlap.
unsafe impl<T: Send, F: Fn(usize) -> T + Sync> Region for Collect<'_, T, F> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let range = split.range(self.room.len, slot, const { unit(size_of::<T>(), 1) });
        if range.is_empty() {
            return;
        }
        // SAFETY: no other slot has this range, and this one runs once
        // (contract).
        let mut values = unsafe { Prefix::new(self.room, range.clone()) };
        range.for_each(|i| values.push((self.f)(i)));
        values.keep();
    }
}

/// Makes values until one fails.
struct TryCollect<'a, T, E, F> {
    room: &'a Room<T>,
    failed: &'a Failed<E>,
    f: F,
}

/// The failure with the lowest index so far.
struct Failed<E> {
    /// Its index, or `usize::MAX`: what comes after it is in vain.
    lowest: AtomicUsize,
    error: Mutex<Option<(usize, E)>>,
}

impl<E> Failed<E> {
    #[cold]
    fn note(&self, index: usize, error: E) {
        let mut lowest = self.error.lock();
        let older = match &*lowest {
            Some((at, _)) if *at < index => Some((index, error)),
            _ => {
                // Relaxed: saves the others work, orders nothing.
                self.lowest.store(index, Ordering::Relaxed);
                lowest.replace((index, error))
            }
        };
        // The user's drop is not run under the lock.
        drop(lowest);
        drop(older);
    }
}

/// `f(0), .., f(n - 1)`, or the error with the lowest index.
#[inline(always)]
pub(crate) fn try_collect<T: Send, E: Send>(
    pool: &Pool,
    work: Option<u64>,
    n: usize,
    f: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut values = Vec::with_capacity(n);
    if n == 0 {
        return Ok(values);
    }
    let failed = Failed { lowest: AtomicUsize::new(usize::MAX), error: Mutex::default() };
    // Dropped before `values`, if the region panics or a value fails.
    let room = Room::new(&mut values, n, pool.num_threads());
    // SAFETY: the room, `failed`, `f` and what it borrows outlive the call.
    unsafe { pool.fork(n, work, TryCollect { room: &room, failed: &failed, f }) };
    let error = failed.error.lock().take();
    if let Some((_, error)) = error {
        return Err(error);
    }
    room.release();
    // SAFETY: every slot has ended, without a panic and without a failure, so
    // each of the `n` places was written, and the room has given the values up.
    unsafe { values.set_len(n) };
    Ok(values)
}

// SAFETY: as for `Collect`; what fails goes through a lock, and `E: Send`.
unsafe impl<T: Send, E: Send, F> Region for TryCollect<'_, T, E, F>
where
    F: Fn(usize) -> Result<T, E> + Sync,
{
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let range = split.range(self.room.len, slot, const { unit(size_of::<T>(), 1) });
        if range.is_empty() {
            return;
        }
        // SAFETY: no other slot has this range, and this one runs once
        // (contract).
        let mut values = unsafe { Prefix::new(self.room, range.clone()) };
        for i in range {
            // Nothing below the lowest failure is ever skipped, so that it is
            // the same in each run. Relaxed: see `note`.
            if self.failed.lowest.load(Ordering::Relaxed) < i {
                break;
            }
            match (self.f)(i) {
                Ok(value) => values.push(value),
                Err(error) => {
                    self.failed.note(i, error);
                    break;
                }
            }
        }
        values.keep();
    }
}
