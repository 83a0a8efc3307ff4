//! The thread context: whether this thread is inside a region, is a worker, or
//! keeps a caller lock between two steps. Nested calls, of this or another pool,
//! run inline on the thread that makes them, so that pool A inside B inside A
//! can wait for nobody.
//!
//! | context | thread |
//! |---|---|
//! | 0 | outside: may open regions |
//! | `CALLER` | runs a slot of a region that it opened |
//! | address of a team | worker of that team |
//! | address of a team, with `STEPS` | keeps that team's caller lock, between two steps |

use super::panics::abort;
use crate::sync::context;

const CALLER: usize = 1;
/// A bit that team addresses leave free.
const STEPS: usize = 2;

/// Whether the calling thread runs a slot now, or is a worker.
#[inline(always)]
pub(crate) fn inside() -> bool {
    let context = context::get();
    context != 0 && context & STEPS == 0
}

/// Whether the calling thread may wait for a caller lock.
#[inline(always)]
pub(super) fn outside() -> bool {
    context::get() == 0
}

/// Whether the calling thread keeps the caller lock of `team` and runs no slot.
#[inline(always)]
pub(super) fn between_steps_of(team: usize) -> bool {
    context::get() == team | STEPS
}

/// A context of the calling thread for the time of a call; the one before comes
/// back when it is dropped, also by unwinding.
#[derive(Debug)]
pub(crate) struct Inside {
    outer: usize,
    own: usize,
}

impl Inside {
    /// Inside of a region.
    #[inline(always)]
    pub(crate) fn enter() -> Self {
        Inside::with(CALLER)
    }

    /// From outside to keeping the caller lock of `team` for a scope.
    pub(super) fn enter_steps(team: usize, scope: u32) -> Self {
        debug_assert!(team & (CALLER | STEPS) == 0 && outside());
        context::set_scope(scope);
        Inside::with(team | STEPS)
    }

    #[inline(always)]
    fn with(own: usize) -> Self {
        let outer = context::get();
        context::set(own);
        Inside { outer, own }
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        // Frames end in order, unless a coroutine or fibre was suspended in one
        // and goes on elsewhere: then `outer` may name a pool that is gone (S50).
        if context::get() != self.own {
            abort("a region's frame was left out of order, by a coroutine perhaps");
        }
        context::set(self.outer);
    }
}

/// The number of the scope of steps that the calling thread is in.
pub(super) fn scope() -> u32 {
    context::scope()
}

/// The calling thread is a worker of `team`, for its whole life: also the
/// destructors of its thread-locals run regions inline.
pub(super) fn mark_worker(team: usize) {
    context::set(team);
}

/// Whether the calling thread is a worker of `team`.
pub(super) fn works_for(team: usize) -> bool {
    context::get() == team
}
