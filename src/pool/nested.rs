//! "This thread is inside a region": nested calls, of this or another pool,
//! run inline on the thread that makes them, so that pool A inside B inside A
//! can wait for nobody.

use crate::sync::mark;

/// The mark of a caller; a worker's mark is its team's address.
const CALLER: usize = 1;

/// Whether the calling thread runs a slot now, or is a worker.
#[inline(always)]
pub(crate) fn inside() -> bool {
    mark::get() != 0
}

/// Marks the calling thread for the time of a region; unmarks it on unwind.
#[derive(Debug)]
pub(super) struct Inside(usize);

impl Inside {
    #[inline(always)]
    pub(super) fn enter() -> Self {
        let outer = mark::get();
        mark::set(CALLER);
        Inside(outer)
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        mark::set(self.0);
    }
}

/// Marks the calling thread as a worker of `team`, for its whole life: also the
/// destructors of its thread-locals run regions inline.
pub(super) fn mark_worker(team: usize) {
    mark::set(team);
}

/// Whether the calling thread is a worker of `team`.
pub(super) fn works_for(team: usize) -> bool {
    mark::get() == team
}
