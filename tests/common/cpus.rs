//! A binary that has this file believes in a machine of 16 equal CPUs, so that
//! pools of any width to 16 use all their workers. Their regions are slow where
//! 9 threads share 2 CPUs, and as right as anywhere.
//!
//! Linux with glibc only: the functions that the library and std ask are
//! defined here, before the C library's. Elsewhere the machine is what it is.

#![allow(dead_code, reason = "some binaries build their pools themselves")]

use rowpool::Pool;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// CPUs of this machine, as far as they are known.
pub const CPUS: usize = if cfg!(all(target_os = "linux", target_env = "gnu")) { 16 } else { 1 };

/// Those that the process may use.
static ALLOWED: AtomicUsize = AtomicUsize::new(CPUS);

/// Lets the process use the first `cpus` of them: for a test that has its
/// process for itself.
pub fn allow(cpus: usize) {
    assert!((1..=CPUS).contains(&cpus));
    ALLOWED.store(cpus, Ordering::SeqCst);
}

/// The id of the first CPU.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Numbers the CPUs from here on: for a test that has its process for itself.
pub fn number_from(first: usize) {
    FIRST.store(first, Ordering::SeqCst);
}

/// A pool that uses `width` threads, with a spin window that spares the real
/// CPUs.
pub fn pool(width: usize) -> Pool {
    let window = Duration::from_micros(100);
    let pool = Pool::builder().width(width).spin_window(window).build().expect("a pool");
    assert_eq!(pool.num_threads(), width);
    if width <= CPUS {
        assert_eq!(pool.active_width(), width, "the library asks somebody else for its CPUs");
    }
    pool
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod lie {
    use libc::{c_char, c_int, c_long, mode_t, pid_t, size_t, DIR};
    use std::ffi::CStr;
    use std::sync::atomic::Ordering;

    /// The C library's `sched_getaffinity`: CPUs 0 to 15, or others.
    ///
    /// # Safety
    /// `mask` points to `size` bytes.
    #[no_mangle]
    unsafe extern "C" fn sched_getaffinity(_: pid_t, size: size_t, mask: *mut u8) -> c_int {
        let first = super::FIRST.load(Ordering::SeqCst);
        let ids = first..first + super::ALLOWED.load(Ordering::SeqCst);
        if 8 * size < ids.end {
            // As the kernel, for a set that is too small.
            return fail(libc::EINVAL);
        }
        // SAFETY: `size` bytes belong to the mask.
        let mask = unsafe {
            mask.write_bytes(0, size);
            std::slice::from_raw_parts_mut(mask, size)
        };
        ids.for_each(|id| mask[id / 8] |= 1 << (id % 8));
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
}
