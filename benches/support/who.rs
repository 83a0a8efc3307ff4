//! Which thread ran which slot of which region, noted without disturbing the
//! regions: each slot keeps its own list, on lines that nobody else touches.

use super::machine::Line;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// The notes on a row of equal regions.
pub struct Who {
    slots: Vec<Line<Notes>>,
}

#[derive(Default)]
struct Notes {
    regions: AtomicUsize,
    threads: Vec<AtomicU32>,
}

impl Who {
    /// For so many regions of so many slots, each of which runs once a region.
    pub fn new(slots: usize, regions: usize) -> Who {
        let notes = || {
            let threads = (0..regions).map(|_| AtomicU32::new(0)).collect();
            Line(Notes { regions: AtomicUsize::new(0), threads })
        };
        Who { slots: (0..slots).map(|_| notes()).collect() }
    }

    /// Notes the calling thread.
    #[inline]
    pub fn note(&self, slot: usize) {
        let Line(notes) = &self.slots[slot];
        // Relaxed, and no read-modify-write: one slot of one region at a time,
        // and the pool orders the regions.
        let region = notes.regions.load(Ordering::Relaxed);
        notes.regions.store(region + 1, Ordering::Relaxed);
        notes.threads[region].store(tag(), Ordering::Relaxed);
    }

    /// Calls `body` while `empty_slots` takes notes, for regions that capture
    /// nothing.
    pub fn watch(&mut self, body: impl FnOnce()) {
        CURRENT.store(self, Ordering::Release);
        body();
        CURRENT.store(null_mut(), Ordering::Release);
    }

    /// The share of regions in which at least two threads took part.
    pub fn forked(&self) -> f64 {
        let notes = |slot: usize| &self.slots[slot].0;
        let regions = notes(0).regions.load(Ordering::Relaxed);
        let who = |slot, region: usize| notes(slot).threads[region].load(Ordering::Relaxed);
        let forked =
            |&region: &usize| (1..self.slots.len()).any(|slot| who(slot, region) != who(0, region));
        (0..regions).filter(forked).count() as f64 / regions as f64
    }
}

/// Who takes notes now.
static CURRENT: AtomicPtr<Who> = AtomicPtr::new(null_mut());

/// What the slots of an empty region do: nothing, or a note.
#[inline(always)]
pub fn empty_slots(slots: Range<usize>) {
    let who = CURRENT.load(Ordering::Relaxed);
    if who.is_null() {
        std::hint::black_box(slots.start);
    } else {
        // SAFETY: `watch` borrows it while it stands there, and regions end
        // before they return; the pool orders them after the store.
        slots.for_each(|slot| unsafe { &*who }.note(slot));
    }
}

/// A number for the calling thread.
fn tag() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static TAG: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    TAG.with(|tag| {
        if tag.get() == 0 {
            tag.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        tag.get()
    })
}
