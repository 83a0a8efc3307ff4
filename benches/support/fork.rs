//! Pools as the benches drive them, all by the same calls.

use super::token::{Paced, Token};
use super::who::empty_slot;
use std::hint::black_box;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A pool that is up.
pub trait Pool: Sized {
    /// Threads that share a region, the caller's included.
    fn width(&self) -> usize;

    /// One region of `ops` multiply-adds (0: it is empty): calls `slot` once for
    /// each number below the width. The pool gets the closure itself, as programs
    /// would hand it over: a box or reference around it costs a cache line.
    fn slots<F: Fn(usize) + Send + Sync>(&mut self, ops: usize, slot: F);

    /// One region over `0..items`, each item `ops` multiply-adds, in one range
    /// per thread.
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F) {
        let width = self.width();
        self.slots(items * ops, move |slot| rows(share(items, width, slot)));
    }

    /// One step of the token: a region for each matrix, where nothing else is
    /// what is to be measured.
    fn step(&mut self, token: &mut Token) {
        token.decode(self);
    }
}

/// A [`Pool`], whichever: what the benches do with it.
pub trait Fork {
    /// One empty region; `captures`: by a closure that captures something, as real ones
    /// do. On the caller's stack that is one more line for the others to fetch.
    fn empty(&mut self, captures: bool);
    /// One region.
    fn region(&mut self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync));
    /// One step of the token.
    fn decode(&mut self, token: &mut Token);
    /// The same with the clock read at each region; given up after `limit`.
    fn paced(&mut self, token: &mut Token, limit: Duration) -> Paced;
}

impl<P: Pool> Fork for P {
    fn empty(&mut self, captures: bool) {
        if !captures {
            return self.slots(0, empty_slot);
        }
        let captured = black_box(1);
        self.slots(0, move |slot| {
            black_box(captured);
            empty_slot(slot);
        });
    }

    fn region(&mut self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        self.run(items, 0, rows);
    }

    fn decode(&mut self, token: &mut Token) {
        self.step(token);
    }

    fn paced(&mut self, token: &mut Token, limit: Duration) -> Paced {
        token.paced(self, limit)
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
    /// The same with two pools that are used in turn.
    pub twice: Option<fn(threads: usize, Body<'_>)>,
}

impl Candidate {
    /// What the body finds on the pool.
    pub fn run<T: Send>(&self, mut body: impl FnMut(&mut dyn Fork) -> T + Send) -> T {
        let mut found = None;
        (self.open)(self.threads, &mut |pool| found = Some(body(pool)));
        found.expect("the body is called")
    }
}

/// The candidate of a pool at two threads: `candidate!("name", |threads| pool)`, or
/// `|threads, body| ...` where the body is called inside of the pool.
macro_rules! candidate {
    ($name:expr, |$threads:pat_param, $body:pat_param| $open:expr) => {
        $crate::support::fork::Candidate {
            name: $name,
            threads: 2,
            open: |$threads, $body| $open,
            twice: None,
        }
    };
    ($name:expr, |$threads:pat_param| $pool:expr) => {
        $crate::support::fork::Candidate {
            name: $name,
            threads: 2,
            open: |$threads, body| body(&mut $pool),
            twice: Some(|$threads, body| {
                body(&mut $crate::support::fork::InTurn::new(|| $pool));
            }),
        }
    };
}
pub(crate) use candidate;

/// The [`Pool`] that a type is: `pool!(Type, |own| its width, |own, ops, slot| its slots)`,
/// with `|own, items, rows| ...` where it runs ranges by itself.
macro_rules! pool {
    (
        $pool:ty, |$wide:pat_param| $width:expr,
        |$own:pat_param, $ops:pat_param, $slot:ident| $slots:expr
        $(, |$runs:pat_param, $items:ident, $rows:ident| $run:expr)?
    ) => {
        impl $crate::support::fork::Pool for $pool {
            fn width(&self) -> usize {
                let $wide = self;
                $width
            }

            fn slots<F: Fn(usize) + Send + Sync>(&mut self, $ops: usize, $slot: F) {
                let $own = self;
                $slots
            }

            $(fn run<F>(&mut self, $items: usize, _: usize, $rows: F)
            where
                F: Fn(std::ops::Range<usize>) + Send + Sync,
            {
                let $runs = self;
                $run
            })?
        }
    };
}
pub(crate) use pool;

/// A pool of another's type, with its width.
pub struct With<P>(pub P, pub usize);

/// Two pools of a kind, used in turn, region by region.
pub struct InTurn<P>([P; 2]);

impl<P> InTurn<P> {
    pub fn new(pool: impl Fn() -> P) -> InTurn<P> {
        InTurn([pool(), pool()])
    }
}

impl<P: Pool> Pool for InTurn<P> {
    fn width(&self) -> usize {
        self.0[0].width()
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, ops: usize, slot: F) {
        self.0.swap(0, 1);
        self.0[0].slots(ops, slot);
    }

    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F) {
        self.0.swap(0, 1);
        self.0[0].run(items, ops, rows);
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

/// A pool for several callers to be measured; as [`Candidate`], at two threads.
#[derive(Clone, Copy)]
pub struct Common {
    pub name: &'static str,
    pub open: fn(WithShared<'_>),
}

/// What is done with a pool that several callers use.
type WithShared<'a> = &'a mut dyn FnMut(&dyn Shared);

impl Common {
    pub fn run<T>(&self, mut body: impl FnMut(&dyn Shared) -> T) -> T {
        let mut found = None;
        (self.open)(&mut |pool| found = Some(body(pool)));
        found.expect("the body is called")
    }
}
