//! Several regions under one turn: each is an epoch of its own, published by
//! the caller that keeps the turn, and joined before the next.

use super::fault::{planted, Fault};
use super::job::Job;
use super::ledger::Ledger;
use super::nested::{self, Inside};
use super::panics::Bomb;
use super::team::Team;
use super::turn::Guard;
use super::Pool;
use std::time::Duration;

impl Pool {
    /// Runs `f`, whose regions on this pool are *steps*: they share one turn. A
    /// layer costs one turn so, and no other caller comes between two of its
    /// steps.
    ///
    /// A step is any region that the calling thread opens on this pool in `f`,
    /// by whichever shape, by [`gemv`](crate::gemv), and, on the process-wide
    /// pool, by [`par`](crate::par) or [`threads`](crate::threads) too. It ends
    /// before its call returns, as always: there is a barrier between any two
    /// steps, and what stands between them runs on the calling thread. Owners
    /// that are late in a step are relieved, results are bitwise those of
    /// regions by themselves, and regions inside of a step run inline.
    ///
    /// Other callers wait until `f` returns: wrap a layer or a token, not a
    /// conversation. In `f`, regions of *other* pools run inline, and so do
    /// those of a thread that `f` waits for, after 20 ms in vain. Inside of a
    /// region, and inside of another `scope_steps`, `f` is called as it is.
    ///
    /// # Panics
    /// If `f` does. A panic in a step is raised by the call that opened it, so
    /// that it cancels the later steps unless `f` catches it.
    ///
    /// ```
    /// let pool = rowpool::Pool::new(2)?;
    /// let (x, w) = (vec![1.0f32; 64], vec![0.5f32; 64 * 64]);
    /// let (mut h, mut y) = (vec![0.0f32; 64], vec![0.0f32; 64]);
    /// let product = |x: &[f32], row: usize| -> f32 {
    ///     w[row * 64..][..64].iter().zip(x).map(|(w, x)| w * x).sum()
    /// };
    /// pool.scope_steps(|| {
    ///     pool.for_each_row(&mut h, |row, out| *out = product(&x, row));
    ///     h.iter_mut().for_each(|h| *h = h.max(0.0)); // on this thread
    ///     pool.for_each_row(&mut y, |row, out| *out = product(&h, row));
    /// });
    /// assert_eq!(y[63], 1024.0);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn scope_steps<R>(&self, f: impl FnOnce() -> R) -> R {
        if !nested::outside() || self.team.active() < 2 || self.team.orphaned() {
            return f();
        }
        if !self.keep_caller_qos {
            crate::sys::raise_caller_qos();
        }
        self.team.steps(f)
    }
}

/// A turn that is kept from step to step.
struct Kept<'a> {
    team: &'a Team,
    turn: Option<Guard<'a, Ledger>>,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if self.team.orphaned() {
            // The turn is the parent's, who gives it; a lock of those who wait
            // for it may be held for ever here.
            std::mem::forget(self.turn.take());
        }
    }
}

impl Team {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether the calling thread keeps the turn, and no step runs on it.
    #[inline(always)]
    pub(crate) fn between_steps(&self) -> bool {
        nested::between_steps_of(self.address())
    }

    /// Runs `f` with the turn kept for its steps, by a thread that is outside of
    /// all regions.
    pub(crate) fn steps<R>(&self, f: impl FnOnce() -> R) -> R {
        let Some(turn) = self.turn.take() else {
            // What waits for this thread would wait for its regions too.
            let _inside = Inside::enter();
            return f();
        };
        let mut kept = Kept { team: self, turn: Some(turn) };
        if planted(Fault::StepsWithoutTurn) {
            kept.turn = None;
        }
        // Dropped first: without the turn there are no steps.
        let _steps = Inside::enter_steps(self.address());
        f()
    }

    /// [`region`](Self::region) under a turn that is kept.
    ///
    /// # Safety
    /// The calling thread is [`between_steps`](Self::between_steps); what the
    /// job borrows lives until this returns, and none of its slots has been run.
    pub(crate) unsafe fn step(&self, width: usize, hint: Option<Duration>, job: &Job<'_>) {
        assert!(1 < width && width <= self.slots.len() + 1, "a region has slots for threads");
        self.prepare(width, job);
        let inside = Inside::enter();
        let bomb = Bomb::armed("a step was left before its join");
        // SAFETY: the thread's mark says that it has the guard, in `steps`, which
        // does not use it before its end; and that no step runs, since the mark
        // is another one then. The step before was joined before its mark went.
        // The width was checked; the job is good by contract.
        let payload = unsafe { self.turn.held(|ledger| self.course(width, hint, job, ledger)) };
        bomb.defuse();
        drop(inside);
        self.turn.moved();
        if let Some(payload) = payload {
            std::panic::resume_unwind(payload);
        }
    }
}
