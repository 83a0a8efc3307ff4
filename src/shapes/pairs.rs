//! Two slices in step: chunk `i` of both belongs to one slot.

use super::{elements, Shared};
use crate::partition::{unit, Split};
use crate::pool::{Pool, Region};

/// A slice that is taken in chunks.
struct Side<'a, T> {
    data: Shared<'a, T>,
    /// Elements in a chunk, above 0.
    len: usize,
}

struct Pairs<'a, A, B, F> {
    a: Side<'a, A>,
    b: Side<'a, B>,
    /// Chunks of each.
    n: usize,
    f: F,
}

/// Opens a region over the `n` chunks of each of two slices, whose lengths are
/// above 0: `f(first, part, part)` gets the chunks of a slot in one piece, and
/// the index of the first.
#[inline(always)]
pub(crate) fn pairs<A: Send, B: Send>(
    pool: &Pool,
    work: Option<u64>,
    n: usize,
    (a, a_len): (&mut [A], usize),
    (b, b_len): (&mut [B], usize),
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    debug_assert!(a.len().div_ceil(a_len) == n && b.len().div_ceil(b_len) == n);
    if n > 0 {
        let a = Side { data: Shared::new(a), len: a_len };
        let b = Side { data: Shared::new(b), len: b_len };
        // SAFETY: the slices, `f` and what it borrows outlive the call.
        unsafe { pool.fork(n, work, Pairs { a, b, n, f }) };
    }
}

// SAFETY: a slot touches the elements of its own chunks; ranges of different
// slots of one split do not overlap, nor do chunks of one slice.
unsafe impl<A: Send, B: Send, F> Region for Pairs<'_, A, B, F>
where
    F: Fn(usize, &mut [A], &mut [B]) + Sync,
{
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let Pairs { a, b, n, f } = self;
        // Powers of two: a multiple of the larger is one of both.
        let step = unit(size_of::<A>(), a.len).max(unit(size_of::<B>(), b.len));
        let chunks = split.range(*n, slot, step);
        if chunks.is_empty() {
            return;
        }
        // SAFETY: no other slot has these chunks, and this one runs once
        // (contract).
        let part_a = unsafe { a.data.part(elements(&chunks, a.len, a.data.len)) };
        // SAFETY: as above; the other slice is another borrow.
        let part_b = unsafe { b.data.part(elements(&chunks, b.len, b.data.len)) };
        f(chunks.start, part_a, part_b);
    }
}
