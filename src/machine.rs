//! What of this machine the process may use: settings, masks and counts, as
//! the pool's builder wants them.

use crate::config;
use crate::pool::{MAX_WIDTH, SPIN_WINDOW};
use std::time::Duration;

/// The width that nobody has set: settings of the environment, then the
/// machine's. Clamped to what a pool can have.
pub(crate) fn default_width() -> usize {
    let width = crate::threads::resolve_gemv_threads();
    if width > MAX_WIDTH {
        log::warn!("rowpool: a width of {width} is clamped to {MAX_WIDTH}");
    }
    width.min(MAX_WIDTH)
}

/// CPUs that the process may use now: its mask, and the quota of its container
/// (rounded down, at least one).
pub(crate) fn usable_cpus() -> usize {
    let std = || std::thread::available_parallelism().map_or(1, |n| n.get());
    match crate::sys::allowed_cpus().len() {
        0 => std(),
        mask => mask,
    }
}

/// The order in which workers are bound; slot 0, the caller, takes the first.
pub(crate) fn pin_order() -> Vec<usize> {
    crate::sys::allowed_cpus()
}

/// Whether workers are bound where the program has not said.
pub(crate) fn pin_by_default() -> bool {
    false
}

/// The spin window where the program has not said.
pub(crate) fn spin_window() -> Duration {
    config::spin_window(config::env).unwrap_or(SPIN_WINDOW)
}
