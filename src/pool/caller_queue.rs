//! Those who wait for a caller lock: they queue for a mutex that hands itself on
//! in order; its holder is the head, who alone watches the lock's word.

use crate::sync::{AtomicU32, Condvar, Instant, Mutex, Ordering};
use std::time::Duration;

/// Demands.
pub(super) const NOTHING: u32 = 0;
pub(super) const AFTER_REGION: u32 = 1;
pub(super) const AFTER_STEP: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Held by the head while it waits; the others queue for it.
    pub(super) head: Mutex<Still>,
    /// Callers that wait.
    pub(super) waiting: AtomicU32,
    /// What the head sleeps on.
    pub(super) bell: Mutex<()>,
    pub(super) handed_off: Condvar,
}

/// A batch: how long a caller may come back for more regions while others
/// wait; the longer, the fewer threads have to be woken. It is shared out,
/// so that nobody waits for long in a long queue.
const BATCH: Duration = Duration::from_millis(8);
const LONGEST_BATCH: Duration = Duration::from_millis(4);
const SHORTEST_BATCH: Duration = Duration::from_micros(500);
/// A region of which nobody runs at so many looks in a row, so far apart, is
/// taken to wait for its own waiter.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 4 };
const APART: Duration = Duration::from_millis(5);

/// Since when nothing has moved. Handed from head to head.
#[derive(Debug, Default)]
pub(super) struct Still {
    moves: u32,
    looked: Option<Instant>,
    looks: u32,
}

impl Still {
    /// Whether that has been so for long.
    pub(super) fn for_long(
        &mut self,
        moves: u32,
        now: Instant,
        blocked: impl FnOnce() -> bool,
    ) -> bool {
        let Some(looked) = self.looked.filter(|_| self.moves == moves) else {
            *self = Still { moves, looked: Some(now), looks: 0 };
            return false;
        };
        if now.saturating_duration_since(looked) >= APART {
            self.looked = Some(now);
            self.looks = if blocked() { self.looks.saturating_add(1) } else { 0 };
        }
        self.looks >= LOOKS
    }
}

impl Queue {
    pub(super) fn notify(&self) {
        drop(self.bell.lock());
        self.handed_off.notify_one();
    }

    pub(super) fn batch(&self) -> Duration {
        // Relaxed: an estimate.
        let waiting = self.waiting.load(Ordering::Relaxed).max(1);
        (BATCH / waiting).clamp(SHORTEST_BATCH, LONGEST_BATCH)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_caller_queue.rs"]
mod tests;
