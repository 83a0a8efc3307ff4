//! The type-erased region: what a caller lends to its workers. The only
//! lifetime erasure.
//!
//! Everything that a worker needs lies in the gate's own line, except the
//! user's closure, which stays on the caller's stack: each further line that a
//! worker had to fetch from there cost some 100 ns a region (measured: the
//! shapes' own closures on the stack took an empty fork from 150 to 450 ns).

use crate::partition::Split;
use crate::sys::fp;
use std::marker::PhantomData;

/// How a shape runs one slot of its region.
///
/// # Safety
/// `run_slot` may touch the data behind `args` only where no other slot of the
/// same split does.
pub(crate) unsafe trait Shape<F: Sync> {
    /// Runs `slot` of `split`.
    ///
    /// # Safety
    /// `args` are the region's, whose data is mutably borrowed for it, and each
    /// slot of it is run once.
    unsafe fn run_slot(args: &Args, f: &F, slot: usize, split: Split<'_>);
}

/// What a shape knows of its region: a few words, copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    /// Start of the slice that the region takes apart, or null.
    pub(crate) base: *mut (),
    /// Elements of the slice, or indices.
    pub(crate) len: usize,
    /// Elements in a chunk.
    pub(crate) chunk: usize,
    /// Slots begin at multiples of this many items.
    pub(crate) unit: u32,
    /// The caller's floating point control bits; here, since it fits the gap.
    pub(super) fp: fp::State,
}

impl Args {
    const NONE: Args =
        Args { base: std::ptr::null_mut(), len: 0, chunk: 0, unit: 1, fp: fp::State::UNSET };

    /// The arguments of a region that is opened by the calling thread.
    #[inline(always)]
    pub(crate) fn new(base: *mut (), len: usize, chunk: usize, unit: u32) -> Self {
        Args { base, len, chunk, unit, fp: fp::State::current() }
    }
}

/// A borrowed region without its types and lifetime, and the floating point
/// state to run it under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    erased: Erased,
    borrow: PhantomData<&'a ()>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Erased {
    closure: *const (),
    call: unsafe fn(*const (), &Args, usize, Split<'_>),
    args: Args,
}

// With the word and the report it fits one line of 64 bytes.
const _: () = assert!(size_of::<Erased>() <= 48);

impl<'a> Job<'a> {
    /// Lends `f` for the time of a region.
    #[inline(always)]
    pub(crate) fn new<S: Shape<F>, F: Sync>(args: Args, f: &'a F) -> Self {
        let erased = Erased { closure: std::ptr::from_ref(f).cast(), call: call::<S, F>, args };
        Job { erased, borrow: PhantomData }
    }

    /// The empty job under the calling thread's floating point state.
    pub(super) fn empty() -> Job<'static> {
        let args = Args::new(std::ptr::null_mut(), 0, 0, 1);
        Job { erased: Erased { args, ..Erased::NONE }, borrow: PhantomData }
    }

    /// Drops the lifetime: from here on it is up to the region's join.
    #[inline(always)]
    pub(super) fn erase(self) -> Erased {
        self.erased
    }
}

impl Erased {
    /// Does nothing; what a gate holds before the first region.
    pub(super) const NONE: Erased =
        Erased { closure: std::ptr::null(), call: nothing, args: Args::NONE };

    /// Gives the calling thread the caller's floating point state.
    #[inline(always)]
    pub(super) fn adopt_fp(&self) {
        self.args.fp.adopt();
    }

    /// Runs one slot.
    ///
    /// # Safety
    /// The job's borrow is alive until this returns, and no other call runs
    /// this slot of this region.
    #[inline(always)]
    pub(super) unsafe fn run(&self, slot: usize, split: Split<'_>) {
        // SAFETY: `closure` points to the `F` that `call` was made for
        // (`Job::new` sets both), and it is alive (contract).
        unsafe { (self.call)(self.closure, &self.args, slot, split) }
    }
}

unsafe fn call<S: Shape<F>, F: Sync>(
    closure: *const (),
    args: &Args,
    slot: usize,
    split: Split<'_>,
) {
    // SAFETY: `Job::new` made `closure` from an `&F`, alive by `run`'s
    // contract; it may be shared between threads: `F: Sync`.
    let f = unsafe { &*closure.cast::<F>() };
    // SAFETY: the args are the region's, and each slot is run once (contract).
    unsafe { S::run_slot(args, f, slot, split) };
}

unsafe fn nothing(_: *const (), _: &Args, slot: usize, _: Split<'_>) {
    std::hint::black_box(slot);
}
