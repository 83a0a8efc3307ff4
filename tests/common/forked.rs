//! Children by `fork()`: what becomes of them, and what they say.

#![allow(dead_code, reason = "every binary uses a part")]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd};

/// How a child ended.
#[derive(Debug, PartialEq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// The end of a child that found everything right.
pub const GOOD: End = End::Exit(0);

/// Runs `child` in a `fork()` of this process, to an exit code of 0, or 1 where
/// it panics. A child that hangs is ended by its alarm, before the test is.
pub fn fork(child: impl FnOnce()) -> End {
    // SAFETY: the child runs on with the calling thread alone. It allocates and
    // prints, which glibc and Apple's libc support; it leaves by `_exit`.
    in_child(unsafe { libc::fork() }, child)
}

/// What a call that has made a child returned, in both processes.
pub fn in_child(made: libc::pid_t, child: impl FnOnce()) -> End {
    match made {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            quietly();
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).err();
            if let Some(payload) = &failed {
                let _ = writeln!(
                    std::io::stderr(),
                    "in the child: {}",
                    crate::common::text_of(&**payload)
                );
            }
            // SAFETY: ends the process; nothing of the parent's is flushed.
            unsafe { libc::_exit(failed.is_some().into()) }
        }
        pid => end_of(pid),
    }
}

/// For a child: an alarm, and no core file where it aborts.
pub fn quietly() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: calls about this process, with a pointer to a live struct.
    unsafe {
        libc::alarm(20 * crate::common::slowness());
        libc::setrlimit(libc::RLIMIT_CORE, &none);
    }
}

/// Waits for that end.
pub fn end_of(pid: libc::pid_t) -> End {
    let mut status = 0;
    // SAFETY: `pid` is a child of ours; the status goes to a live int.
    while unsafe { libc::waitpid(pid, &mut status, 0) } != pid {
        assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::Interrupted);
    }
    if libc::WIFEXITED(status) {
        End::Exit(libc::WEXITSTATUS(status))
    } else {
        End::Signal(libc::WTERMSIG(status))
    }
}

/// The same for a child whose standard error is kept: gives that too. Whatever
/// the child writes is on disk when it has ended, however it ends.
#[cfg(target_os = "linux")]
pub fn fork_and_listen(child: impl FnOnce()) -> (End, String) {
    // SAFETY: a name with an end; the file is ours alone.
    let mut errors = unsafe {
        let file = libc::memfd_create(c"errors".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        File::from_raw_fd(file)
    };
    let file = errors.as_raw_fd();
    let end = fork(|| {
        // SAFETY: both are open files of this process.
        assert_eq!(unsafe { libc::dup2(file, 2) }, 2);
        child();
    });
    let mut text = String::new();
    errors.rewind().unwrap();
    errors.read_to_string(&mut text).unwrap();
    (end, text)
}
