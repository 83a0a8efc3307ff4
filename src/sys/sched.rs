//! Linux and Android: the scheduling policy and nice value of workers. A new
//! thread has those of the thread that creates it: a realtime builder's workers
//! would be killed by `RLIMIT_RTTIME`, a background thread's would hold every
//! caller up (S41).

/// What `/proc` calls it in `CapEff`: may raise priorities.
const CAP_SYS_NICE: u32 = 23;

/// Ordinary threads (linux/sched.h); libc has another name for it on Android.
const SCHED_OTHER: libc::c_int = 0;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Priority {
    policy: libc::c_long,
    nice: libc::c_int,
}

/// Of thread or process `pid`, 0 being the calling thread.
fn priority_of(pid: libc::pid_t) -> Priority {
    // SAFETY: both only read; where they fail, -1 is an unknown policy, which is
    // none that we take over, and the lowest nice value but 19.
    unsafe {
        Priority {
            policy: libc::syscall(libc::SYS_sched_getscheduler, pid),
            nice: libc::getpriority(libc::PRIO_PROCESS as _, pid as _),
        }
    }
}

/// What workers should have: that of the main thread, or an ordinary one where
/// that is realtime.
fn target() -> Priority {
    let ordinary = [SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE];
    // SAFETY: `getpid` always succeeds.
    let main = priority_of(unsafe { libc::getpid() });
    if ordinary.iter().any(|&policy| libc::c_long::from(policy) == main.policy) {
        return main;
    }
    Priority { policy: SCHED_OTHER.into(), nice: main.nice.max(0) }
}

/// The nice value that workers created by this thread will have to keep, where
/// the system allows them none as good as the process's.
pub(crate) fn stuck_at_nice() -> Option<i32> {
    let (own, wanted) = (priority_of(0).nice, target().nice);
    (own > wanted && !may_have(wanted)).then_some(own)
}

/// Whether this thread may take a nice value that is better than its own.
fn may_have(nice: libc::c_int) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes to a live `rlimit`, which stays zero where it fails.
    unsafe { libc::getrlimit(libc::RLIMIT_NICE, &mut limit) };
    // getrlimit(2): the ceiling is 20 less the limit.
    let by_limit = i64::try_from(limit.rlim_cur).map_or(true, |limit| 20 - limit <= nice.into());
    by_limit || has_capability().unwrap_or(false)
}

fn has_capability() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(u64::from_str_radix(line.trim(), 16).ok()? >> CAP_SYS_NICE & 1 != 0)
}

/// Gives the calling worker the process's policy and nice value. Failure leaves
/// those of its creator, which `stuck_at_nice` has told.
pub(crate) fn adopt_process_priority() {
    let (own, wanted) = (priority_of(0), target());
    if own.policy != wanted.policy {
        let none = libc::sched_param { sched_priority: 0 };
        // SAFETY: reads a live parameter; 0 is the calling thread, and the one
        // priority of policies that are not realtime.
        unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, 0, wanted.policy, &raw const none);
        }
    }
    if own.nice != wanted.nice {
        // SAFETY: takes numbers only.
        unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, wanted.nice) };
    }
}
