//! rowpool, and what needs no crate: serial code, scoped threads, the yardstick.

use super::fork::{candidate, pool, Candidate, Common, Fork, Pool, Shared};
use super::token::Token;
use super::yardstick::Yardstick;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs everything on the caller.
pub const SERIAL: Candidate = Candidate { threads: 1, ..candidate!("serial", |_| Serial) };

pub struct Serial;
pool!(Serial, |_| 1, |_, _, slot| slot(0));

/// rowpool, told nothing about the work.
pub const ROWPOOL: Candidate = candidate!("rowpool", |threads| rowpool(threads));
/// For several callers; as it is, and as a pool with one caller would be shared.
pub const ROWPOOL_COMMON: Common =
    Common { name: ROWPOOL.name, open: |body| body(&rowpool(ROWPOOL.threads)) };
pub const ROWPOOL_MUTEX: Common = Common {
    name: "rowpool, a mutex around it",
    open: |body| body(&Mutex::new(rowpool(ROWPOOL.threads))),
};

pub fn rowpool(threads: usize) -> rowpool::Pool {
    rowpool::Pool::new(threads).expect("a narrow pool")
}

pool!(
    rowpool::Pool,
    |own| own.num_threads(),
    |own, _, slot| own.for_each_range(own.num_threads(), move |slots| slots.for_each(&slot)),
    |own, items, rows| own.for_each_range(items, rows)
);

impl Shared for rowpool::Pool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        self.for_each_range(items, rows);
    }
}

/// rowpool's drop-in module on the process-wide pool, a row for each thread.
pub const ROWPOOL_THREADS: Candidate =
    candidate!("rowpool::threads", |threads| RowpoolThreads(threads));

struct RowpoolThreads(usize);
pool!(RowpoolThreads, |own| own.0, |own, ops, slot| {
    let row = move |at, _: &mut f32| slot(at);
    rowpool::threads::for_each_row(&mut [0.0; 64], own.0, columns(ops, own.0), row);
});

/// Columns of so many rows for so many multiply-adds; ferrox's gate opens from
/// 256 000 on, which an empty region claims.
pub fn columns(ops: usize, rows: usize) -> usize {
    (if ops == 0 { 256_000 } else { ops }).div_ceil(rows)
}

/// A pool with another way to run a step of the token.
struct Stepped<P, S>(P, S);

impl<P: Pool, S: Fn(&mut P, &mut Token)> Pool for Stepped<P, S> {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, ops: usize, slot: F) {
        self.0.slots(ops, slot);
    }

    fn step(&mut self, token: &mut Token) {
        (self.1)(&mut self.0, token);
    }
}

/// The token by `rowpool_gemv`; with one region for matrices that share their input;
/// with the regions of a layer as steps of one scope.
pub const GEMV: Candidate = candidate!("rowpool_gemv", |threads| gemv(threads, false, false));
pub const FUSED: Candidate = candidate!("rowpool, fused", |threads| gemv(threads, true, false));
pub const STEPS: Candidate = candidate!("rowpool, steps", |threads| gemv(threads, false, true));

fn gemv(threads: usize, fused: bool, steps: bool) -> impl Pool {
    let step = move |pool: &mut _, token: &mut Token| token.by_layers(pool, fused, steps);
    Stepped(rowpool(threads), step)
}

/// One region for the whole token, in which each thread does its rows of all the
/// matrices: what no pool can beat.
pub const LIMIT: Candidate =
    candidate!("limit (no regions)", |threads| Stepped(Yardstick::new(threads), limit));
fn limit(pool: &mut Yardstick, token: &mut Token) {
    token.limit(pool);
}

/// The bare spin pool.
pub const YARDSTICK: Candidate =
    candidate!("yardstick (bare spin pool)", |threads| Yardstick::new(threads));
pub const YARDSTICK_COMMON: Common = Common {
    name: "yardstick, a mutex around it",
    open: |body| body(&Mutex::new(Yardstick::new(YARDSTICK.threads))),
};

pool!(Yardstick, |own| own.width(), |own, _, slot| own.region(&slot));

/// `std::thread::scope`, a thread for each range but the first.
pub const SCOPE: Candidate = candidate!("std::thread::scope", |threads| Scope(threads));

struct Scope(usize);
pool!(Scope, |own| own.0, |own, _, slot| {
    let slot = &slot;
    std::thread::scope(|scope| {
        (1..own.0).for_each(|at| drop(scope.spawn(move || slot(at))));
        slot(0);
    });
});

/// Keeps the calling thread busy.
pub fn busy(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::black_box(0);
    }
}

/// Opens empty regions until the pool's threads run on cores of their own.
pub fn warm_up(pool: &mut dyn Fork, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        pool.empty(false);
    }
}
