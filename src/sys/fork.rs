//! Which process this is, so that a `fork()` child knows that it has none of its
//! parent's threads: by one load, no region pays a `getpid`. No locks and no
//! once-cells: a child would wait in them for a thread that it does not have.

use crate::sync::{Ordering, StaticU32};
use std::cell::Cell;

// It is const, which clippy does not see on Android.
#[allow(clippy::missing_const_for_thread_local)]
mod local {
    use std::cell::Cell;
    std::thread_local! {
        /// The number of the process, and the thread's in it.
        pub(super) static NUMBER: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
}
use local::NUMBER;

/// The process that something was made in.
#[derive(Debug)]
pub(crate) struct Process {
    /// The number of the process that looks.
    current: &'static StaticU32,
    number: u32,
    id: u32,
}

impl Process {
    /// The calling process. Called before the first thread is created.
    pub(crate) fn current() -> Process {
        let current = word();
        // Relaxed, all of these: only this process writes, and a child has one
        // thread at first.
        if current.load(Ordering::Relaxed) == 0 {
            static LAST: StaticU32 = StaticU32::new(0);
            let next = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
            let _ = current.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        Process { current, number: current.load(Ordering::Relaxed), id: std::process::id() }
    }

    /// Whether the calling process is this one.
    #[inline(always)]
    pub(crate) fn is_current(&self) -> bool {
        // Relaxed: as above.
        self.current.load(Ordering::Relaxed) == self.number
    }

    /// The same, for where a `getpid` does not matter: also a child knows that
    /// was made past libc on a system that wipes no memory.
    pub(crate) fn is_current_by_id(&self) -> bool {
        self.is_current() && self.id == std::process::id()
    }

    /// The system's number of the calling thread of this process, which a thread
    /// asks for once. (A child's thread has another than its copy in the parent.)
    #[inline(always)]
    pub(crate) fn thread_number(&self) -> u32 {
        let (process, number) = NUMBER.with(Cell::get);
        if process == self.number {
            return number;
        }
        let number = super::thread_number();
        NUMBER.with(|cell| cell.set((self.number, number)));
        number
    }
}

/// The number of this process: zero in a child until it asks for one.
#[cfg(not(unix))]
fn word() -> &'static StaticU32 {
    static WORD: StaticU32 = StaticU32::new(0);
    &WORD
}

/// The number of this process: zero in a child until it asks for one, by
/// `pthread_atfork` and, on Linux, by memory that the kernel wipes (`_Fork` and
/// `clone` run no handlers).
#[cfg(unix)]
fn word() -> &'static StaticU32 {
    use crate::sync::StaticPtr;
    static WORD: StaticPtr<StaticU32> = StaticPtr::new(std::ptr::null_mut());

    extern "C" fn in_child() {
        // Acquire: as below. Atomics are async-signal-safe, as a handler in a
        // child must be.
        let word = WORD.load(Ordering::Acquire);
        // SAFETY: null, or a word that lives for ever (below).
        if let Some(word) = unsafe { word.as_ref() } {
            word.store(0, Ordering::Relaxed);
        }
    }

    // Acquire, from the exchange below: the word is there.
    let mut word = WORD.load(Ordering::Acquire);
    if word.is_null() {
        let new = super::wiped_page()
            .unwrap_or_else(|| std::ptr::from_mut(Box::leak(Box::new(StaticU32::new(0)))));
        // SAFETY: `in_child` is an `extern "C"` function without unwinding that
        // lives as long as the program; the other two handlers may be absent.
        // Registered twice, it does the same twice.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        // Release: the word is there; Acquire: whose it is.
        let first = WORD.compare_exchange(word, new, Ordering::AcqRel, Ordering::Acquire);
        // Who comes second leaves a page: that is once per process at most.
        word = first.map_or_else(|first| first, |_| new);
    }
    // SAFETY: a leaked box or a mapping that is never unmapped; zeros are a value
    // of an atomic word, which is shared by atomics only.
    unsafe { &*word }
}
