//! rowpool, and what needs no crate: serial code, scoped threads, the yardstick.

use super::fork::{share, Candidate, Common, Fork, InTurn, Pool, Shared};
use super::who::empty_slots;
use super::yardstick::Yardstick;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs everything on the caller.
pub const SERIAL: Candidate =
    Candidate { name: "serial", threads: 1, open: |_, body| body(&mut Serial) };

struct Serial;
impl Pool for Serial {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        rows(0..items);
    }

    fn empty(&mut self, slots: usize) {
        empty_slots(0..slots);
    }
}

/// rowpool, told nothing about the work.
pub const ROWPOOL: Candidate =
    Candidate { name: "rowpool", threads: 2, open: |threads, body| body(&mut rowpool(threads)) };

/// The same with more threads than this machine has cores.
pub const ROWPOOL_OVER: Candidate = Candidate { name: "rowpool, 4 threads", threads: 4, ..ROWPOOL };

pub fn rowpool(threads: usize) -> rowpool::Pool {
    rowpool::Pool::new(threads).expect("a narrow pool")
}

impl Pool for rowpool::Pool {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        self.for_each_range(items, rows);
    }

    fn empty(&mut self, slots: usize) {
        self.for_each_range(slots, empty_slots);
    }
}

/// Two of them.
pub const ROWPOOL_TWICE: Candidate = Candidate {
    name: "two rowpools",
    threads: 2,
    open: |threads, body| body(&mut InTurn::new(|| rowpool(threads))),
};

/// For several callers.
pub const ROWPOOL_COMMON: Common =
    Common { name: ROWPOOL.name, open: |body| body(&rowpool(ROWPOOL.threads)) };

impl Shared for rowpool::Pool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        self.for_each_range(items, rows);
    }
}

/// rowpool's drop-in module on the process-wide pool, a row for each thread.
pub const ROWPOOL_THREADS: Candidate = Candidate {
    name: "rowpool::threads",
    threads: 2,
    open: |threads, body| body(&mut RowpoolThreads { threads }),
};

struct RowpoolThreads {
    threads: usize,
}

/// Multiply-adds from which ferrox's gate opens; an empty region claims them.
pub const GATE: usize = 256_000;

impl Pool for RowpoolThreads {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F) {
        let width = self.threads;
        let cols = if ops == 0 { GATE } else { items * ops }.div_ceil(width);
        let row = move |slot, _: &mut f32| rows(share(items, width, slot));
        rowpool::threads::for_each_row(&mut [0.0; 64], width, cols, row);
    }

    fn empty(&mut self, slots: usize) {
        let row = |slot, _: &mut f32| empty_slots(slot..slot + 1);
        rowpool::threads::for_each_row(&mut [0.0; 64], slots, GATE.div_ceil(slots), row);
    }
}

/// The bare spin pool.
pub const YARDSTICK: Candidate = Candidate {
    name: "yardstick (bare spin pool)",
    threads: 2,
    open: |threads, body| body(&mut Yardstick::new(threads)),
};

pub const YARDSTICK_TWICE: Candidate = Candidate {
    name: "two yardsticks",
    threads: 2,
    open: |threads, body| body(&mut InTurn::new(|| Yardstick::new(threads))),
};

pub const YARDSTICK_COMMON: Common = Common {
    name: "yardstick, a mutex around it",
    open: |body| body(&Mutex::new(Yardstick::new(YARDSTICK.threads))),
};

impl Pool for Yardstick {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        self.region(items, &rows);
    }

    fn empty(&mut self, slots: usize) {
        self.region(slots, &empty_slots);
    }
}

/// `std::thread::scope`, a thread for each range but the first.
pub const SCOPE: Candidate = Candidate {
    name: "std::thread::scope",
    threads: 2,
    open: |threads, body| body(&mut Scope { threads }),
};

struct Scope {
    threads: usize,
}

impl Pool for Scope {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let (threads, rows) = (self.threads, &rows);
        std::thread::scope(|scope| {
            for slot in 1..threads {
                scope.spawn(move || rows(share(items, threads, slot)));
            }
            rows(share(items, threads, 0));
        });
    }

    fn empty(&mut self, slots: usize) {
        self.run(slots, 0, empty_slots);
    }
}

/// candle 0.11's pool, a range for each thread and as candle calls it itself:
/// names of candidates that another package has (`barrier_pool.rs`).
pub const BARRIER_POOLS: [&str; 2] =
    ["candle 0.11 BarrierPool", "candle 0.11 BarrierPool, chunked"];

/// Keeps the calling thread busy.
pub fn busy(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::black_box(0);
    }
}

/// Opens empty regions until the pool's threads run on cores of their own.
pub fn warm_up(pool: &mut dyn Fork, threads: usize, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        pool.empty(threads);
    }
}
