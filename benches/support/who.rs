//! Which threads took part in an empty region, noted without disturbing it: each
//! slot has a line of its own, and the caller looks when the region is over.

use super::machine::Line;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static WATCHED: AtomicBool = AtomicBool::new(false);
/// The thread that ran each slot last.
static RAN: [Line<AtomicU32>; 16] = [const { Line(AtomicU32::new(0)) }; 16];

/// What a slot of an empty region does: nothing, or a note. Relaxed: the pool
/// orders a region's slots before its end.
#[inline(always)]
pub fn empty_slot(slot: usize) {
    if WATCHED.load(Ordering::Relaxed) {
        RAN[slot].0.store(tag(), Ordering::Relaxed);
    } else {
        std::hint::black_box(slot);
    }
}

/// The share of `regions` empty regions of `slots` slots in which at least two
/// threads took part.
pub fn forked(slots: usize, regions: usize, mut region: impl FnMut()) -> f64 {
    WATCHED.store(true, Ordering::Relaxed);
    let mut forked = 0;
    for _ in 0..regions {
        region();
        let ran = |slot: usize| RAN[slot].0.load(Ordering::Relaxed);
        forked += usize::from((1..slots).any(|slot| ran(slot) != ran(0)));
    }
    WATCHED.store(false, Ordering::Relaxed);
    forked as f64 / regions as f64
}

/// A number for the calling thread.
fn tag() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static TAG: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
    TAG.with(|tag| *tag)
}
