//! How a worker without work passes its time before it sleeps.

use crate::sync::{spin_loop, yield_now};
use std::time::{Duration, Instant};

/// Looks before the first search: a letter comes by itself, a search costs the
/// others their lines.
const FIRST_SEARCH: u32 = 8;
/// Looks from one search to the next, about a µs.
const SEARCH_EVERY: u32 = 32;
/// From here on a worker that finds nothing offers its CPU to others.
const YIELD_AFTER: Duration = Duration::from_micros(30);
/// And from here on it sleeps.
const SLEEP_AFTER: Duration = Duration::from_micros(200);
/// With more workers than CPUs: yields before it sleeps.
const CROWDED_YIELDS: u32 = 32;

pub(crate) struct Patience {
    looks: u32,
    begun: Option<Instant>,
    yields: bool,
    crowded: bool,
}

impl Patience {
    pub(crate) fn new(crowded: bool) -> Self {
        Patience { looks: 0, begun: None, yields: false, crowded }
    }

    pub(crate) fn searches(&self) -> bool {
        self.yields || self.looks % SEARCH_EVERY == FIRST_SEARCH
    }

    /// Waits a little; false when it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        self.looks += 1;
        if self.crowded && self.looks > 2 * SEARCH_EVERY {
            self.yields = true;
            yield_now();
            return self.looks < 2 * SEARCH_EVERY + CROWDED_YIELDS;
        }
        if self.yields || self.looks.is_multiple_of(64) {
            let waited = self.begun.get_or_insert_with(Instant::now).elapsed();
            self.yields = waited > YIELD_AFTER;
            if waited > SLEEP_AFTER {
                return false;
            }
        }
        if self.yields {
            yield_now();
        } else {
            spin_loop();
        }
        true
    }
}
