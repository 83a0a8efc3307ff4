//! Pools as the benches drive them, all by the same calls.

use super::token::Token;
use super::who::empty_slots;
use std::hint::black_box;
use std::ops::Range;

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
