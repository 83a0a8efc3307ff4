//! Work, type-erased: the only file that forgets lifetimes.
//!
//! A job begins with a `Head`, so that one word names it: it fits into a letter
//! box and into one word of a deque.

use crate::latch::Latch;
use crate::unwind::{self, AbortIfPanic};
use crossbeam_deque::{Injector, Steal};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;

/// The first field of every job.
pub(crate) struct Head {
    run: unsafe fn(*const Head),
    /// How many workers this job may hand halves to, itself included. Written
    /// before the job is given away.
    width: Cell<usize>,
}

impl Head {
    fn new(run: unsafe fn(*const Head)) -> Self {
        Head { run, width: Cell::new(1) }
    }
}

// SAFETY: `width` is written by who has the job to itself, and read by who has
// taken it since.
unsafe impl Sync for Head {}

/// A job that is to be run once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(*const Head);

// SAFETY: jobs are made of closures that are `Send`, and results that are.
unsafe impl Send for JobRef {}
// SAFETY: a shared `JobRef` gives out copies of an address only.
unsafe impl Sync for JobRef {}

impl JobRef {
    pub(crate) fn letter(self) -> *const Head {
        self.0
    }

    /// # Safety
    /// The letter was a job's, and whoever calls has taken it.
    pub(crate) unsafe fn from_letter(letter: *const Head) -> JobRef {
        JobRef(letter)
    }

    /// # Safety
    /// The job has not been given away yet, or whoever calls has taken it.
    pub(crate) unsafe fn set_width(self, width: usize) {
        // SAFETY: the job is alive and nobody else's.
        unsafe { (*self.0).width.set(width) }
    }

    /// Runs it with `begin`, which is given its width first.
    ///
    /// # Safety
    /// Whoever calls has taken the job, and it has not run.
    #[inline]
    pub(crate) unsafe fn run(self, begin: impl FnOnce(usize)) {
        // SAFETY: a job that has not run is alive.
        unsafe {
            begin((*self.0).width.get());
            ((*self.0).run)(self.0)
        }
    }
}

enum Outcome<R> {
    None,
    Ok(R),
    Panic(Box<dyn Any + Send>),
}

/// A job on the stack of somebody who waits for its latch.
#[repr(C)]
pub(crate) struct StackJob<L, F, R> {
    head: Head,
    pub(crate) latch: L,
    func: UnsafeCell<Option<F>>,
    outcome: UnsafeCell<Outcome<R>>,
}

impl<L, F, R> StackJob<L, F, R>
where
    L: Latch,
    F: FnOnce(bool) -> R + Send,
    R: Send,
{
    pub(crate) fn new(func: F, latch: L) -> Self {
        StackJob {
            head: Head::new(Self::run),
            latch,
            func: UnsafeCell::new(Some(func)),
            outcome: UnsafeCell::new(Outcome::None),
        }
    }

    /// # Safety
    /// Whoever calls keeps `self` in place until the latch is set or it has
    /// taken the job back.
    pub(crate) unsafe fn as_job(&self) -> JobRef {
        JobRef((self as *const Self).cast())
    }

    /// Runs the closure in place.
    ///
    /// # Safety
    /// The job has been taken back, or was never given away.
    #[inline]
    pub(crate) unsafe fn run_inline(&self, migrated: bool) -> R {
        // SAFETY: nobody else runs it.
        let func = unsafe { (*self.func.get()).take() };
        func.expect("a job runs once")(migrated)
    }

    /// Runs it after the other half has panicked: what this one raises too is
    /// lost.
    ///
    /// # Safety
    /// As for `run_inline`.
    pub(crate) unsafe fn run_and_forget(&self) {
        // SAFETY: the caller's promise.
        if let Err(lost) = unwind::catch(|| unsafe { self.run_inline(true) }) {
            unwind::discard(lost);
        }
    }

    unsafe fn run(head: *const Head) {
        let this: *const Self = head.cast();
        let guard = AbortIfPanic;
        // SAFETY: `head` is the first field of a `StackJob` (`repr(C)`), which
        // is alive until its latch is set; whoever runs it has taken it, so
        // nobody else touches the cells.
        unsafe {
            let func = (*(*this).func.get()).take().expect("a job runs once");
            *(*this).outcome.get() = match unwind::catch(|| func(true)) {
                Ok(result) => Outcome::Ok(result),
                Err(payload) => Outcome::Panic(payload),
            };
            L::set(&raw const (*this).latch);
        }
        std::mem::forget(guard);
    }

    /// What came of it, after the latch was set.
    #[inline]
    pub(crate) fn into_result(self) -> R {
        match self.outcome.into_inner() {
            Outcome::Ok(result) => result,
            Outcome::Panic(payload) => unwind::resume(payload),
            Outcome::None => unreachable!("a latch is set after its job"),
        }
    }
}

/// A job that nobody waits for in place.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    head: Head,
    func: ManuallyDrop<F>,
}

impl<F: FnOnce() + Send> HeapJob<F> {
    /// The closure must not panic: there is nobody to raise it.
    ///
    /// # Safety
    /// What the closure borrows is alive until it has run.
    pub(crate) unsafe fn boxed(func: F) -> JobRef {
        let head = Head::new(Self::run);
        JobRef(Box::into_raw(Box::new(HeapJob { head, func: ManuallyDrop::new(func) })).cast())
    }

    unsafe fn run(head: *const Head) {
        let guard = AbortIfPanic;
        // SAFETY: `head` is the first field of a boxed `HeapJob` (`repr(C)`),
        // and the job runs once, so the box and the closure are taken once.
        let job = unsafe { Box::from_raw(head.cast::<Self>().cast_mut()) };
        let func = ManuallyDrop::into_inner(job.func);
        func();
        std::mem::forget(guard);
    }
}

/// Jobs in the order in which they came. A deque gives the newest first, so it
/// gets this queue's name for each of them, and runs the oldest instead.
#[repr(C)]
pub(crate) struct Fifo {
    head: Head,
    jobs: Injector<JobRef>,
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Fifo { head: Head::new(Self::run), jobs: Injector::new() }
    }

    /// The job to put in a deque in place of this one.
    ///
    /// # Safety
    /// The queue is in place until as many jobs have run as were pushed.
    pub(crate) unsafe fn push(&self, job: JobRef) -> JobRef {
        self.jobs.push(job);
        JobRef((self as *const Self).cast())
    }

    unsafe fn run(head: *const Head) {
        // SAFETY: `head` is the first field of a `Fifo` (`repr(C)`), which is
        // in place until the job that is taken here has run. As many are
        // taken as were pushed, so there is one.
        unsafe {
            let job = take(&(*head.cast::<Self>()).jobs).expect("one job for each name");
            job.run(|_| ());
        }
    }
}

/// The oldest job of a queue.
pub(crate) fn take(queue: &Injector<JobRef>) -> Option<JobRef> {
    loop {
        match queue.steal() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}
