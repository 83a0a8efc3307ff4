//! Knows a `fork()` child: by `pthread_atfork`, once per process, so that no
//! region pays a `getpid`.

use crate::sync::{Ordering, StaticU32};

static GENERATION: StaticU32 = StaticU32::new(0);

/// Changes in the child of each `fork()`, once `watch_forks` was called.
#[inline(always)]
pub(crate) fn fork_generation() -> u32 {
    // Relaxed: written in the child before any other thread exists.
    GENERATION.load(Ordering::Relaxed)
}

/// From now on forks are counted. Called before the first thread is created.
#[cfg(unix)]
pub(crate) fn watch_forks() {
    static ONCE: std::sync::Once = std::sync::Once::new();

    extern "C" fn in_child() {
        // Relaxed: the child has one thread. An atomic add is
        // async-signal-safe, as a handler in a child must be.
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }

    ONCE.call_once(|| {
        // SAFETY: `in_child` is an `extern "C"` function without unwinding that
        // lives as long as the program; the other two handlers may be absent.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if failed != 0 {
            log::warn!(
                "rowpool: pthread_atfork failed ({failed}); a fork() child must not use the pool"
            );
        }
    });
}

/// No `fork()` here.
#[cfg(not(unix))]
pub(crate) fn watch_forks() {}
