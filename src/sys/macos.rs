//! Apple systems: Quality-of-Service classes, no affinity (Apple Silicon
//! ignores affinity tags, and core_affinity hands them the wrong handle).

/// The class for threads that a user waits for (`sys/qos.h`).
const USER_INTERACTIVE: u32 = 0x21;

// Declared over `u32`: libc's `qos_class_t` is an enum, and an unknown class
// read into it would be undefined; it lacks `qos_class_self`.
extern "C" {
    fn pthread_set_qos_class_self_np(class: u32, relative_priority: libc::c_int) -> libc::c_int;
    fn qos_class_self() -> u32;
}

fn class() -> u32 {
    // SAFETY: reads the calling thread's class; no arguments, no failure.
    unsafe { qos_class_self() }
}

fn name_of(class: u32) -> &'static str {
    match class {
        USER_INTERACTIVE => "user-interactive",
        0x19 => "user-initiated",
        0x15 => "default",
        0x11 => "utility",
        0x09 => "background",
        _ => "unspecified",
    }
}

/// Gives the calling worker the user-interactive class: it would inherit its
/// creator's, which may be a demoted one (S10). Failure is logged and ignored.
pub(crate) fn raise_qos(slot: usize) {
    let before = name_of(class());
    // SAFETY: sets the calling thread's own class, by a value from `sys/qos.h`.
    let failed = unsafe { pthread_set_qos_class_self_np(USER_INTERACTIVE, 0) };
    if failed != 0 {
        log::debug!("rowpool: worker {slot} keeps QoS {before} (error {failed})");
    }
    if std::env::var_os("FERROX_QOS_LOG").is_some() {
        eprintln!("rowpool: worker {slot} qos {before} -> {} (rc={failed})", name_of(class()));
    }
}

/// The calling thread's class.
pub(crate) fn qos_name() -> Option<&'static str> {
    Some(name_of(class()))
}

/// There are no masks here.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

/// There are no masks here.
pub(crate) fn adopt_process_mask() {}

/// No binding here.
pub(crate) fn pin_to(_cpu: usize) -> bool {
    false
}
