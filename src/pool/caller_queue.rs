//! Those who wait for a caller lock: they queue for a mutex that hands itself on
//! in order; its holder is the head, who alone watches the lock's word.

use crate::sync::{AtomicU32, AtomicU64, Condvar, Instant, Mutex, Ordering};
use std::time::Duration;

/// Demands.
pub(super) const NOTHING: u32 = 0;
pub(super) const AFTER_REGION: u32 = 1;
pub(super) const AFTER_STEP: u32 = 2;

#[derive(Debug)]
pub(super) struct Queue {
    /// Held by the head while it waits; the others queue for it.
    pub(super) head: Mutex<Still>,
    /// Callers that wait.
    waiting: AtomicU32,
    /// What the head sleeps on.
    pub(super) bell: Mutex<()>,
    pub(super) handed_off: Condvar,
    born: Instant,
    /// When the batch of who has the lock ends, in ns since `born`.
    batch_ends: AtomicU64,
}

/// A batch: how long a caller may come back for more regions while others
/// wait; the longer, the fewer threads have to be woken. It is shared out,
/// so that nobody waits for long in a long queue.
const BATCH: Duration = Duration::from_millis(8);
const LONGEST_BATCH: Duration = Duration::from_millis(4);
const SHORTEST_BATCH: Duration = Duration::from_micros(80);
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

// Relaxed, all of it: counts and times; what is demanded orders nothing.
impl Queue {
    pub(super) fn new() -> Self {
        Queue {
            head: Mutex::default(),
            waiting: AtomicU32::new(0),
            bell: Mutex::default(),
            handed_off: Condvar::default(),
            born: Instant::now(),
            batch_ends: AtomicU64::new(0),
        }
    }

    pub(super) fn notify(&self) {
        drop(self.bell.lock());
        self.handed_off.notify_one();
    }

    pub(super) fn join(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling thread waits no longer; whether others do.
    pub(super) fn leave(&self) -> bool {
        self.waiting.fetch_sub(1, Ordering::Relaxed) > 1
    }

    /// From now on who has the lock is given so long.
    pub(super) fn begin_batch(&self) {
        self.begin_batch_of(self.batch());
    }

    pub(super) fn begin_batch_of(&self, time: Duration) {
        let ends = self.age().saturating_add(time);
        self.batch_ends.store(ends.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn batch_is_over(&self) -> bool {
        self.age().as_nanos() as u64 >= self.batch_ends.load(Ordering::Relaxed)
    }

    fn age(&self) -> Duration {
        Instant::now().saturating_duration_since(self.born)
    }

    fn batch(&self) -> Duration {
        let waiting = self.waiting.load(Ordering::Relaxed).max(1);
        (BATCH / waiting).clamp(SHORTEST_BATCH, LONGEST_BATCH)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_caller_queue.rs"]
mod tests;
