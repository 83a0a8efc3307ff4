//! candle 0.11's process-wide pool, for packages that have candle-core: its width
//! is what CANDLE_NUM_THREADS said at the first use. It parks by itself, and is
//! never dropped.

#![allow(dead_code)]

use crate::support::candidate::BARRIER_POOLS;
use crate::support::fork::{share, Candidate, Pool};
use crate::support::who::empty_slots;
use candle_core::utils::barrier_pool;
use std::ops::Range;

/// A range for each thread.
pub const CANDLE: Candidate =
    Candidate { name: BARRIER_POOLS[0], threads: 2, open: |_, body| body(&mut Candle) };

struct Candle;
impl Pool for Candle {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let pool = barrier_pool();
        let width = pool.n_workers() + 1;
        pool.execute(move |slot| rows(share(items, width, slot)));
    }

    fn empty(&mut self, _: usize) {
        barrier_pool().execute(|slot| empty_slots(slot..slot + 1));
    }
}

/// As candle calls it itself: eight chunks a thread, whoever comes takes one.
pub const CANDLE_CHUNKED: Candidate =
    Candidate { name: BARRIER_POOLS[1], threads: 2, open: |_, body| body(&mut Chunked) };

struct Chunked;
impl Pool for Chunked {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        barrier_pool().execute_chunked(items, rows);
    }

    fn empty(&mut self, slots: usize) {
        barrier_pool().execute_chunked(slots, empty_slots);
    }
}
