//! Signals of the process belong to the host's threads, not to workers (S42).

/// While it lives, threads that this one creates start with all signals blocked
/// but those that a thread raises by what it does, and SIGPROF, by which
/// profilers sample.
pub(crate) struct BlockedForNew {
    #[cfg(unix)]
    before: libc::sigset_t,
}

#[cfg(unix)]
impl BlockedForNew {
    pub(crate) fn new() -> Self {
        let open = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGSYS,
            libc::SIGABRT,
            libc::SIGPROF,
        ];
        // SAFETY: the sets are ours, and all zeros are a value of them; the mask is
        // the calling thread's. Where a call fails the mask stays as it is.
        unsafe {
            let (mut most, mut before) = std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
            libc::sigfillset(&mut most);
            for signal in open {
                libc::sigdelset(&mut most, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &most, &mut before);
            BlockedForNew { before }
        }
    }
}

#[cfg(unix)]
impl Drop for BlockedForNew {
    fn drop(&mut self) {
        // SAFETY: the set was filled by the call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(not(unix))]
impl BlockedForNew {
    pub(crate) fn new() -> Self {
        BlockedForNew {}
    }
}
