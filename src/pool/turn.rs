//! Whose region it is: one caller at a time, eventually fair, never for ever.
//!
//! | word | meaning | who may take it |
//! |---|---|---|
//! | `FREE` | no region | everybody |
//! | `TAKEN` | a region runs | nobody |
//! | `RESERVED` | handed over | the head of the queue |
//!
//! Taking is the one read-modify-write of a hot region, giving is a plain
//! store (two cost 80 ns more per fork on a Xeon of 2023: each drains the
//! store buffer between report and publication). Who finds the word taken
//! queues in the lobby; its head looks again by naps and after 4 ms demands a
//! hand-over. Strict hand-over would idle the pool for the time of a wake after
//! every region, and a new caller may come up on the CPU of a worker. If nobody
//! has moved for 20 ms the caller gives up and runs serially: a slot of the
//! running region may be waiting for a lock that this very caller holds.

use crate::sync::{AtomicU32, Condvar, Line, Mutex, MutexGuard, Ordering, UnsafeCell};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const RESERVED: u32 = 2;

/// The turn, and the state that only its holder touches.
#[derive(Debug)]
pub(super) struct Turn<T> {
    line: Line<Words>,
    lobby: Line<Lobby>,
    state: UnsafeCell<T>,
}

#[derive(Debug)]
struct Words {
    word: AtomicU32,
    /// How often the turn was given, wrapping: shows waiting callers that
    /// others move.
    moves: AtomicU32,
    /// Whether the head of the queue wants the turn handed over.
    demand: AtomicU32,
}

#[derive(Debug, Default)]
struct Lobby {
    /// Held by the head while it waits; the others queue for it.
    head: Mutex<()>,
    /// What the head sleeps on.
    bell: Mutex<()>,
    rung: Condvar,
}

// SAFETY: `state` is reached through a `Guard` only, and there is one at a
// time: `word` goes from FREE or RESERVED to TAKEN by one thread.
unsafe impl<T: Send> Sync for Turn<T> {}

/// The holder's access; gives the turn up when dropped.
#[derive(Debug)]
pub(super) struct Guard<'a, T>(&'a Turn<T>);

impl<T> Turn<T> {
    pub(super) fn new(state: T) -> Self {
        Turn {
            line: Line::new(Words {
                word: AtomicU32::new(FREE),
                moves: AtomicU32::new(0),
                demand: AtomicU32::new(0),
            }),
            lobby: Line::new(Lobby::default()),
            state: UnsafeCell::new(state),
        }
    }

    /// Waits for the turn; `None` if nothing moved for 20 ms.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Guard<'_, T>> {
        self.grab(FREE).or_else(|| self.queue())
    }

    #[inline(always)]
    fn grab(&self, from: u32) -> Option<Guard<'_, T>> {
        // Acquire, from `give`: the last holder's frame and state.
        self.line
            .word
            .compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| Guard(self))
    }

    /// Shows that the holder moves.
    #[inline(always)]
    pub(super) fn moved(&self) {
        let moves = &self.line.moves;
        // Relaxed: written by the holder only, read as a sign of life.
        moves.store(moves.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The holder's state, for a holder who has put its guard away.
    ///
    /// # Safety
    /// The calling thread has the guard and does not use it meanwhile, nor calls
    /// this from `f`.
    #[inline(always)]
    pub(super) unsafe fn held<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: only the holder reaches the state, and it does so here only
        // (contract); the last holder's access is over (Acquire in `grab`).
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }
}

mod queue {
    use super::*;
    use crate::sync::{sleep, spin_loop, Instant};
    use std::time::Duration;

    /// A turn that has not moved for this long is taken to wait for its own
    /// waiter.
    const STILL: Duration = Duration::from_millis(20);
    /// The head's patience before it demands a hand-over. Measured on 2 CPUs with
    /// regions of 10 µs, regions per second over one caller's (2, 4 and 8 callers):
    /// 0.84, 0.83, 0.86 at 0.5 ms, 0.84, 0.91, 0.94 at 2 ms, and above 0.9 at 4 ms.
    const DEMAND: Duration = Duration::from_micros(4000);
    const SPIN: Duration = Duration::from_micros(5);
    /// The first nap, and the longest: each is twice as long as the one before,
    /// since waking costs the CPU of somebody who works.
    const NAP: Duration = Duration::from_micros(50);
    const LONGEST_NAP: Duration = Duration::from_micros(800);
    /// A hand-over rings the bell; this bounds what a missed ring can cost.
    const SLEEP: Duration = Duration::from_millis(1);

    impl<T> Turn<T> {
        #[cold]
        pub(super) fn queue(&self) -> Option<Guard<'_, T>> {
            let mut moves = self.moves();
            let head = loop {
                if let Some(head) = self.lobby.head.try_lock_for(STILL) {
                    break head;
                }
                let now = self.moves();
                if now == moves {
                    return None;
                }
                moves = now;
            };
            let guard = self.wait();
            // To who has queued, not to the holder that comes back.
            MutexGuard::unlock_fair(head);
            guard
        }

        /// The head's wait.
        fn wait(&self) -> Option<Guard<'_, T>> {
            let begun = Instant::now();
            let (mut moves, mut moved) = (self.moves(), begun);
            let mut nap = NAP;
            loop {
                if let Some(guard) = self.grab(FREE).or_else(|| self.grab(RESERVED)) {
                    self.demand(0);
                    return Some(guard);
                }
                let now = Instant::now();
                if self.moves() != moves {
                    (moves, moved) = (self.moves(), now);
                } else if now - moved > STILL {
                    self.demand(0);
                    // A hand-over may have come just now. If it comes later
                    // still, the next caller finds the word RESERVED, queues
                    // and takes it as the head.
                    return self.grab(RESERVED);
                }
                if now - begun < SPIN {
                    spin_loop();
                } else if now - begun < DEMAND {
                    sleep(nap);
                    nap = (nap * 2).min(LONGEST_NAP);
                } else {
                    self.demand(1);
                    let mut bell = self.lobby.bell.lock();
                    // Relaxed: taking it by `grab` orders.
                    if self.line.word.load(Ordering::Relaxed) == TAKEN {
                        self.lobby.rung.wait_for(&mut bell, SLEEP);
                    }
                }
            }
        }

        fn moves(&self) -> u32 {
            // Relaxed: only whether it changes matters.
            self.line.moves.load(Ordering::Relaxed)
        }

        fn demand(&self, value: u32) {
            // Relaxed: a wish; who misses it sees it after the next region.
            self.line.demand.store(value, Ordering::Relaxed);
        }

        #[cold]
        pub(super) fn hand_over(&self) {
            // Release, to `grab`: as in `give`.
            self.line.word.store(RESERVED, Ordering::Release);
            drop(self.lobby.bell.lock());
            self.lobby.rung.notify_one();
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let line = &self.0.line;
        self.0.moved();
        // Relaxed: see `demand`.
        if line.demand.load(Ordering::Relaxed) != 0 {
            return self.0.hand_over();
        }
        // Release, to `grab`: this holder's frame and state to the next.
        line.word.store(FREE, Ordering::Release);
    }
}

impl<T> Guard<'_, T> {
    /// The holder's state.
    #[inline(always)]
    pub(super) fn state<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the one guard is borrowed mutably, so this is the only
        // access.
        unsafe { self.0.held(f) }
    }
}
