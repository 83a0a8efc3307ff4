//! `join`: the fork of two.

use crate::global::in_worker;
use crate::job::StackJob;
use crate::seat::Seat;
use crate::spin_latch::SpinLatch;
use crate::unwind;
use crate::FnContext;

/// Runs two closures, the second on another worker if one is idle, and returns
/// both results.
///
/// From outside of a pool it runs in the global one. If one of them panics the
/// other is run nevertheless, and the panic is raised here, the first closure's
/// if both do.
///
/// ```
/// let (sum, product) = rayon_core::join(|| 2 + 3, || 2 * 3);
/// assert_eq!((sum, product), (5, 6));
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| oper_a(), |_| oper_b())
}

/// [`join`] whose closures are told whether they run on another thread than
/// the one that called.
///
/// ```
/// let (a, b) = rayon_core::join_context(|context| context.migrated(), |_| 1);
/// assert!(a, "from outside of a pool both count as moved");
/// assert_eq!(b, 1);
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(|seat, injected| {
        let job = StackJob::new(|moved| oper_b(FnContext::new(moved)), SpinLatch::new(seat));
        // SAFETY: from here on this function does not leave, by unwinding
        // either, before it has the job back or its latch is set.
        let name = unsafe { job.as_job() };
        let width = seat.width().get();
        let handed = if width > 1 { seat.hand_over(name) } else { None };
        if handed.is_none() {
            seat.push(name);
        }
        let first = unwind::catch(|| oper_a(FnContext::new(injected)));
        seat.width().set(width);
        let ours = match handed {
            Some(worker) => worker.mail.retract(name.letter()),
            None => take_back(seat, name, &job.latch),
        };
        match first {
            // SAFETY: we have it back.
            Ok(first) if ours => (first, unsafe { job.run_inline(injected) }),
            Ok(first) => {
                seat.wait(job.latch.flag());
                (first, job.into_result())
            }
            Err(payload) => {
                if ours {
                    // SAFETY: we have it back.
                    unsafe { job.run_and_forget() };
                } else {
                    seat.wait(job.latch.flag());
                }
                unwind::resume(payload)
            }
        }
    })
}

/// Runs what was pushed after the half, up to the half itself. False if others
/// have taken it.
#[inline]
fn take_back(seat: &Seat, half: crate::job::JobRef, latch: &SpinLatch) -> bool {
    while !latch.flag().is_set() {
        match seat.pop() {
            Some(job) if job == half => return true,
            Some(job) => seat.execute(job),
            None => return false,
        }
    }
    false
}
