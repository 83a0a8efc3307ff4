//! "This thread is inside a region": nested calls, of this or another pool,
//! run inline on the thread that makes them, so that pool A inside B inside A
//! can wait for nobody.

use crate::sync::mark;

/// The mark of a caller; a worker's mark is its team's address.
const CALLER: usize = 1;

/// With a team's address, which leaves this bit free: the mark of a caller that
/// keeps the team's turn and is between two steps.
const STEPS: usize = 2;

/// Whether the calling thread runs a slot now, or is a worker.
#[inline(always)]
pub(crate) fn inside() -> bool {
    let mark = mark::get();
    mark != 0 && mark & STEPS == 0
}

/// Whether the calling thread has no mark at all, and may wait for a turn.
#[inline(always)]
pub(super) fn outside() -> bool {
    mark::get() == 0
}

/// Whether the calling thread keeps the turn of `team` and runs no slot.
#[inline(always)]
pub(super) fn between_steps_of(team: usize) -> bool {
    mark::get() == team | STEPS
}

/// Marks the calling thread for the time of a region; unmarks it on unwind.
#[derive(Debug)]
pub(crate) struct Inside(usize);

impl Inside {
    #[inline(always)]
    pub(crate) fn enter() -> Self {
        let outer = mark::get();
        mark::set(CALLER);
        Inside(outer)
    }

    /// Marks a thread that is outside as one that keeps the turn of `team`.
    pub(super) fn enter_steps(team: usize) -> Self {
        debug_assert!(team & (CALLER | STEPS) == 0 && outside());
        mark::set(team | STEPS);
        Inside(0)
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
