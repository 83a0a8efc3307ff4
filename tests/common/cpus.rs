//! A binary that has this file believes in a machine of 16 CPUs, so that pools
//! of any width to 16 use all their workers. Their regions are slow where 9
//! threads share 2 CPUs, and as right as anywhere.
//!
//! Linux only: `sched_getaffinity`, which is what the library and std ask, is
//! defined here, before the C library's. Elsewhere the machine is what it is.

#![allow(dead_code, reason = "some binaries build their pools themselves")]

use rowpool::Pool;
use std::time::Duration;

/// CPUs of this machine.
pub const CPUS: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 16 } else { 1 };

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

#[cfg(any(target_os = "linux", target_os = "android"))]
mod lie {
    /// The C library's `sched_getaffinity`, on a machine of 16 CPUs.
    ///
    /// # Safety
    /// `mask` points to `size` bytes.
    #[no_mangle]
    unsafe extern "C" fn sched_getaffinity(
        _: libc::pid_t,
        size: libc::size_t,
        mask: *mut u8,
    ) -> libc::c_int {
        assert!(super::CPUS == 16 && size >= 2, "two bytes say it");
        // SAFETY: `size` bytes belong to the mask.
        unsafe {
            mask.write_bytes(0, size);
            mask.write_bytes(0xff, 2);
        }
        0
    }
}
