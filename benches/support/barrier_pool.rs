//! candle 0.11's process-wide pool, for packages that have candle-core: its width
//! is what CANDLE_NUM_THREADS said at the first use. It parks by itself, and is
//! never dropped.

#![allow(dead_code)]

use crate::support::fork::{candidate, pool, Candidate};
use candle_core::utils::barrier_pool;

/// A range for each thread.
pub const CANDLE: Candidate = candidate!("candle 0.11 BarrierPool", |_| Candle);
/// As candle calls it itself: eight chunks a thread, whoever comes takes one.
pub const CANDLE_CHUNKED: Candidate = candidate!("candle 0.11 BarrierPool, chunked", |_| Chunked);

fn width() -> usize {
    barrier_pool().n_workers() + 1
}

struct Candle;
pool!(Candle, |_| width(), |_, _, slot| barrier_pool().execute(slot));

struct Chunked;
pool!(
    Chunked,
    |_| width(),
    |_, _, slot| barrier_pool().execute_chunked(width(), move |slots| slots.for_each(&slot)),
    |_, items, rows| barrier_pool().execute_chunked(items, rows)
);
