//! Systems without special support: std's own means.

/// No thread classes here.
pub(crate) fn raise_worker_qos(_slot: usize) {}

/// No thread classes here.
#[inline(always)]
pub(crate) fn raise_caller_qos() {}

/// No thread classes here.
pub(crate) fn qos_name() -> Option<&'static str> {
    None
}

/// No worker's mask is asked for here.
pub(crate) fn note_unbound_worker() {}

/// Whether `bind_to` works here.
pub(crate) const BINDS_TO_SETS: bool = false;

/// No binding here.
pub(crate) fn bind_to(_cpus: &[usize]) -> bool {
    false
}

/// No binding here.
pub(crate) fn pin_to(_cpu: usize) -> bool {
    false
}
