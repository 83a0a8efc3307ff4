//! All calls of the operating system. One file per system with the same free
//! functions; this one picks.
//!
//! | function | what it does |
//! |---|---|
//! | `raise_worker_qos(slot)` | gives the calling worker the class that suits inference |
//! | `raise_caller_qos()` | raises a calling thread of a low class, once |
//! | `qos_name()` | the calling thread's class, where there is such a thing |
//! | `mask_of(pid)` | Linux: an affinity mask |
//! | `adopt_process_priority()`, `stuck_at_nice()` | gives the calling worker the process's priority; what it would have to keep |
//! | `pin_to(cpu)` | binds the calling thread to one CPU; false if it cannot |
//! | `run_delay()` | how long the calling thread has wanted a CPU and had none; `None` if unknown |
//! | `current_cpu()`, `leave_cpu(cpu)` | the calling thread's CPU, `None` if unknown; moves it off that one |
//! | `thread_number()`, `thread_runs(n)` | the calling thread's number; whether that thread runs; 0, false if unknown |
//! | `bind_to(cpus)` | binds it to any of some, where `BINDS_TO_SETS` |

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::*;

#[cfg(target_vendor = "apple")]
mod macos;
#[cfg(target_vendor = "apple")]
pub(crate) use macos::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", windows)))]
mod other;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    windows
)))]
pub(crate) use other::*;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod unknown;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use unknown::*;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod sched;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use sched::{adopt_process_priority, stuck_at_nice};

mod fork;
pub(crate) mod fp;
pub(crate) mod prefetch;
#[cfg(any(test, target_vendor = "apple"))]
mod qos;
mod signals;
pub(crate) use fork::Process;
pub(crate) use signals::BlockedForNew;

/// Apple alone has classes by name.
#[cfg(not(target_vendor = "apple"))]
#[inline(always)]
pub(crate) fn raise_caller_qos() {}

/// As above.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn qos_name() -> Option<&'static str> {
    None
}

/// Writes to standard error, past the lock that std keeps for it.
pub(crate) fn write_error(texts: &[&str]) {
    for text in texts {
        #[cfg(unix)]
        // SAFETY: reads the given bytes of a live text. Failure has no one to go to.
        unsafe {
            libc::write(2, text.as_ptr().cast(), text.len());
        }
        #[cfg(not(unix))]
        {
            use std::io::Write;
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}
