//! Values made in the slots, each written to its place in a new `Vec` once:
//! no `Default`, no second copy.

use super::Shared;
use crate::partition::unit;
use crate::pool::Pool;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use std::mem::{forget, needs_drop, MaybeUninit};
use std::ops::Range;

shape! {
    /// A `Vec` of `f(0)`, .., `f(n - 1)`. Each value is written once, to its
    /// place, by the slot that made it.
    ///
    /// # Panics
    /// If `f` does: values that were made by then are dropped, once each, as a
    /// `Vec` of them would be. If `n` values are more than memory can hold.
    ///
    /// ```
    /// let names = rowpool::Pool::new(2)?.map_collect(3, |i| format!("head {i}"));
    /// assert_eq!(names, ["head 0", "head 1", "head 2"]);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn map_collect<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let values = self.gather(n, move |range, values| range.for_each(|i| values.push(f(i))));
        values.expect("all were made")
    }

    par:
    /// assert_eq!(rowpool::par::map_collect(3, |i| i.to_string()), ["0", "1", "2"]);
}

shape! {
    /// [`map_collect`](Self::map_collect) of what may fail.
    ///
    /// # Errors
    /// The error with the lowest index: the same in every run and at every
    /// width. Whether `f` is called for indices above it is unspecified; what
    /// it made of them is dropped, all of it even where one drop panics.
    ///
    /// # Panics
    /// As `map_collect`, errors or not.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let texts = ["1", "2", "three", "vier"];
    /// let numbers = pool.try_map_collect(2, |i| texts[i].parse::<u32>());
    /// assert_eq!(numbers, Ok(vec![1, 2]));
    /// let failed = pool.try_map_collect(4, |i| texts[i].parse::<u32>().map_err(|_| i));
    /// assert_eq!(failed, Err(2));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn try_map_collect<T: Send, E: Send>(
        &self,
        n: usize,
        f: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let failed = Failed { lowest: AtomicUsize::new(usize::MAX), error: Mutex::new(None) };
        let values = self.gather(n, |range, values| {
            for i in range {
                // Nothing below the lowest failure is ever skipped, so that it
                // is the same in each run. Relaxed: see `note`.
                if failed.lowest.load(Ordering::Relaxed) < i {
                    break;
                }
                match f(i) {
                    Ok(value) => values.push(value),
                    Err(error) => {
                        failed.note(i, error);
                        break;
                    }
                }
            }
        });
        values.ok_or_else(|| failed.error.into_inner().expect("a value is missing").1)
    }

    par:
    /// let odd = |i| if i % 2 == 0 { Ok(i) } else { Err(i) };
    /// assert_eq!(rowpool::par::try_map_collect(9, odd), Err(1));
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

/// The places of a slot, and how many of them hold values; drops those.
struct Filled<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    len: usize,
}

impl<T> Filled<'_, T> {
    #[inline(always)]
    fn push(&mut self, value: T) {
        self.places[self.len].write(value);
        self.len += 1;
    }
}

impl<T> Drop for Filled<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let values: *mut [MaybeUninit<T>] = &mut self.places[..self.len];
        // SAFETY: the first `len` places were written, once each, and nobody
        // else has them.
        unsafe { std::ptr::drop_in_place(values as *mut [T]) };
    }
}

/// Where the slots of a region put their values.
struct Room<'a, T> {
    places: Shared<'a, MaybeUninit<T>>,
    /// What slots have filled that have ended, where values have to be dropped:
    /// a `Vec` goes on where the drop of one of them panics.
    filled: Mutex<Vec<Filled<'a, T>>>,
    /// Whether a slot has filled fewer places than it has.
    missing: AtomicBool,
}

impl Pool {
    /// `n` values that slots make in their places, by `fill(range, places)`;
    /// `None` if that has left one empty.
    #[inline(always)]
    fn gather<T: Send>(
        &self,
        n: usize,
        fill: impl Fn(Range<usize>, &mut Filled<'_, T>) + Sync,
    ) -> Option<Vec<T>> {
        let mut values = Vec::with_capacity(n);
        {
            let slots = if needs_drop::<T>() { self.num_threads() } else { 0 };
            let room = Room {
                places: Shared::new(&mut values.spare_capacity_mut()[..n]),
                filled: Mutex::new(Vec::with_capacity(slots)),
                missing: AtomicBool::new(false),
            };
            let to = &room;
            self.open(n, self.ops(n), move |slot, split| {
                let range = split.range(to.places.len, slot, const { unit(size_of::<T>(), 1) });
                // SAFETY: the part that this slot has by its region's split.
                let places = unsafe { to.places.part(range.clone()) };
                let mut filled = Filled { places, len: 0 };
                fill(range, &mut filled);
                if filled.len < filled.places.len() {
                    // Relaxed: the end of the region orders it before the look.
                    to.missing.store(true, Ordering::Relaxed);
                }
                if needs_drop::<T>() {
                    to.filled.lock().push(filled);
                }
            });
            // Relaxed: see above.
            if room.missing.load(Ordering::Relaxed) {
                return None;
            }
            room.filled.into_inner().into_iter().for_each(forget);
        }
        // SAFETY: every slot has ended and none has left a place of its own
        // empty, so all `n` hold values, which nobody else drops any more.
        unsafe { values.set_len(n) };
        Some(values)
    }
}
