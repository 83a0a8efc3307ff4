//! Pools as the benches drive them, all by the same calls.

use super::token::{Paced, Token};
use super::who::empty_slots;
use std::hint::black_box;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A pool that is up.
pub trait Pool {
    /// One region over `0..items`, each item `ops` multiply-adds, in one range
    /// per thread. The pool gets the closure itself, as programs would hand it
    /// over: a box or reference around it costs a cache line.
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F);

    /// A region of `slots` times `empty_slots`, by a closure that captures
    /// nothing: one that does lies on the caller's stack, one more line that
    /// the others have to fetch.
    fn empty(&mut self, slots: usize);
}

/// A [`Pool`], whichever: what the benches do with it.
pub trait Fork {
    /// One empty region.
    fn empty(&mut self, slots: usize);
    /// One empty region by a closure that captures something, as real ones do.
    fn captured(&mut self, slots: usize);
    /// One region.
    fn region(&mut self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync));
    /// One step of the token: a region for each matrix.
    fn decode(&mut self, token: &mut Token);
    /// The same with the clock read at each region; given up after `limit`.
    fn paced(&mut self, token: &mut Token, limit: Duration) -> Paced;
    /// The regions of all matrices of one shape; how many there are.
    fn shape(&mut self, token: &mut Token, shape: (usize, usize)) -> usize;
    /// One step in one region.
    fn limit(&mut self, token: &mut Token, threads: usize);
}

impl<P: Pool> Fork for P {
    fn empty(&mut self, slots: usize) {
        Pool::empty(self, slots);
    }

    fn captured(&mut self, slots: usize) {
        let captured = black_box(1);
        self.run(slots, 0, move |slots| {
            black_box(captured);
            empty_slots(slots);
        });
    }

    fn region(&mut self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        self.run(items, 0, rows);
    }

    fn decode(&mut self, token: &mut Token) {
        token.decode(self);
    }

    fn paced(&mut self, token: &mut Token, limit: Duration) -> Paced {
        token.paced(self, limit)
    }

    fn shape(&mut self, token: &mut Token, shape: (usize, usize)) -> usize {
        token.shape(self, shape)
    }

    fn limit(&mut self, token: &mut Token, threads: usize) {
        token.limit(self, threads);
    }
}

/// Range `slot` of `width` over `0..items`.
#[inline(always)]
pub fn share(items: usize, width: usize, slot: usize) -> Range<usize> {
    items * slot / width..items * (slot + 1) / width
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

/// Two pools of a kind, used in turn, region by region.
pub struct InTurn<P> {
    pools: [P; 2],
    next: usize,
}

impl<P> InTurn<P> {
    pub fn new(pool: impl Fn() -> P) -> InTurn<P> {
        InTurn { pools: [pool(), pool()], next: 0 }
    }

    fn next(&mut self) -> &mut P {
        self.next = 1 - self.next;
        &mut self.pools[self.next]
    }
}

impl<P: Pool> Pool for InTurn<P> {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F) {
        self.next().run(items, ops, rows);
    }

    fn empty(&mut self, slots: usize) {
        Pool::empty(self.next(), slots);
    }
}

/// A pool that several threads call.
pub trait Shared: Sync {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync));
}

/// How a pool with one caller is shared.
impl<P: Pool + Send> Shared for Mutex<P> {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        self.lock().unwrap_or_else(PoisonError::into_inner).run(items, 0, rows);
    }
}

/// What is measured on a pool with several callers.
pub type SharedBody<'a> = &'a mut dyn FnMut(&dyn Shared);

/// A pool for several callers to be measured; as [`Candidate`], at two threads.
#[derive(Clone, Copy)]
pub struct Common {
    pub name: &'static str,
    pub open: fn(SharedBody<'_>),
}
