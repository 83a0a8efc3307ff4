//! What only Linux and Android can tell.

use std::time::Duration;

/// No such account is kept.
pub(crate) fn run_delay() -> Option<Duration> {
    None
}

/// Not asked.
pub(crate) fn current_cpu() -> Option<u32> {
    None
}

/// Nobody asks.
pub(crate) fn leave_cpu(_cpu: u32) -> bool {
    false
}

/// Not asked.
#[inline(always)]
pub(crate) fn thread_number() -> u32 {
    0
}

/// Nobody knows.
pub(crate) fn thread_runs(_number: u32) -> bool {
    false
}

/// No memory is wiped for a child here.
#[cfg(unix)]
pub(crate) fn wiped_page<T>() -> Option<*mut T> {
    None
}

/// Threads have priorities of their own, or none, elsewhere.
pub(crate) fn adopt_process_priority() {}

/// See `adopt_process_priority`.
pub(crate) fn stuck_at_nice() -> Option<i32> {
    None
}

/// Whether `bind_to` works here.
pub(crate) const BINDS_TO_SETS: bool = false;

/// No sets here. (On Windows they cannot cross processor groups.)
pub(crate) fn bind_to(_cpus: &[usize]) -> bool {
    false
}
