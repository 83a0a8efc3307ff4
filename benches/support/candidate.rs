//! Pools as the benches drive them, all by the same calls.

use super::yardstick::Yardstick;
use std::ops::Range;
use std::time::Duration;

/// What a region runs: a contiguous range of its items. A reference to a
/// closure, so that candidates fit in one list; the call costs about 1 ns, for
/// all of them.
pub type Rows<'a> = &'a (dyn Fn(Range<usize>) + Sync);

/// A `for_each_row` of ferrox's signature but for `n_rows`, which is the length.
pub type ForEachRow = fn(&mut [f32], usize, RowFn<'_>);
pub type RowFn<'a> = &'a (dyn Fn(usize, &mut f32) + Sync + Send);

/// A pool that is up.
pub trait Fork {
    /// One region over `0..items`, each item `ops` multiply-adds, in one range
    /// per thread.
    fn region(&mut self, items: usize, ops: usize, rows: Rows<'_>);
}

/// What is measured on a pool; it may move to one of the pool's threads.
pub type Body<'a> = &'a mut (dyn FnMut(&mut dyn Fork) + Send);

/// A pool to be measured.
#[derive(Clone, Copy)]
pub struct Candidate {
    pub name: &'static str,
    pub threads: usize,
    /// Builds the pool, calls the body where its regions are to be opened, and
    /// drops the pool: several of them spin for ever, and must not while others
    /// are measured.
    pub open: fn(threads: usize, Body<'_>),
}

impl Candidate {
    pub fn run(&self, body: Body<'_>) {
        (self.open)(self.threads, body);
    }
}

/// Range `slot` of `width` over `0..items`.
#[inline(always)]
pub fn share(items: usize, width: usize, slot: usize) -> Range<usize> {
    items * slot / width..items * (slot + 1) / width
}

/// Runs everything on the caller.
pub const SERIAL: Candidate =
    Candidate { name: "serial", threads: 1, open: |_, body| body(&mut Serial) };

struct Serial;
impl Fork for Serial {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        rows(0..items);
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

impl Fork for rowpool::Pool {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        self.for_each_range(items, rows);
    }
}

/// rowpool with each region's size as its hint.
pub const ROWPOOL_HINTED: Candidate = Candidate {
    name: "rowpool, with_work",
    threads: 2,
    open: |threads, body| body(&mut Hinted(rowpool(threads))),
};

struct Hinted(rowpool::Pool);
impl Fork for Hinted {
    fn region(&mut self, items: usize, ops: usize, rows: Rows<'_>) {
        self.0.with_work(ops).for_each_range(items, rows);
    }
}

/// rowpool's drop-in module, used as [`Fork::region`] of ferrox is.
pub const ROWPOOL_THREADS: Candidate = Candidate {
    name: "rowpool::threads",
    threads: 2,
    open: |threads, body| body(&mut Slots { threads, for_each_row: rowpool_rows }),
};

/// rowpool's drop-in module.
pub fn rowpool_rows(rows: &mut [f32], cols: usize, f: RowFn<'_>) {
    rowpool::threads::for_each_row(rows, rows.len(), cols, f);
}

/// A `for_each_row`, called with one row for each thread.
pub struct Slots {
    pub threads: usize,
    pub for_each_row: ForEachRow,
}

impl Fork for Slots {
    fn region(&mut self, items: usize, ops: usize, rows: Rows<'_>) {
        let mut outputs = [0.0; 64];
        let width = self.threads.min(items);
        // An empty region says that it is just large enough for the gate.
        let cols = if ops == 0 { 256_000usize } else { items * ops }.div_ceil(width);
        (self.for_each_row)(&mut outputs[..width], cols, &|slot, _| {
            rows(share(items, width, slot))
        });
    }
}

/// The bare spin pool.
pub const YARDSTICK: Candidate = Candidate {
    name: "yardstick (bare spin pool)",
    threads: 2,
    open: |threads, body| body(&mut Yardstick::new(threads)),
};

impl Fork for Yardstick {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        Yardstick::region(self, items, rows);
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

impl Fork for Scope {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        let threads = self.threads;
        std::thread::scope(|scope| {
            for slot in 1..threads {
                scope.spawn(move || rows(share(items, threads, slot)));
            }
            rows(share(items, threads, 0));
        });
    }
}

/// Keeps the calling thread busy.
pub fn busy(time: Duration) {
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {
        std::hint::black_box(0);
    }
}

/// Opens empty regions until the pool's threads run on cores of their own.
pub fn warm_up(pool: &mut dyn Fork, threads: usize, time: Duration) {
    let begun = std::time::Instant::now();
    while begun.elapsed() < time {
        pool.region(threads, 0, &|_| ());
    }
}
