//! A binary that has this file believes in a machine of 16 equal CPUs: for faces
//! of other libraries, whose pools cannot be given a topology.
//!
//! Linux with glibc only: the functions that the library and std ask are defined
//! here, before the C library's. Elsewhere the machine is what it is.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use libc::{c_char, c_int, c_long, mode_t, pid_t, size_t, DIR};
use std::ffi::CStr;

/// The C library's `sched_getaffinity`: CPUs 0 to 15.
///
/// # Safety
/// `mask` points to `size` bytes.
#[no_mangle]
unsafe extern "C" fn sched_getaffinity(_: pid_t, size: size_t, mask: *mut u8) -> c_int {
    // SAFETY: `size` bytes belong to the mask, two at least.
    unsafe {
        mask.write_bytes(0, size);
        mask.write_bytes(0xff, 2);
    }
    0
}

fn fail(errno: c_int) -> c_int {
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// What tells of the real machine is not there: sysfs, and the quota.
fn hidden(path: &CStr) -> bool {
    let hidden = ["/sys/", "/proc/mounts", "/proc/self/mount", "/proc/self/cgroup"];
    hidden.iter().any(|prefix| path.to_bytes().starts_with(prefix.as_bytes()))
}

fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the path that a caller opens is a C string.
    if hidden(unsafe { CStr::from_ptr(path) }) {
        return fail(libc::ENOENT);
    }
    let (flags, mode) = (c_long::from(flags), c_long::from(mode));
    // SAFETY: as `open`, which is this call.
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int }
}

/// The C library's `open64`, with its optional third argument always there:
/// an integer, which every ABI of Linux passes in the same place.
///
/// # Safety
/// `path` is a C string.
#[no_mangle]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    open(path, flags, mode)
}

/// The C library's `opendir`.
///
/// # Safety
/// `path` is a C string.
#[no_mangle]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut DIR {
    match open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, 0) {
        -1 => std::ptr::null_mut(),
        // SAFETY: a directory that was just opened, and belongs to us.
        fd => unsafe { libc::fdopendir(fd) },
    }
}
