//! The type-erased region: what a caller lends to its workers. The only
//! lifetime erasure.
//!
//! All that a worker needs lies in the gate's own lines: the region (what to
//! do, the slice, the user's closure) is moved there for its time. Left on the
//! caller's stack, its line would go to and fro between the cores too
//! (measured on a Xeon of 2023: an empty fork by a closure that captures takes
//! 470 ns then, 190 ns like this).

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

/// A region is moved in pieces of this size, so that one copy serves all types.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Piece(MaybeUninit<[u64; 4]>);

const PIECES: usize = 3;

/// Where a region lies while it runs. The first piece shares a line of 64
/// bytes with the gate's word: small closures cost no other.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Home([Piece; PIECES]);

impl Home {
    pub(super) const EMPTY: Home = Home([Piece(MaybeUninit::uninit()); PIECES]);
}

type Call = unsafe fn(*const Home, usize, Split<'_>);

/// How to run a region that lies in its home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    call: Call,
    /// The caller's floating point control bits.
    fp: fp::State,
}

impl Head {
    /// Does nothing; what a gate holds before the first region.
    pub(super) const NONE: Head = Head { call: nothing, fp: fp::State::UNSET };

    /// Gives the calling thread the caller's floating point state.
    #[inline(always)]
    pub(super) fn adopt_fp(self) {
        self.fp.adopt();
    }

    /// Runs one slot.
    ///
    /// # Safety
    /// The region of this head lies in `home` and stays there until this
    /// returns, what it borrows is alive, and no other call runs this slot.
    #[inline(always)]
    pub(super) unsafe fn run(self, home: *const Home, slot: usize, split: Split<'_>) {
        // SAFETY: `call` was made for the type that lies in `home` (`Parcel`
        // sets both); the rest is the contract.
        unsafe { (self.call)(home, slot, split) }
    }
}

/// A region that can be moved into a home and back.
#[derive(Debug)]
pub(crate) struct Parcel<R> {
    region: Aligned<R>,
    pointer: Aligned<*const R>,
}

/// Fills whole pieces.
#[derive(Debug)]
#[repr(C, align(32))]
struct Aligned<T>(T);

const _: () = assert!(size_of::<Aligned<*const ()>>() == size_of::<Piece>());

impl<R: Region> Parcel<R> {
    /// Others stay where they are and send a pointer.
    const FITS: bool = size_of::<Aligned<R>>() <= size_of::<Home>()
        && align_of::<Aligned<R>>() <= align_of::<Piece>();

    #[inline(always)]
    pub(crate) fn new(region: R) -> Self {
        Parcel { region: Aligned(region), pointer: Aligned(std::ptr::null()) }
    }

    /// Lends the region for the time that it runs.
    #[inline(always)]
    pub(crate) fn job(&mut self) -> Job<'_> {
        let (call, place, pieces): (Call, *mut Piece, _) = if Self::FITS {
            let pieces = size_of::<Aligned<R>>() / size_of::<Piece>();
            (call::<R>, (&raw mut self.region).cast(), pieces)
        } else {
            self.pointer = Aligned(&raw const self.region.0);
            (call_through::<R>, (&raw mut self.pointer).cast(), 1)
        };
        let returns = Self::FITS && needs_drop::<R>();
        let head = Head { call, fp: fp::State::current() };
        Job { head, place, pieces, returns, borrow: PhantomData }
    }

    /// The region, when it is not lent.
    #[inline(always)]
    pub(crate) fn region(&self) -> &R {
        &self.region.0
    }
}

/// A region that is lent.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    head: Head,
    /// Where it comes from.
    place: *mut Piece,
    pieces: usize,
    /// Whether it has to go back there, since it will be dropped there.
    returns: bool,
    borrow: PhantomData<&'a mut ()>,
}

impl Job<'_> {
    /// The empty region under the calling thread's floating point state.
    pub(super) fn empty() -> Job<'static> {
        let head = Head { fp: fp::State::current(), ..Head::NONE };
        let place = std::ptr::null_mut();
        Job { head, place, pieces: 0, returns: false, borrow: PhantomData }
    }

    #[inline(always)]
    pub(super) fn head(&self) -> Head {
        self.head
    }

    /// Whether the home's second line is needed.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.pieces > 1
    }

    /// Moves the region in.
    ///
    /// # Safety
    /// Nobody uses `home` now.
    #[inline(always)]
    pub(super) unsafe fn settle(&self, home: *mut Home) {
        // SAFETY: `place` has so many pieces, aligned (`Parcel::job`), `home`
        // has room for them and is not in use (contract). Bytes that are
        // padding are copied as such: pieces may be uninitialised.
        unsafe { copy(self.place, home.cast(), self.pieces) };
    }

    /// Moves the region back, if anybody will look.
    ///
    /// # Safety
    /// It was moved in, and nobody uses `home` any more.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, home: *mut Home) {
        if self.returns {
            // SAFETY: as in `settle`, the other way round. The region lies in
            // one place at a time: `Parcel` is borrowed and not looked at.
            unsafe { copy(home.cast(), self.place, self.pieces) };
        }
    }
}

/// # Safety
/// Both have so many pieces, and nobody else uses them.
#[inline(always)]
unsafe fn copy(from: *const Piece, to: *mut Piece, pieces: usize) {
    debug_assert!(pieces <= PIECES);
    for i in 0..pieces.min(PIECES) {
        // SAFETY: in bounds and ours (contract).
        unsafe { *to.add(i) = *from.add(i) };
    }
}

unsafe fn call<R: Region>(home: *const Home, slot: usize, split: Split<'_>) {
    // SAFETY: an `R` lies there, shared by the slots (`Region: Sync`), and
    // aligned, since it fits (`Parcel::job`); each slot is run once (contract).
    unsafe { (*home.cast::<R>()).run_slot(slot, split) };
}

unsafe fn call_through<R: Region>(home: *const Home, slot: usize, split: Split<'_>) {
    // SAFETY: a pointer to the `R` in the caller's parcel lies there, which is
    // borrowed until the region ends; the rest as in `call`.
    unsafe { (**home.cast::<*const R>()).run_slot(slot, split) };
}

unsafe fn nothing(_: *const Home, slot: usize, _: Split<'_>) {
    std::hint::black_box(slot);
}
