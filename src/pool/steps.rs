//! Several regions under one caller lock: each is an epoch of its own, published
//! by the caller that keeps the lock, and joined before the next.

use super::caller_lock::Scope;
use super::context::{self, Inside};
use super::failpoint::{planted, Fault};
use super::job::ErasedJob;
use super::team::Team;
use super::Pool;
use std::time::Duration;

impl Pool {
    /// Runs `f`, whose regions on this pool are *steps*: this caller keeps the
    /// pool from the first to the last, so that a token is not torn apart by
    /// other callers' regions.
    ///
    /// A step is any region that the calling thread opens on this pool in `f`,
    /// by whichever shape, and, on the process-wide pool, by [`par`](crate::par)
    /// or [`threads`](crate::threads) too. It ends before its call returns, as
    /// always: there is a barrier between any two steps, and what stands between
    /// them runs on the calling thread. Owners that are late in a step are helped,
    /// results are bitwise those of regions by themselves, and regions inside of
    /// a step run inline.
    ///
    /// Other callers wait until `f` returns, but not for ever: who has waited
    /// for 20 ms is let between two steps. Wrap a layer or a token, not a
    /// conversation. In `f`, regions of *other* pools run inline. Inside of a
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
        if !context::outside() || self.team.active() < 2 || self.team.orphaned() {
            return f();
        }
        if !self.keep_caller_qos {
            crate::sys::raise_caller_qos();
        }
        self.team.steps(f)
    }
}

/// A scope of steps: the caller lock is given when it is dropped.
struct StepScope<'a> {
    team: &'a Team,
    scope: Scope,
}

impl Drop for StepScope<'_> {
    fn drop(&mut self) {
        // A `fork()` child has a copy of the parent's lock, which nobody takes.
        if !self.team.orphaned() {
            self.team.caller_lock.end_scope(self.scope);
        }
    }
}

impl Team {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether the calling thread keeps the caller lock, and runs no slot.
    #[inline(always)]
    pub(crate) fn between_steps(&self) -> bool {
        context::between_steps_of(self.address())
    }

    /// Runs `f` with the caller lock kept for its steps, by a thread that is
    /// outside of all regions.
    pub(crate) fn steps<R>(&self, f: impl FnOnce() -> R) -> R {
        let Some(guard) = self.caller_lock.acquire(|holder| self.blocked(holder)) else {
            // What waits for this thread would wait for its regions too.
            let _inside = Inside::enter();
            return f();
        };
        let scope = guard.begin_scope();
        if planted(Fault::StepsWithoutLock) {
            self.caller_lock.end_scope(scope);
        }
        let scope = StepScope { team: self, scope };
        // Dropped before the scope: without the lock there are no steps.
        let _steps = Inside::enter_steps(self.address(), scope.scope.0);
        f()
    }

    /// [`region`](Self::region) as a step: with the lock that the thread keeps.
    ///
    /// # Safety
    /// The calling thread is [`between_steps`](Self::between_steps); what the
    /// job borrows lives until this returns, and none of its slots has been run.
    pub(crate) unsafe fn step(
        &self,
        width: usize,
        work: Option<Duration>,
        job: &ErasedJob<'_>,
    ) -> bool {
        assert!(1 < width && width <= self.workers.len() + 1, "a region has slots for threads");
        self.prepare(width, job);
        let scope = Scope(context::scope());
        // C1.
        let Some(guard) = self.caller_lock.retake(scope, |holder| self.blocked(holder)) else {
            return false;
        };
        // SAFETY: the width was checked; the rest is the contract.
        unsafe { self.run_region(guard, width, work, job, |guard| guard.keep(scope)) };
        true
    }
}
