//! How the face opens regions: on which pool, in how many parts, and which
//! number the running thread has.

use super::raw::{current_pool, with_pool};
use crate::global;
use crate::pool::Pool;
use crate::sync::{Ordering, StaticU32};
use std::cell::Cell;
use std::ops::Range;

/// Elements before and after a boundary that may move for a line's sake, in
/// units: see `partition`.
const UNITS: usize = 16;

thread_local! {
    /// Where this thread stands, and its number as a worker once it has one.
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether a loop has come by on this thread since `looped` was last asked.
    static LOOPED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outside,
    /// Called a region, or is in `install`, `scope` or `join`.
    Caller,
    /// Runs a slot for somebody else.
    Worker,
}

/// Calls `f` with the pool that the calling thread's loops go to.
#[inline]
pub(super) fn pool<R>(f: impl FnOnce(&Pool) -> R) -> R {
    current_pool(|pool| match pool {
        Some(pool) => f(pool),
        None => f(global::built().unwrap_or_else(global::global)),
    })
}

/// Calls `f` with ranges that cover `0..n`, none of them empty, no two of them
/// overlapping, each once; with one empty range if `n` is 0. Parts have at
/// least `min_len` items, and begin at multiples of `unit` where they are large
/// enough.
#[inline]
pub(super) fn ranges(n: usize, min_len: usize, unit: u32, f: impl Fn(Range<usize>) + Sync) {
    pool(|pool| {
        let parts = n / min_len.max(1);
        let place = Caller::new();
        if parts < 2 {
            place.run(pool, || f(0..n));
            return;
        }
        LOOPED.set(true);
        if parts < pool.num_threads() {
            let part = |i: usize| (n as u128 * i as u128 / parts as u128) as usize;
            pool.for_each_range(parts, |range| {
                place.run(pool, || f(part(range.start)..part(range.end)));
            });
            return;
        }
        let unit = unit as usize;
        let aligned = unit > 1 && n / pool.num_threads() / UNITS >= unit;
        let boundary = |at: usize| match at {
            at if aligned && at < n => (at.saturating_add(unit / 2) / unit * unit).min(n),
            at => at,
        };
        pool.for_each_range(n, |range| {
            let range = boundary(range.start)..boundary(range.end);
            if !range.is_empty() {
                place.run(pool, || f(range));
            }
        });
    });
}

/// Calls `f(i)` for each `i` in `0..n`, spread over one slot each where threads
/// are free.
pub(super) fn tasks(n: usize, f: impl Fn(usize) + Sync) {
    pool(|pool| {
        let place = Caller::new();
        pool.run(n, |i| place.run(pool, || f(i)));
    });
}

/// Runs `f` as the caller of `pool`.
pub(super) fn as_caller<R>(pool: &Pool, f: impl FnOnce() -> R) -> R {
    Caller::new().run(pool, f)
}

/// The thread that opens a region, as others can tell it from themselves: by
/// the address of one of its thread-locals.
#[derive(Clone, Copy)]
struct Caller(usize);

impl Caller {
    #[inline]
    fn new() -> Self {
        Caller(PLACE.with(|place| std::ptr::from_ref(place).addr()))
    }

    /// Runs a slot of a region on `pool` that this caller opened.
    #[inline]
    fn run<R>(self, pool: &Pool, f: impl FnOnce() -> R) -> R {
        struct Back(Place);
        impl Drop for Back {
            fn drop(&mut self) {
                PLACE.set(self.0);
            }
        }
        let here = Caller::new().0 == self.0;
        let place = PLACE.get();
        // Nested: a worker that opens a region stays a worker.
        let same = current_pool(|current| current.is_some_and(|p| std::ptr::eq(p, pool)));
        let now = match place {
            Place::Worker if same => Place::Worker,
            _ if here => Place::Caller,
            _ => Place::Worker,
        };
        let _back = Back(PLACE.replace(now));
        with_pool(pool, f)
    }
}

/// Whether a loop has come by since `before` was taken from here; both are for
/// `join`.
pub(super) fn watch_loops<R>(f: impl FnOnce() -> R) -> (R, bool) {
    let before = LOOPED.replace(false);
    let result = f();
    let looped = LOOPED.get();
    LOOPED.set(before || looped);
    (result, looped)
}

/// Gives the calling thread, a worker, its number.
pub(super) fn number_worker(slot: usize) {
    NUMBER.set(Some(slot));
}

/// Threads of the pool that the calling thread's loops go to, the caller among
/// them: what a loop may be cut for. Builds the process-wide pool if need be.
///
/// ```
/// assert!(rowpool::rayon::current_num_threads() >= 1);
/// ```
pub fn current_num_threads() -> usize {
    pool(Pool::num_threads)
}

/// The number of the calling thread within the region that it takes part in:
/// 0 for the thread that opened it, from 1 on for workers, always below
/// [`current_num_threads`]; 0 also directly inside `install`, `scope` and
/// `join`; `None` outside. No two threads of a region have the same number.
/// Two threads that each open a region have number 0 both, where rayon would
/// bring both to workers of their own.
///
/// ```
/// use rowpool::rayon::{self, prelude::*};
/// assert_eq!(rayon::current_thread_index(), None);
/// (0..100).into_par_iter().for_each(|_| {
///     assert!(rayon::current_thread_index().unwrap() < rayon::current_num_threads());
/// });
/// ```
pub fn current_thread_index() -> Option<usize> {
    match PLACE.get() {
        Place::Outside => None,
        Place::Caller => Some(0),
        Place::Worker => Some(NUMBER.get().unwrap_or_else(|| {
            // A worker of the process-wide pool, which has no start hook of
            // ours: each of them comes here once. Relaxed: only a number.
            static NEXT: StaticU32 = StaticU32::new(1);
            let number = NEXT.fetch_add(1, Ordering::Relaxed) as usize;
            NUMBER.set(Some(number));
            number
        })),
    }
}

/// The most threads that a pool can have.
///
/// ```
/// assert_eq!(rowpool::rayon::max_num_threads(), 512);
/// ```
pub fn max_num_threads() -> usize {
    crate::pool::MAX_WIDTH
}
