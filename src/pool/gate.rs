//! The publication line: epoch, width and flags in one word, with the region
//! beside it. Nobody else sees raw bits of the word.
//!
//! | bits | meaning |
//! |---|---|
//! | 12..64 | epoch: number of the region |
//! | 2..12 | width: slots of that region |
//! | 1 | `REST`: nothing is coming, park now |
//! | 0 | `STOP`: the pool is dropped |

use super::failpoint::{planted, Fault};
use super::job::{ErasedJob, JobBuffer, JobHeader};
use crate::sync::{overwrite, AtomicU64, Ordering, UnsafeCell};

/// Widest pool: what the builder accepts. The word holds 1023.
pub(crate) const MAX_WIDTH: usize = 512;

const STOP: u64 = 1;
const REST: u64 = 1 << 1;
const WIDTH_SHIFT: u32 = 2;
const EPOCH_SHIFT: u32 = 12;
const WIDTH_MASK: u64 = (1 << EPOCH_SHIFT) - (1 << WIDTH_SHIFT);
const _: () = assert!((MAX_WIDTH as u64) << WIDTH_SHIFT <= WIDTH_MASK);

/// The number of a region, in place (the low 12 bits are zero). 52 bits last
/// eleven years of back-to-back 80 ns regions, and comparison wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Epoch(pub(super) u64);

impl Epoch {
    pub(super) fn next(self) -> Epoch {
        Epoch(self.0.wrapping_add(1 << EPOCH_SHIFT))
    }

    /// Whether `self` came after `other`.
    #[inline(always)]
    pub(super) fn newer_than(self, other: Epoch) -> bool {
        self.0.wrapping_sub(other.0) as i64 > 0
    }
}

/// One look at a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(u64);

impl Word {
    /// What a gate holds before the first region.
    pub(super) const BLANK: Word = Word(0);

    #[inline(always)]
    pub(super) fn epoch(self) -> Epoch {
        Epoch(self.0 >> EPOCH_SHIFT << EPOCH_SHIFT)
    }

    #[inline(always)]
    pub(super) fn width(self) -> usize {
        ((self.0 & WIDTH_MASK) >> WIDTH_SHIFT) as usize
    }

    pub(super) fn stops(self) -> bool {
        self.0 & STOP != 0
    }

    pub(super) fn rests(self) -> bool {
        self.0 & REST != 0
    }
}

/// One line that the caller writes and a group of workers polls.
///
/// A group of one also says here that its slot is done: on Intel a line that
/// comes back by the way it went costs one round trip, two lines cost two
/// (MEASUREMENTS, "done epoch on the gate").
#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Gate {
    word: AtomicU64,
    /// Epoch of the last region whose slot has ended, where the gate has one worker.
    pub(super) done: AtomicU64,
    header: UnsafeCell<JobHeader>,
    /// The region itself; in one gate of a team only.
    buffer: UnsafeCell<JobBuffer>,
    /// For the model only: where a planted fault puts the width.
    #[cfg(loom)]
    beside: crate::sync::AtomicUsize,
}

#[cfg(all(not(loom), target_pointer_width = "64", target_has_atomic = "64"))]
const _: () = assert!(std::mem::offset_of!(Gate, buffer) == 32 && size_of::<Gate>() == 128);

// SAFETY: what is not `Sync` by itself are header and buffer. The holder of the
// caller lock writes them while no slot is claimed and not done (contracts of
// `publish`, `store` and `take_back`); workers read them between claiming a slot
// and its done epoch only (I2), and regions are `Sync`.
unsafe impl Sync for Gate {}

impl Gate {
    pub(super) fn new() -> Self {
        Gate {
            word: AtomicU64::new(Word::BLANK.0),
            done: AtomicU64::new(Word::BLANK.0),
            header: UnsafeCell::new(JobHeader::NONE),
            buffer: UnsafeCell::new(JobBuffer::EMPTY),
            #[cfg(loom)]
            beside: crate::sync::AtomicUsize::new(0),
        }
    }

    /// The last epoch published here, as its writer sees it.
    #[inline(always)]
    pub(super) fn last(&self) -> Epoch {
        // Relaxed: only the holder of the caller lock publishes, and it got the
        // lock with Acquire from the holder before it.
        Word(self.word.load(Ordering::Relaxed)).epoch()
    }

    /// W1: a worker's look.
    #[inline(always)]
    pub(super) fn look(&self) -> Word {
        // Acquire, from `publish`: the region and all earlier results.
        Word(self.word.load(Ordering::Acquire))
    }

