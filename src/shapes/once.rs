//! Closures that run once each, as slots of one region, and what they return.

use crate::partition::Split;
use crate::pool::{Pool, Region};
use crate::sync::UnsafeCell;

/// A closure before its call, its value afterwards.
enum State<F, R> {
    Waiting(F),
    /// It runs, or has panicked.
    Called,
    Done(R),
}

/// A closure that one slot calls.
struct Once<F, R>(UnsafeCell<State<F, R>>);

// SAFETY: the closure goes to the thread that calls it, the value comes back
// from there; `call` is for one thread.
unsafe impl<F: Send, R: Send> Sync for Once<F, R> {}

impl<R, F: FnOnce() -> R> Once<F, R> {
    fn new(f: F) -> Self {
        Once(UnsafeCell::new(State::Waiting(f)))
    }

    /// # Safety
    /// Called once, while nobody else uses this.
    #[inline(always)]
    unsafe fn call(&self) {
        // SAFETY: nobody else uses it (contract). The access is over before the
        // closure is called.
        let state = self.0.with_mut(|state| unsafe { state.replace(State::Called) });
        if let State::Waiting(f) = state {
            let value = f();
            // SAFETY: as above.
            self.0.with_mut(|state| unsafe { *state = State::Done(value) });
        }
    }

    /// The value, after the call; taken once.
    fn value(self) -> R {
        // SAFETY: it is ours alone.
        match self.0.with_mut(|state| unsafe { state.replace(State::Called) }) {
            State::Done(value) => value,
            _ => unreachable!("a region that has not panicked has called all"),
        }
    }
}

/// Something that is called by its index.
trait Calls: Sync {
    const LEN: usize;

    /// # Safety
    /// Each index is called once.
    unsafe fn call(&self, index: usize);
}

struct Calling<'a, C>(&'a C);

// SAFETY: what is not `Sync` is touched by `call`, each index of it by the one
// slot that has it.
unsafe impl<C: Calls> Region for Calling<'_, C> {
    #[inline(always)]
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>) {
        let indices = Split { weights: None, ..split }.range(C::LEN, slot, 1);
        // SAFETY: no other slot has these, and this one runs once (contract).
        indices.for_each(|index| unsafe { self.0.call(index) });
    }
}

#[inline(always)]
fn fork<C: Calls>(pool: &Pool, work: Option<u64>, calls: &C) {
    // SAFETY: `calls` and what it borrows outlive the call.
    unsafe { pool.fork(C::LEN, work, Calling(calls)) };
}

impl<A, RA, B, RB> Calls for (Once<A, RA>, Once<B, RB>)
where
    A: FnOnce() -> RA + Send,
    RA: Send,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    const LEN: usize = 2;

    #[inline(always)]
    unsafe fn call(&self, index: usize) {
        // SAFETY: each index is called once (contract), and each is another.
        unsafe {
            match index {
                0 => self.0.call(),
                _ => self.1.call(),
            }
        }
    }
}

impl<A, RA, B, RB, C, RC> Calls for (Once<A, RA>, Once<B, RB>, Once<C, RC>)
where
    A: FnOnce() -> RA + Send,
    RA: Send,
    B: FnOnce() -> RB + Send,
    RB: Send,
    C: FnOnce() -> RC + Send,
    RC: Send,
{
    const LEN: usize = 3;

    #[inline(always)]
    unsafe fn call(&self, index: usize) {
        // SAFETY: each index is called once (contract), and each is another.
        unsafe {
            match index {
                0 => self.0.call(),
                1 => self.1.call(),
                _ => self.2.call(),
            }
        }
    }
}

/// Calls both, in one region.
#[inline(always)]
pub(crate) fn once2<RA: Send, RB: Send>(
    pool: &Pool,
    work: Option<u64>,
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let calls = (Once::new(a), Once::new(b));
    fork(pool, work, &calls);
    (calls.0.value(), calls.1.value())
}

/// Calls all three, in one region.
#[inline(always)]
pub(crate) fn once3<RA: Send, RB: Send, RC: Send>(
    pool: &Pool,
    work: Option<u64>,
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
    c: impl FnOnce() -> RC + Send,
) -> (RA, RB, RC) {
    let calls = (Once::new(a), Once::new(b), Once::new(c));
    fork(pool, work, &calls);
    (calls.0.value(), calls.1.value(), calls.2.value())
}
