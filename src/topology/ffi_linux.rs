//! Reads the affinity masks that tell the process's (Linux, Android).

use crate::sync::{Ordering, StaticU32, StaticU64};
use crate::sys::mask_of;

/// The mask that the process was started with, for 8192 CPUs.
static AT_START: [StaticU64; 128] = [const { StaticU64::new(0) }; 128];

/// Runs before `main`, which may pin itself before it builds a pool.
#[used]
#[link_section = ".init_array"]
static NOTE_MASK: extern "C" fn() = note_mask;

extern "C" fn note_mask() {
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given number of bytes, all of which
    // belong to `mask`. No allocation, no unwinding: `main` has not begun.
    unsafe {
        libc::sched_getaffinity(libc::getpid(), size_of_val(&mask), mask.as_mut_ptr().cast());
    }
    for (word, bits) in AT_START.iter().zip(mask) {
        // Relaxed: threads that read it are created later.
        word.store(bits, Ordering::Relaxed);
    }
}

/// A worker that runs wherever the process may.
static UNBOUND: StaticU32 = StaticU32::new(0);

/// The calling worker is not going to be bound: its mask is the process's.
pub(crate) fn note_unbound_worker() {
    // Relaxed: a number to ask the kernel with.
    UNBOUND.store(crate::sys::thread_number(), Ordering::Relaxed);
}

/// Affinity masks as 64-bit words, empty if unknown: of the main thread, of the
/// process at its start, of an unbound worker where the two differ, of the
/// calling thread.
pub(crate) fn masks() -> [Vec<u64>; 4] {
    // SAFETY: `getpid` always succeeds.
    let process = unsafe { libc::getpid() };
    let main = mask_of(process);
    // Relaxed: as in `note_mask`.
    let start: Vec<u64> = AT_START.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    // Relaxed: as in `note_unbound_worker`.
    let worker = UNBOUND.load(Ordering::Relaxed) as libc::pid_t;
    // SAFETY: signal 0 is none. Asks whether the thread still is one of ours.
    let ours = || unsafe { libc::syscall(libc::SYS_tgkill, process, worker, 0) } == 0;
    let asked = main != start && worker != 0 && ours();
    let worker = if asked { mask_of(worker) } else { Vec::new() };
    [main, start, worker, mask_of(0)]
}