    /// Starts fetching the line for a write that comes soon. It is shared by
    /// then, the poller has seen to that, so the write would wait for it.
    #[inline(always)]
    pub(super) fn prepare(&self) {
        crate::sys::prefetch::for_writing(self);
    }

    /// The same for the buffer's second line, where large regions lie.
    #[inline(always)]
    pub(super) fn prepare_second(&self) {
        crate::sys::prefetch::for_writing(self.second_line());
    }

    /// Starts fetching the buffer's second line for reading: to come with the
    /// word, it has to be asked for before the word is there.
    #[inline(always)]
    pub(super) fn expect_second(&self) {
        crate::sys::prefetch::for_reading(self.second_line());
    }

    /// Starts fetching all of the buffer for reading.
    #[inline(always)]
    pub(super) fn expect(&self) {
        crate::sys::prefetch::for_reading(self);
        self.expect_second();
    }

    fn second_line(&self) -> *const u8 {
        std::ptr::from_ref(self).cast::<u8>().wrapping_add(64)
    }

    /// C2: moves a region in, before it is published.
    ///
    /// # Safety
    /// As for `publish`; this is the gate whose buffer the team uses.
    #[inline(always)]
    pub(super) unsafe fn store(&self, job: &ErasedJob<'_>) {
        // SAFETY: nobody uses the buffer now (contract).
        self.buffer.with_mut(|buffer| unsafe { job.store_into(buffer) });
    }

    /// C7: moves a region back, after its join.
    ///
    /// # Safety
    /// As for `publish`; the job is the one that was stored last.
    #[inline(always)]
    pub(super) unsafe fn take_back(&self, job: &ErasedJob<'_>) {
        // SAFETY: nobody uses the buffer any more (contract).
        self.buffer.with_mut(|buffer| unsafe { job.take_back(buffer) });
    }

    /// Calls `f` with the region's buffer.
    #[inline(always)]
    pub(super) fn buffer<R>(&self, f: impl FnOnce(*const JobBuffer) -> R) -> R {
        self.buffer.with(f)
    }

    /// C2: opens region `epoch`.
    ///
    /// # Safety
    /// The caller holds the caller lock, and no slot of an earlier region is
    /// claimed and not done: nobody reads header or buffer.
    #[inline(always)]
    pub(super) unsafe fn publish(&self, epoch: Epoch, width: usize, header: JobHeader) {
        // SAFETY: by the contract nobody reads the header now, and the only other
        // writer would have to hold the caller lock.
        self.header.with_mut(|cell| unsafe { *cell = header });
        #[cfg(loom)]
        self.beside.store(width, Ordering::Relaxed);
        // Release, to `look`: the region and what the caller wrote before. Flags
        // are cleared: a region ends a rest. A plain store may overwrite a
        // hint that comes in the same moment, which a region overrules anyway.
        let kept = if planted(Fault::PublishKeepsRest) {
            // Relaxed: the model's fault.
            self.word.load(Ordering::Relaxed) & REST
        } else {
            0
        };
        // I1: epoch and width in one word.
        let word = epoch.0 | (width as u64) << WIDTH_SHIFT | kept;
        let relaxed = planted(Fault::RelaxedPublish);
        overwrite(&self.word, word, if relaxed { Ordering::Relaxed } else { Ordering::Release });
    }

    /// The width that belongs to `word`.
    #[inline(always)]
    pub(super) fn width_of(&self, word: Word) -> usize {
        #[cfg(loom)]
        if planted(Fault::WidthBeside) {
            return self.beside.load(Ordering::Relaxed);
        }
        word.width()
    }

    /// W3: how to run the region.
    ///
    /// # Safety
    /// The calling worker has claimed its slot of the region last published here
    /// and has not said that it is done.
    #[inline(always)]
    pub(super) unsafe fn header(&self) -> JobHeader {
        // SAFETY: the region cannot end before this slot is done, so the writer
        // of the next one is not there yet (I2).
        self.header.with(|cell| unsafe { *cell })
    }

    /// Hint: park now. Takes no lock; a read-modify-write, since a plain store
    /// could take an epoch back.
    pub(super) fn rest(&self) {
        // Relaxed: a hint orders nothing.
        self.word.fetch_or(REST, Ordering::Relaxed);
    }

    /// Takes `rest` back.
    pub(super) fn clear_rest(&self) {
        // Relaxed: as in `rest`.
        self.word.fetch_and(!REST, Ordering::Relaxed);
    }

    /// Tells the workers to end.
    pub(super) fn stop(&self) {
        // Release: what the dropper did is seen by the worker that ends.
        self.word.fetch_or(STOP, Ordering::Release);
    }
}
