//! The type-erased region: what a caller lends to its workers.
//!
//! All that a worker needs lies in the gate's own lines: the region (what to
//! do, the slice, the user's closure) is moved there for its time. Left on the
//! caller's stack, its line would go to and fro between the cores too
//! (MEASUREMENTS, "fork by a closure that captures").

use crate::partition::Split;
use crate::sys::fp;
use std::marker::PhantomData;
use std::mem::{needs_drop, MaybeUninit};

/// A parallel loop that knows how to run any of its slots.
///
/// # Safety
/// `run_slot` may touch data that is not `Sync` only where no other slot of
/// the same split does.
pub(crate) unsafe trait Region: Sync {
    /// Runs `slot` of `split`.
    ///
    /// # Safety
    /// What the region borrows is alive, and each slot of it is run once, all
    /// by the same split.
    unsafe fn run_slot(&self, slot: usize, split: Split<'_>);
}

/// A region is moved in blocks of this size, so that one copy serves all types.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Block(MaybeUninit<[u64; 4]>);

const BLOCKS: usize = 3;

/// Where a region lies while it runs. The first block shares a line of 64
/// bytes with the gate's word: small closures cost no other.
#[derive(Debug)]
#[repr(C)]
pub(super) struct JobBuffer([Block; BLOCKS]);

impl JobBuffer {
    pub(super) const EMPTY: JobBuffer = JobBuffer([Block(MaybeUninit::uninit()); BLOCKS]);
}

type Call = unsafe fn(*const JobBuffer, usize, Split<'_>);

/// How to run a region that lies in its buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobHeader {
    call: Call,
    /// The caller's floating point control bits.
    fp: fp::State,
}

impl JobHeader {
    /// Does nothing; what a gate holds before the first region.
    pub(super) const NONE: JobHeader = JobHeader { call: nothing, fp: fp::State::UNSET };

    /// Gives the calling thread the caller's floating point state.
    #[inline(always)]
    pub(super) fn adopt_fp(self) {
        self.fp.adopt();
    }

    /// Runs one slot.
    ///
    /// # Safety
    /// The region of this header lies in `buffer` and stays there until this
    /// returns, what it borrows is alive, and no other call runs this slot.
    #[inline(always)]
    pub(super) unsafe fn run(self, buffer: *const JobBuffer, slot: usize, split: Split<'_>) {
        // SAFETY: `call` was made for the type that lies in `buffer` (`OwnedJob`
        // sets both); the rest is the contract.
        unsafe { (self.call)(buffer, slot, split) }
    }
}

/// A region that can be moved into a buffer and back.
#[derive(Debug)]
pub(crate) struct OwnedJob<R> {
    region: Aligned<R>,
    pointer: Aligned<*const R>,
}

/// Fills whole blocks.
#[derive(Debug)]
#[repr(C, align(32))]
struct Aligned<T>(T);

const _: () = assert!(size_of::<Aligned<*const ()>>() == size_of::<Block>());

impl<R: Region> OwnedJob<R> {
    /// Others stay where they are and send a pointer.
    const FITS: bool = size_of::<Aligned<R>>() <= size_of::<JobBuffer>()
        && align_of::<Aligned<R>>() <= align_of::<Block>();

    #[inline(always)]
    pub(crate) fn new(region: R) -> Self {
        OwnedJob { region: Aligned(region), pointer: Aligned(std::ptr::null()) }
    }

    /// Lends the region for the time that it runs.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> ErasedJob<'_> {
        let (call, place, blocks): (Call, *mut Block, _) = if Self::FITS {
            let blocks = size_of::<Aligned<R>>() / size_of::<Block>();
            (call::<R>, (&raw mut self.region).cast(), blocks)
        } else {
            self.pointer = Aligned(&raw const self.region.0);
            (call_through::<R>, (&raw mut self.pointer).cast(), 1)
        };
        let returns = Self::FITS && needs_drop::<R>();
        let header = JobHeader { call, fp: fp::State::current() };
        ErasedJob { header, place, blocks, returns, borrow: PhantomData }
    }

    /// The region, when it is not lent.
    #[inline(always)]
    pub(crate) fn region(&self) -> &R {
        &self.region.0
    }
}

/// A region that is lent.
#[derive(Debug)]
pub(crate) struct ErasedJob<'a> {
    header: JobHeader,
    /// Where it comes from.
    place: *mut Block,
    blocks: usize,
    /// Whether it has to go back there, since it will be dropped there.
    returns: bool,
    borrow: PhantomData<&'a mut ()>,
}

impl ErasedJob<'_> {
    /// The empty region under the calling thread's floating point state.
    pub(super) fn empty() -> ErasedJob<'static> {
        let header = JobHeader { fp: fp::State::current(), ..JobHeader::NONE };
        let place = std::ptr::null_mut();
        ErasedJob { header, place, blocks: 0, returns: false, borrow: PhantomData }
    }

    #[inline(always)]
    pub(super) fn header(&self) -> JobHeader {
        self.header
    }

    /// Whether the buffer's second line is needed.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.blocks > 1
    }

    /// Moves the region in.
    ///
    /// # Safety
    /// Nobody uses `buffer` now.
    #[inline(always)]
    pub(super) unsafe fn store_into(&self, buffer: *mut JobBuffer) {
        // SAFETY: `place` has so many blocks, aligned (`OwnedJob::lend`), `buffer`
        // has room for them and is not in use (contract). Bytes that are
        // padding are copied as such: blocks may be uninitialised.
        unsafe { copy(self.place, buffer.cast(), self.blocks) };
    }

    /// Moves the region back, if anybody will look.
    ///
    /// # Safety
    /// It was moved in, and nobody uses `buffer` any more.
    #[inline(always)]
    pub(super) unsafe fn take_back(&self, buffer: *mut JobBuffer) {
        if self.returns {
            // SAFETY: as in `store_into`, the other way round. The region lies in
            // one place at a time: `OwnedJob` is borrowed and not looked at.
            unsafe { copy(buffer.cast(), self.place, self.blocks) };
        }
    }
}

/// # Safety
/// Both have so many blocks, and nobody else uses them.
#[inline(always)]
unsafe fn copy(from: *const Block, to: *mut Block, blocks: usize) {
    debug_assert!(blocks <= BLOCKS);
    for i in 0..blocks.min(BLOCKS) {
        // SAFETY: in bounds and ours (contract).
        unsafe { *to.add(i) = *from.add(i) };
    }
}

unsafe fn call<R: Region>(buffer: *const JobBuffer, slot: usize, split: Split<'_>) {
    // SAFETY: an `R` lies there, shared by the slots (`Region: Sync`), and
    // aligned, since it fits (`OwnedJob::lend`); each slot is run once (contract).
    unsafe { (*buffer.cast::<R>()).run_slot(slot, split) };
}

unsafe fn call_through<R: Region>(buffer: *const JobBuffer, slot: usize, split: Split<'_>) {
    // SAFETY: a pointer to the `R` that the caller keeps lies there, which is
    // borrowed until the region ends; the rest as in `call`.
    unsafe { (**buffer.cast::<*const R>()).run_slot(slot, split) };
}

unsafe fn nothing(_: *const JobBuffer, slot: usize, _: Split<'_>) {
    std::hint::black_box(slot);
}
