//! How long a worker looks for the next region before it parks.
//!
//! The default window covers what waking a worker costs its waker, and sampling
//! between two tokens (MEASUREMENTS, "wake", "sampling"). Where work comes from time
//! to time only, later than a window, most of it is spared.

use crate::sync::Instant;
use std::time::Duration;

/// How long workers spin between two regions before they park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpinWindow {
    time: Duration,
    /// Whether it gets shorter where it is in vain.
    adapts: bool,
}

impl SpinWindow {
    /// Unless a setting says otherwise.
    pub(crate) const DEFAULT: SpinWindow =
        SpinWindow { time: Duration::from_micros(300), adapts: true };

    /// As long as somebody has said.
    pub(crate) const fn fixed(time: Duration) -> Self {
        SpinWindow { time, adapts: false }
    }

    /// The same, always whole.
    pub(crate) fn whole(self) -> Self {
        SpinWindow { adapts: false, ..self }
    }

    #[cfg(loom)]
    pub(crate) fn is_zero(self) -> bool {
        self.time.is_zero()
    }
}

/// After so many windows in a row in which nothing came, work comes from time to
/// time and later than that ...
const VAIN: u32 = 8;
/// ... and the window is cut to this part, until something has come within a
/// full one after all.
const CUT: u32 = 8;

/// One worker's windows.
#[derive(Debug)]
pub(crate) struct SpinPolicy {
    window: SpinWindow,
    /// Windows in a row in which nothing came.
    vain: u32,
    /// When the last one ended.
    ended: Option<Instant>,
    /// Whether no region was taken since the worker was asleep.
    woken: bool,
}

impl SpinPolicy {
    pub(crate) fn new(window: SpinWindow) -> Self {
        SpinPolicy { window, vain: 0, ended: None, woken: true }
    }

    /// The length of the window that has begun.
    #[inline]
    pub(crate) fn window(&self) -> Duration {
        // Who was woken without work is to wait for it.
        let cut = self.window.adapts && self.vain >= VAIN && !self.woken;
        self.window.time / if cut { CUT } else { 1 }
    }

    /// A region came. Reads no clock.
    #[inline(always)]
    pub(crate) fn region(&mut self) {
        // One that was there already when the worker got up says nothing.
        if !std::mem::replace(&mut self.woken, false) {
            self.vain = 0;
        }
    }

    /// A window ended in vain.
    pub(crate) fn ended(&mut self, now: Instant) {
        self.vain = self.vain.saturating_add(1);
        self.ended = Some(now);
    }

    /// The worker is up after a sleep. `now` is asked where it matters.
    pub(crate) fn woken(&mut self, now: impl FnOnce() -> Instant) {
        self.woken = true;
        let soon = |ended| now().saturating_duration_since(ended) < self.window.time;
        if self.ended.take().is_some_and(soon) {
            self.vain = 0;
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/policy_spin.rs"]
mod tests;
