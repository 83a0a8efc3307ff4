//! One team with rowpool: the threads of a plain global pool are the workers of
//! rowpool's process-wide pool, which look for tasks here where they look for its
//! next region. How they wait, sleep and share their CPUs is rowpool's. Seat `i`
//! is held by the worker of slot `i`, for ever; slot 0 is a caller's there and seat
//! 0 is one here.
//!
//! A worker that runs a region's slot has shut its letter box and passed on what
//! it saw, as one that runs a task. What it calls of this package in that slot
//! it calls as the worker that it is.

use crate::global;
use crate::registry::Registry;
use crate::seat::Seat;
use rowpool::{Guest, Pool};
use std::sync::Arc;

/// Looks at the host's before the first search, and from one to the next: a
/// letter comes by itself, a search costs the others their lines.
const FIRST_SEARCH: u32 = 8;
const SEARCH_EVERY: u32 = 32;

/// What rowpool's workers know this package by: an address, so it has a size.
struct Tasks(#[allow(dead_code)] u8);

static TASKS: Tasks = Tasks(0);

/// The widest pool of rowpool's; a wider one here has threads of its own beyond.
const MOST: usize = 512;

/// The process-wide pool as a host. If it is not there yet, it is made as wide as
/// the program has said here. `None` if it works for somebody else.
pub(crate) fn pool(width: usize) -> Option<&'static Pool> {
    let pool = Pool::builder().width(width.min(MOST)).build_global().ok()?;
    pool.host(&TASKS).then_some(pool)
}

/// The seat of a worker of the host's, if it has one.
#[inline]
fn seat(slot: usize) -> Option<&'static Seat> {
    let registry: &'static Arc<Registry> = global::built()?;
    registry.is_hosted(slot).then(|| registry.seat(slot))
}

impl Guest for Tasks {
    #[inline]
    fn look(&self, slot: usize) -> bool {
        seat(slot).is_some_and(look)
    }

    fn work(&self, slot: usize) {
        let Some(seat) = seat(slot) else { return };
        seat.looks().set(0);
        if seat.read_mail(seat.mail.take()).is_none() {
            seat.search(&seat.stop);
        }
    }

    fn stop_looking(&self, slot: usize) -> bool {
        let Some(seat) = seat(slot) else { return true };
        if !seat.mail.is_shut() {
            if !seat.mail.shut_empty() {
                return false;
            }
            seat.registry().pass_on();
        }
        true
    }

    fn park(&self, slot: usize) {
        let Some(seat) = seat(slot) else { return };
        begin(seat);
        seat.bell.park(seat.registry().sleepers());
    }

    fn pending(&self, slot: usize) -> bool {
        // Awake: somebody has roused it, for a job that is gone again perhaps, and
        // counts on it from then on.
        seat(slot).is_some_and(|seat| seat.bell.is_awake() || seat.is_wanted())
    }

    fn rise(&self, slot: usize) {
        if let Some(seat) = seat(slot) {
            seat.bell.unpark(seat.registry().sleepers());
        }
    }
}

#[inline]
fn look(seat: &'static Seat) -> bool {
    if seat.mail.is_shut() {
        begin(seat);
    }
    let looks = seat.looks().get();
    seat.looks().set(looks.wrapping_add(1));
    // With more workers than CPUs the host gives the CPU away after each look.
    let searches = looks % SEARCH_EVERY == FIRST_SEARCH || seat.registry().crowded();
    seat.mail.has_letter() || (searches && seat.is_wanted())
}

/// The calling worker begins to look.
#[cold]
fn begin(seat: &'static Seat) {
    // SAFETY: the host calls for a slot on the thread of that slot's worker alone,
    // no other thread is made for a hosted seat, and it is never vacated; so this
    // is its one holder. The registry is the global one, which lives for ever.
    unsafe { Seat::set_current(Some(seat)) };
    seat.bell.unpark(seat.registry().sleepers());
    seat.mail.open();
}
