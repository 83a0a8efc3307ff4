//! Sleeping and waking with no lost wake-up and no timer.
//!
//! A worker goes to sleep in four steps: (1) it marks its slot `PARKED` and
//! counts itself, (2) fence, (3) it looks at its gate and at the count of
//! wakes once more, (4) it sleeps while its slot says `PARKED`. Who wakes has
//! (1) published or counted a wake, (2) fence, (3) reads the count of
//! sleepers, (4) turns `PARKED` into `WAKING` and rings. Of two threads that
//! pass a SeqCst fence each, at least one sees what the other did before its
//! own: no wake is lost. A region that meets a worker between (1) and (4)
//! relieves it like any late owner, so only wakes need the fence, regions on
//! a hot pool do not.

use super::fault::{planted, Fault};
use super::slot::Slot;
use crate::sync::{fence, AtomicBool, AtomicU32, AtomicUsize, Line, Ordering};

/// How many sleepers one woken worker wakes in turn.
const PASS_ON: usize = 2;

/// Who sleeps in one pool.
#[derive(Debug)]
pub(super) struct Sleepers {
    state: Line<State>,
}

#[derive(Debug)]
struct State {
    /// Workers that are not up: from step 1 (or their creation) until they run
    /// again. Who is woken already is told apart by his slot and not rung for
    /// twice, or each region until he runs would pay a system call.
    count: AtomicUsize,
    /// Calls of `wake`, wrapping: what a worker that is about to park compares.
    wakes: AtomicU32,
    /// Workers `0..reach` are to be woken, for those who pass the wake on.
    reach: AtomicUsize,
    /// Whether the caller's CPU is shared.
    crowded: AtomicBool,
}

impl Sleepers {
    /// `workers` that have not started.
    pub(super) fn new(workers: usize) -> Self {
        Sleepers {
            state: Line::new(State {
                count: AtomicUsize::new(workers),
                wakes: AtomicU32::new(0),
                reach: AtomicUsize::new(0),
                crowded: AtomicBool::new(false),
            }),
        }
    }

    /// How many are not up; may be stale.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        // Relaxed: a hint on the hot path; `wake_up` fences before it counts.
        self.state.count.load(Ordering::Relaxed)
    }

    /// The number of wakes so far, to compare in `park`.
    pub(super) fn wakes(&self) -> u32 {
        // Acquire, from `wake_up`: who counts a wake sees its news, and lies down
        // as one whom that wave need not wake.
        self.state.wakes.load(Ordering::Acquire)
    }

    /// Sleeps, unless `changed` says that there is news or a wake came since
    /// `wakes` were counted. True if somebody else ended the sleep: then the
    /// wake must be passed on.
    pub(super) fn park(&self, slot: &Slot, wakes: u32, changed: impl Fn() -> bool) -> bool {
        slot.lie_down(wakes);
        // Relaxed: the fence follows.
        self.state.count.fetch_add(1, Ordering::Relaxed);
        if !planted(Fault::NoSleepFence) {
            // SeqCst: pairs with the fence in `wake_up` (store buffering).
            fence(Ordering::SeqCst);
        }
        let woken = if changed() || self.wakes() != wakes {
            !slot.rouse()
        } else {
            slot.sleep();
            true
        };
        self.arrive(slot);
        woken
    }

    /// A worker gives its CPU away for a moment; `arrive` ends that.
    pub(super) fn leave(&self, slot: &Slot) {
        slot.leave();
        // Relaxed: a count.
        self.state.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the caller's CPU is shared, when it looked last.
    pub(super) fn crowded(&self) -> bool {
        // Relaxed: a hint.
        self.state.crowded.load(Ordering::Relaxed)
    }

    pub(super) fn set_crowded(&self, crowded: bool) {
        // Relaxed: as in `crowded`. Read first: the line stays shared.
        if self.crowded() != crowded {
            self.state.crowded.store(crowded, Ordering::Relaxed);
        }
    }

    /// A worker is up: it starts, or its sleep is over.
    pub(super) fn arrive(&self, slot: &Slot) {
        slot.arrive();
        // Relaxed: a count.
        self.state.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes one of workers `0..reach`, who wakes two more, and so on; who is
    /// about to park stays up. True if one was there to be woken.
    pub(super) fn wake_up(&self, slots: &[Slot], reach: usize) -> bool {
        // Release, to `wakes`: the news of this wake.
        let wave = self.state.wakes.fetch_add(1, Ordering::Release).wrapping_add(1);
        if !planted(Fault::NoWakeFence) {
            // SeqCst: pairs with the fence in `park`.
            fence(Ordering::SeqCst);
        }
        if self.count() == 0 {
            return false;
        }
        // Relaxed: a worker that misses it wakes by an older reach; who is
        // left asleep then is relieved, and woken by the next wake.
        self.state.reach.store(reach, Ordering::Relaxed);
        self.rouse(slots, reach, wave, 1)
    }

    /// The duty of a woken worker.
    pub(super) fn pass_on(&self, slots: &[Slot]) {
        if self.count() != 0 {
            // Relaxed: as in `wake_up`.
            let reach = self.state.reach.load(Ordering::Relaxed);
            self.rouse(slots, reach.min(slots.len()), self.wakes(), PASS_ON);
        }
    }

    /// Wakes everybody, by the caller itself: the pool ends.
    pub(super) fn wake_all(&self, slots: &[Slot]) {
        // SeqCst: as in `wake_up`.
        fence(Ordering::SeqCst);
        // Nobody parks any more, so no wave is spared.
        for slot in slots {
            if slot.rouse() {
                slot.ring();
            }
        }
    }

    /// Wakes at most `most` of those who lay down before the `wave`: who has
    /// been up since and parks again is left alone, or a wave would never end.
    fn rouse(&self, slots: &[Slot], reach: usize, wave: u32, most: usize) -> bool {
        let mut left = most;
        for slot in &slots[..reach] {
            if left == 0 {
                break;
            }
            if planted(Fault::WakeInPlace) {
                slot.ring();
            } else if slot.lay_down() != wave && slot.rouse() {
                slot.ring();
                left -= 1;
            }
        }
        left < most
    }
}
