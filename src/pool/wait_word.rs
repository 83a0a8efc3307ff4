//! A 32-bit word to sleep on: futex-like, without lost wake-ups.

use crate::sync::AtomicU32;
use std::time::Duration;

/// Compared and slept on by one thread, changed by any.
#[derive(Debug)]
pub(super) struct WaitWord {
    pub(super) word: AtomicU32,
    #[cfg(any(loom, not(any(target_os = "linux", target_os = "android"))))]
    fallback: fallback::Fallback,
}

impl WaitWord {
    pub(super) fn new(value: u32) -> Self {
        WaitWord {
            word: AtomicU32::new(value),
            #[cfg(any(loom, not(any(target_os = "linux", target_os = "android"))))]
            fallback: fallback::Fallback::default(),
        }
    }
}

#[cfg(all(not(loom), any(target_os = "linux", target_os = "android")))]
impl WaitWord {
    /// Sleeps while the word is `value`, for so long at most; may return early.
    pub(super) fn wait_while(&self, value: u32, most: Option<Duration>) {
        crate::sys::futex_wait(&self.word, value, most);
    }

    /// Wakes the sleeper, if there is one. The word was changed before.
    pub(super) fn wake(&self) {
        crate::sys::futex_wake(&self.word);
    }
}

#[cfg(any(loom, not(any(target_os = "linux", target_os = "android"))))]
mod fallback {
    use crate::sync::{Condvar, Mutex, Ordering};

    /// Where there is no futex: a mutex and a condition variable per word.
    #[derive(Debug, Default)]
    pub(super) struct Fallback {
        lock: Mutex<()>,
        changed: Condvar,
    }

    impl super::WaitWord {
        pub(in super::super) fn wait_while(&self, value: u32, most: Option<super::Duration>) {
            // The word is compared under the lock that `wake` takes after the
            // word was changed: no notification falls between look and sleep.
            let mut guard = self.fallback.lock.lock();
            // Relaxed: the lock orders it.
            if self.word.load(Ordering::Relaxed) == value {
                match most {
                    Some(most) => _ = self.fallback.changed.wait_for(&mut guard, most),
                    None => self.fallback.changed.wait(&mut guard),
                }
            }
        }

        pub(in super::super) fn wake(&self) {
            drop(self.fallback.lock.lock());
            self.fallback.changed.notify_one();
        }
    }
}
