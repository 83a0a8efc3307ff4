//! A worker's letter box: how one half of a `join` goes straight to the worker
//! that the static tree names for it.
//!
//! | word | meaning | goes to |
//! |---|---|---|
//! | `SHUT` | its worker runs something | `OPEN` by the worker |
//! | `OPEN` | its worker looks for work, or sleeps | a letter by anybody, `SHUT` by the worker |
//! | a letter | a half that nobody has begun | `SHUT` by the worker, `OPEN` by the sender |
//!
//! Whoever takes a letter does so by compare-exchange or swap, so a half is
//! begun once: by the worker, or by the sender who takes it back. The same address
//! may come a second time, but only after the first letter was taken and its
//! sender has got its answer, and nobody reads a letter that it has not taken.

use crate::sync::{AtomicPtr, Ordering};
use std::ptr;

pub(crate) struct Mail<T>(AtomicPtr<T>);

/// No address of a letter: those are aligned.
fn shut<T>() -> *mut T {
    ptr::without_provenance_mut(1)
}

impl<T> Mail<T> {
    pub(crate) fn new() -> Self {
        Mail(AtomicPtr::new(shut()))
    }

    /// Whether a letter would be taken in.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Whether a letter lies here.
    #[inline]
    pub(crate) fn has_letter(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        !word.is_null() && word != shut()
    }

    /// Puts a letter in, if the box is open. Release: the letter's contents
    /// go to whoever takes it.
    #[inline]
    pub(crate) fn post(&self, letter: *const T) -> bool {
        self.is_open()
            && self
                .0
                .compare_exchange(
                    ptr::null_mut(),
                    letter.cast_mut(),
                    Ordering::Release,
                    Ordering::Relaxed,
                )
                .is_ok()
    }

    /// The sender takes its letter back, if nobody has begun with it. It wrote
    /// the letter itself, so there is no edge to make.
    #[inline]
    pub(crate) fn retract(&self, letter: *const T) -> bool {
        self.0
            .compare_exchange(
                letter.cast_mut(),
                ptr::null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// The worker takes what lies in its box and shuts it. The box stays open
    /// if it was empty.
    #[inline]
    pub(crate) fn take(&self) -> Option<*const T> {
        let word = self.0.load(Ordering::Relaxed);
        if word.is_null() || word == shut() {
            return None;
        }
        self.0
            .compare_exchange(word, shut(), Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then_some(word.cast_const())
    }

    /// The worker begins to look for work. Nothing is handed over by this.
    #[inline]
    pub(crate) fn open(&self) {
        // Open it is where a hosted worker begins to wait in a region's slot.
        if self.is_shut() {
            self.0.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// Whether the worker does not look for work. For the worker itself.
    #[inline]
    pub(crate) fn is_shut(&self) -> bool {
        self.0.load(Ordering::Relaxed) == shut()
    }

    /// The worker turns to something else, unless there is a letter. Nothing is
    /// handed over by this.
    #[inline]
    pub(crate) fn shut_empty(&self) -> bool {
        self.0
            .compare_exchange(ptr::null_mut(), shut(), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// The worker has found something else; a letter that came meanwhile is
    /// its to see to. Acquire: see `post`.
    #[inline]
    pub(crate) fn shut(&self) -> Option<*const T> {
        let word = self.0.swap(shut(), Ordering::Acquire);
        (!word.is_null() && word != shut()).then_some(word.cast_const())
    }
}
