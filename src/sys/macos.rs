//! Apple systems: Quality-of-Service classes, no affinity (Apple Silicon
//! ignores affinity tags, and core_affinity hands them the wrong handle). Never
//! `pthread_setschedparam`: it makes the calls below fail, or undoes them (S10).

use super::qos;
use std::cell::Cell;

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

/// Sets the calling thread's class; the error number, 0 for none.
fn set(class: u32) -> libc::c_int {
    // SAFETY: concerns the calling thread only; a class that the system does
    // not know or a thread that has opted out gives an error number.
    unsafe { pthread_set_qos_class_self_np(class, 0) }
}

/// Gives the calling worker the user-interactive class: it would inherit its
/// creator's, which may be a demoted one (S10). Failure is logged and ignored.
pub(crate) fn raise_worker_qos(slot: usize) {
    let before = qos::name(class());
    let failed = set(qos::USER_INTERACTIVE);
    if failed != 0 {
        log::debug!("rowpool: worker {slot} keeps QoS {before} (error {failed})");
    }
    if std::env::var_os("FERROX_QOS_LOG").is_some() {
        eprintln!("rowpool: worker {slot} qos {before} -> {} (rc={failed})", qos::name(class()));
    }
}

/// Raises the calling thread to user-initiated if it is below, once in its life.
#[inline(always)]
pub(crate) fn raise_caller_qos() {
    thread_local! {
        static SEEN: Cell<bool> = const { Cell::new(false) };
    }
    if !SEEN.get() {
        SEEN.set(true);
        raise();
    }
}

#[cold]
fn raise() {
    let before = class();
    if let Some(class) = qos::raised(before) {
        let failed = set(class);
        if failed != 0 {
            log::debug!("rowpool: caller keeps QoS {} (error {failed})", qos::name(before));
        }
    }
}

/// The calling thread's class.
pub(crate) fn qos_name() -> Option<&'static str> {
    Some(qos::name(class()))
}

/// No binding here.
pub(crate) fn pin_to(_cpu: usize) -> bool {
    false
}
