//! The caller lock: whose region it is. One caller at a time, first come first
//! served between batches, never for ever.
//!
//! | word | meaning | who may take it |
//! |---|---|---|
//! | `FREE` | no region | everybody |
//! | `HELD` | a region runs | nobody |
//! | `HANDOFF` | for the head of the queue | the head |
//! | `KEPT`, number | kept by a scope of steps, none of which runs | that scope; the head, after `PATIENCE` |
//!
//! Taking is the one read-modify-write of a hot region, giving is a plain
//! store: two would drain the store buffer between done epoch and publication.
//! So a holder may miss who waits, and its caller comes back for many regions
//! in a row; the head of the queue looks by naps, and demands a handoff at the end
//! of a batch. Strict handoff would idle the pool for a wake after every region
//! (MEASUREMENTS, "many callers").

use super::caller_queue::{Queue, Still, AFTER_REGION, AFTER_STEP, NOTHING};
use super::failpoint::{planted, Fault};
use crate::sync::{spin_loop, AtomicU32, Instant, Line, MutexGuard, Ordering, UnsafeCell};
use std::time::Duration;

const FREE: u32 = 0;
const HELD: u32 = 1;
const HANDOFF: u32 = 2;
const KEPT: u32 = 3;
/// A holder that has not said yet who it is: it has just taken the lock.
pub(super) const UNNAMED: u32 = u32::MAX;
/// Bits of the word that tell these apart; a scope's number is above.
const KIND_BITS: u32 = 2;

/// The lock, and the state that only its holder touches.
#[derive(Debug)]
pub(super) struct CallerLock<T> {
    line: Line<Words>,
    queue: Line<Queue>,
    state: UnsafeCell<T>,
}

#[derive(Debug)]
struct Words {
    word: AtomicU32,
    /// How often the lock was given, wrapping: shows those who wait that others
    /// move.
    moves: AtomicU32,
    /// What the head of the queue demands: nothing, a handoff after a region, or
    /// after a step too.
    demand: AtomicU32,
    /// The system's number of the holder's thread, or `UNNAMED`.
    holder: AtomicU32,
    /// Scopes of steps so far; changed by the holder.
    scopes: AtomicU32,
}

// SAFETY: `state` is reached through a `CallerGuard` only, and there is one at a
// time: every way to one is a compare-exchange of `word` to HELD.
unsafe impl<T: Send> Sync for CallerLock<T> {}

/// The holder's access; gives the lock when dropped.
#[derive(Debug)]
pub(super) struct CallerGuard<'a, T>(&'a CallerLock<T>);

/// A scope of steps, by its number; 0 stands for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope(pub(super) u32);

impl<T> CallerLock<T> {
    pub(super) fn new(state: T) -> Self {
        CallerLock {
            line: Line::new(Words {
                word: AtomicU32::new(FREE),
                moves: AtomicU32::new(0),
                demand: AtomicU32::new(0),
                holder: AtomicU32::new(UNNAMED),
                scopes: AtomicU32::new(0),
            }),
            queue: Line::new(Queue::new()),
            state: UnsafeCell::new(state),
        }
    }

    /// C1: waits for the lock. `None` where nothing has moved for long and
    /// `blocked` says each time that nobody of the open region runs.
    #[inline(always)]
    pub(super) fn acquire(&self, blocked: impl Fn(u32) -> bool) -> Option<CallerGuard<'_, T>> {
        self.take_from(FREE).or_else(|| self.wait_in_queue(&blocked))
    }

    /// C1 of a step: takes the lock that `scope` keeps, or waits for it if
    /// somebody was let between.
    #[inline(always)]
    pub(super) fn retake(
        &self,
        scope: Scope,
        blocked: impl Fn(u32) -> bool,
    ) -> Option<CallerGuard<'_, T>> {
        self.take_from(scope.0).or_else(|| self.acquire(blocked))
    }

    #[inline(always)]
    fn take_from(&self, from: u32) -> Option<CallerGuard<'_, T>> {
        // Acquire, from giving: the last holder's frame and state.
        self.line
            .word
            .compare_exchange(from, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| CallerGuard(self))
    }

    /// Ends a scope: gives the lock, unless somebody has it who was let between.
    pub(super) fn end_scope(&self, scope: Scope) {
        // Relaxed: see `demand`; the failure reads nothing.
        let next = if self.line.demand.load(Ordering::Relaxed) != 0 { HANDOFF } else { FREE };
        let word = &self.line.word;
        // Release, to `take_from`: what stood between the steps.
        if word.compare_exchange(scope.0, next, Ordering::Release, Ordering::Relaxed).is_ok()
            && next == HANDOFF
        {
            self.queue.notify();
        }
    }
}

impl<'a, T> CallerGuard<'a, T> {
    /// Calls `f` with the holder's state.
    #[inline(always)]
    pub(super) fn state<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the one guard is borrowed mutably, so this is the only access,
        // and the last holder's is over (Acquire in `take_from`).
        self.0.state.with_mut(|state| f(unsafe { &mut *state }))
    }

    /// A new scope, that keeps the lock between its steps.
    pub(super) fn begin_scope(self) -> Scope {
        let scopes = &self.0.line.scopes;
        // Relaxed: changed by the holder only.
        let number = scopes.load(Ordering::Relaxed).wrapping_add(1);
        scopes.store(number, Ordering::Relaxed);
        let scope = Scope(number << KIND_BITS | KEPT);
        self.keep(scope);
        scope
    }

    /// The end of a step: `scope` keeps the lock, unless the head of the queue
    /// has waited for so long that it is let between.
    #[inline(always)]
    pub(super) fn keep(self, scope: Scope) {
        let lock = self.0;
        std::mem::forget(self);
        lock.moved();
        // Relaxed: see `demand`.
        if lock.line.demand.load(Ordering::Relaxed) == AFTER_STEP {
            return lock.hand_off();
        }
        // Release, to `take_from`: as in giving.
        lock.line.word.store(scope.0, Ordering::Release);
    }
}

