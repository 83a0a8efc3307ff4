//! Windows.

/// No classes by name here.
pub(crate) fn raise_qos(_slot: usize) {}

/// No classes by name here.
pub(crate) fn qos_name() -> Option<&'static str> {
    None
}

/// The CPUs that core_affinity may bind to: the process's mask in its group.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
}

/// New threads start with the process's mask here.
pub(crate) fn adopt_process_mask() {}

/// Binds the calling thread to `cpu`; false if that cannot be done.
pub(crate) fn pin_to(cpu: usize) -> bool {
    cpu < usize::BITS as usize && core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}
