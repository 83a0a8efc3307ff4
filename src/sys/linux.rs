//! Linux and Android.

#[cfg(not(loom))]
use crate::sync::AtomicU32;

/// Sleeps while `word` is `value`, for so long at most; may return early.
#[cfg(not(loom))]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, most: Option<std::time::Duration>) {
    let most = most.map(|most| libc::timespec {
        tv_sec: most.as_secs() as _,
        tv_nsec: most.subsec_nanos() as _,
    });
    let most = most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: FUTEX_WAIT reads the word (alive, aligned) and compares it with
    // `value`; the timeout is null, which means none, or that of a live local;
    // the other arguments are not read. EAGAIN, EINTR and ETIMEDOUT are early
    // returns, which the caller expects.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, most) };
}

/// Wakes one thread that sleeps on `word`.
#[cfg(not(loom))]
pub(crate) fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: FUTEX_WAKE uses the word's address as a key only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// No thread classes here.
pub(crate) fn raise_worker_qos(_slot: usize) {}

/// The affinity mask of thread or process `pid`, 0 being the calling thread, as
/// 64-bit words; empty if it cannot be had.
pub(crate) fn mask_of(pid: libc::pid_t) -> Vec<u64> {
    // The kernel refuses a buffer smaller than its own mask: 8192 CPUs are
    // what it can be built for on x86-64, and beyond that we try twice more.
    for words in [128, 1024, 8192] {
        let mut mask = vec![0u64; words];
        // SAFETY: the kernel writes at most the given number of bytes, all of
        // which belong to `mask`.
        let failed = unsafe { libc::sched_getaffinity(pid, words * 8, mask.as_mut_ptr().cast()) };
        if failed == 0 {
            return mask;
        }
    }
    Vec::new()
}

/// How long the calling thread has wanted a CPU and had none, ever: the second
/// field of its schedstat (Documentation/scheduler/sched-stats). Never in the
/// model, whose runs must not depend on the machine.
pub(crate) fn run_delay() -> Option<std::time::Duration> {
    if cfg!(loom) {
        return None;
    }
    let mut text = [0; 64];
    let fields = read_at_once(c"/proc/thread-self/schedstat", &mut text);
    let delay = std::str::from_utf8(fields).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(std::time::Duration::from_nanos(delay))
}

/// The beginning of a small file, as far as `buffer` goes; empty if it cannot be
/// read. For callers that must not allocate.
fn read_at_once<'a>(path: &std::ffi::CStr, buffer: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: a path with an end; at most the bytes of a live buffer are written;
    // the descriptor is ours, and -1 does no harm.
    let read = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let read = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        read
    };
    &buffer[..usize::try_from(read).unwrap_or(0)]
}

/// The system's number of the calling thread.
#[cold]
pub(crate) fn thread_number() -> u32 {
    // SAFETY: `gettid` always succeeds.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Whether a thread of this process runs, or would if it had a CPU: its state
/// (proc(5)) is not an interruptible sleep. False where nobody knows.
pub(crate) fn thread_runs(number: u32) -> bool {
    use std::io::Write;
    let (mut path, mut stat) = ([0; 48], [0; 256]);
    let fits = write!(&mut path[..47], "/proc/self/task/{number}/stat").is_ok();
    let path = std::ffi::CStr::from_bytes_until_nul(&path).unwrap_or_default();
    let stat = if fits { read_at_once(path, &mut stat) } else { &[] };
    // The name before it may hold anything.
    let state = stat.iter().rposition(|&byte| byte == b')').and_then(|end| stat.get(end + 2));
    !cfg!(loom) && state.is_some_and(|&state| state != b'S')
}

/// A page of zeros that is zero again in a child of this process.
pub(crate) fn wiped_page<T>() -> Option<*mut T> {
    const SIZE: usize = 4096;
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new private mapping somewhere; nothing else is touched.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, access, kind, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // Since Linux 4.14. Without it there is the handler of `pthread_atfork`.
    // SAFETY: the mapping is ours.
    unsafe { libc::madvise(page, SIZE, libc::MADV_WIPEONFORK) };
    Some(page.cast())
}

/// The CPU that the calling thread runs on.
pub(crate) fn current_cpu() -> Option<u32> {
    // SAFETY: takes nothing; -1 where it is not known.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread to another CPU of its mask, which stays as it is;
/// false where there is none. (A mask that somebody else changes at the same
/// moment may be lost: the pool reads the process's again.)
pub(crate) fn leave_cpu(cpu: u32) -> bool {
    let at = (cpu / 64) as usize;
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given bytes, all of `mask`; 0 is the
    // calling thread.
    let read =
        unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) } == 0;
    let rest = |mut mask: [u64; 128]| {
        mask[at] &= !(1 << (cpu % 64));
        mask
    };
    if !read || at >= mask.len() || rest(mask) == mask || rest(mask) == [0; 128] {
        return false;
    }
    // SAFETY: reads the given bytes of a live array.
    let set = |mask: &[u64; 128]| unsafe {
        libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) == 0
    };
    // The first moves it; the scheduler does not bring it back at once.
    set(&rest(mask)) && set(&mask)
}

/// Whether `bind_to` works here.
pub(crate) const BINDS_TO_SETS: bool = true;

/// Binds the calling thread to any of `cpus`; false if that cannot be done.
pub(crate) fn bind_to(cpus: &[usize]) -> bool {
    let words = cpus.iter().max().map_or(0, |most| most / 64 + 1);
    let mut mask = vec![0u64; words];
    for cpu in cpus {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    // It mostly is already.
    let now = mask_of(0);
    if now.get(..words).is_some_and(|low| low == mask) && now[words..].iter().all(|&word| word == 0)
    {
        return true;
    }
    // SAFETY: the kernel reads the given bytes of a live buffer.
    unsafe { libc::sched_setaffinity(0, words * 8, mask.as_ptr().cast()) == 0 }
}

/// Binds the calling thread to `cpu`; false if that cannot be done.
pub(crate) fn pin_to(cpu: usize) -> bool {
    // S28: core_affinity indexes a `cpu_set_t` by the id without a check.
    cpu < 8 * size_of::<libc::cpu_set_t>()
        && core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}

#[cfg(all(test, not(loom)))]
#[path = "../../tests/unit/sys_linux.rs"]
mod tests;