impl<T> CallerLock<T> {
    /// The holder says whose region it is. After the publication, which it would delay.
    #[inline(always)]
    pub(super) fn name_holder(&self, thread: u32) {
        // Relaxed: a number to ask the system with.
        self.line.holder.store(thread, Ordering::Relaxed);
    }

    /// Shows that the holder moves, and is none from now on.
    #[inline(always)]
    fn moved(&self) {
        let moves = &self.line.moves;
        // Relaxed: as in `name_holder`.
        self.line.holder.store(UNNAMED, Ordering::Relaxed);
        // Relaxed: written by the holder only, read as a sign of life.
        moves.store(moves.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Gives a lock that others wait for: it may be taken again until the batch
    /// is over, then it is the head's.
    #[cold]
    fn give_to_others(&self) {
        if self.queue.batch_is_over() {
            return self.hand_off();
        }
        // Release, to `take_from`: as in giving.
        self.line.word.store(FREE, Ordering::Release);
    }

    #[cold]
    fn hand_off(&self) {
        // Release, to `take_from`: as in giving.
        self.line.word.store(HANDOFF, Ordering::Release);
        self.queue.notify();
    }
}

impl<T> Drop for CallerGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let line = &self.0.line;
        self.0.moved();
        // Relaxed: see `demand`.
        if line.demand.load(Ordering::Relaxed) != NOTHING {
            return self.0.give_to_others();
        }
        // Release, to `take_from`: this holder's frame and state to the next.
        line.word.store(FREE, Ordering::Release);
    }
}

/// How long a scope of steps may keep others waiting.
const PATIENCE: Duration = Duration::from_millis(20);
const SPIN: Duration = Duration::from_micros(5);
/// The first nap of the head, and the longest: each is twice as long as the
/// one before, since waking takes the CPU from somebody who works.
const NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_micros(800);

impl<T> CallerLock<T> {
    #[cold]
    fn wait_in_queue(&self, blocked: &dyn Fn(u32) -> bool) -> Option<CallerGuard<'_, T>> {
        self.queue.join();
        let mut head = self.queue.head.lock();
        let guard = self.wait_as_head(&mut head, blocked);
        if self.queue.leave() && guard.is_some() {
            // Here, not by the next head: it may have to wait for a CPU first.
            self.queue.begin_batch();
            self.demand(AFTER_REGION);
        } else {
            self.demand(NOTHING);
        }
        // To who has queued, not to the holder that comes back.
        MutexGuard::unlock_fair(head);
        guard
    }

    fn wait_as_head(
        &self,
        still: &mut Still,
        blocked: &dyn Fn(u32) -> bool,
    ) -> Option<CallerGuard<'_, T>> {
        let begun = Instant::now();
        let mut nap = NAP;
        // Relaxed: changed by heads only.
        if self.line.demand.load(Ordering::Relaxed) == NOTHING {
            self.queue.begin_batch();
            self.demand(AFTER_REGION);
        }
        loop {
            let now = Instant::now();
            let waited = now.saturating_duration_since(begun);
            if let Some(guard) = self.take_as_head(waited) {
                return Some(guard);
            }
            // Relaxed, both: only whether one changes matters; a number.
            let moves = self.line.moves.load(Ordering::Relaxed);
            let holder = || self.line.holder.load(Ordering::Relaxed);
            if still.for_long(moves, now, || blocked(holder())) {
                // A handoff may have come just now. If it comes later still,
                // the next caller finds the word HANDOFF, queues and takes it
                // as the head.
                return self.take_from(HANDOFF);
            }
            if waited < SPIN {
                spin_loop();
                continue;
            }
            if waited >= PATIENCE {
                self.demand(AFTER_STEP);
            }
            // The holder hands off when its batch is over; but it may not come back.
            let mut bell = self.queue.bell.lock();
            // Relaxed: taking it orders.
            if self.line.word.load(Ordering::Relaxed) != HANDOFF {
                self.queue.handed_off.wait_for(&mut bell, nap);
            }
            nap = (nap * 2).min(LONGEST_NAP);
        }
    }

    fn take_as_head(&self, waited: Duration) -> Option<CallerGuard<'_, T>> {
        let handed = if planted(Fault::HandoffUntaken) { FREE } else { HANDOFF };
        let taken = self.take_from(FREE).or_else(|| self.take_from(handed));
        if taken.is_some() || waited < PATIENCE {
            return taken;
        }
        // Relaxed: taking it orders.
        let word = self.line.word.load(Ordering::Relaxed);
        let kept = word & KEPT == KEPT || planted(Fault::BargeIntoStep);
        kept.then(|| self.take_from(word)).flatten()
    }

    fn demand(&self, what: u32) {
        // Relaxed: a wish; who misses it sees it after the next region.
        self.line.demand.store(what, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/pool_caller_lock.rs"]
mod tests;
