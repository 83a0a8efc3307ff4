//! Panics of a region: the first in time is kept for the caller, the others
//! are dropped where they cannot hurt.

use crate::sync::{AtomicBool, Line, Ordering, UnsafeCell};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

pub(super) type Payload = Box<dyn Any + Send>;

/// What went wrong in the region that runs now.
#[derive(Debug)]
pub(super) struct Panics {
    // A line of its own: read by the caller at each join, written at a panic.
    state: Line<State>,
}

#[derive(Debug)]
struct State {
    raised: AtomicBool,
    first: UnsafeCell<Option<Payload>>,
}

// SAFETY: `first` is written by the one thread that turned `raised` to true,
// and read by the holder of the caller lock after that thread's slot was done
// (Release/Acquire on the done epoch), or was its own. Payloads are `Send`.
unsafe impl Sync for Panics {}

impl Panics {
    pub(super) fn new() -> Self {
        Panics {
            state: Line::new(State {
                raised: AtomicBool::new(false),
                first: UnsafeCell::new(None),
            }),
        }
    }

    /// Runs `f` and keeps its panic.
    #[inline(always)]
    pub(super) fn guard(&self, f: impl FnOnce()) {
        // The closure's state is the user's: whoever sees the panic raised on
        // the caller decides what of it is still good.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.keep(payload);
        }
    }

    #[cold]
    fn keep(&self, payload: Payload) {
        // Relaxed: picks one writer; the done epochs order its write.
        if self.state.raised.swap(true, Ordering::Relaxed) {
            discard(payload);
        } else {
            // SAFETY: only the thread that set `raised` comes here, once per
            // region; the caller looks after this slot is done.
            self.state.first.with_mut(|first| unsafe { *first = Some(payload) });
        }
    }

    /// Whether a slot has panicked so far.
    #[inline(always)]
    pub(super) fn raised(&self) -> bool {
        // Relaxed: a hint to skip slots; after the join the done epochs order it.
        self.state.raised.load(Ordering::Relaxed)
    }

    /// The first payload; the pool is as new after that.
    ///
    /// # Safety
    /// The caller holds the caller lock and all slots of its region have ended.
    #[cold]
    pub(super) unsafe fn take(&self) -> Option<Payload> {
        // SAFETY: every slot has ended (contract), so no writer is left, and
        // the done epochs' Release/Acquire make the payload visible.
        let first = self.state.first.with_mut(|first| unsafe { (*first).take() });
        // Relaxed: the next region's publication orders it.
        self.state.raised.store(false, Ordering::Relaxed);
        first
    }
}

/// Drops a payload that nobody gets. Its `Drop` may panic too, with a payload
/// of the same kind: that one is forgotten.
fn discard(payload: Payload) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}

/// Aborts when dropped: unwinding past a region's join would leave workers on
/// a dead closure.
#[derive(Debug)]
pub(super) struct AbortOnDrop(&'static str);

impl AbortOnDrop {
    pub(super) fn armed(why: &'static str) -> Self {
        AbortOnDrop(why)
    }

    pub(super) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        abort(self.0);
    }
}

/// Ends the process with one line, and takes no lock for it: in a `fork()` child
/// the one of stderr may be held by a thread that does not exist (S36).
#[cold]
pub(crate) fn abort(why: &'static str) -> ! {
    crate::sys::write_error(&["rowpool: ", why, ", aborting\n"]);
    std::process::abort();
}
