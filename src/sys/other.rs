//! Systems without special support: std's own means.

/// No thread classes here.
pub(crate) fn raise_worker_qos(_slot: usize) {}

/// No binding here.
pub(crate) fn pin_to(_cpu: usize) -> bool {
    false
}
