//! A binary that has this file hands chosen threads a clock of its own, which
//! stands still until a test moves it, and counts what they ask the system for:
//! what a policy does by time, seen as values.
//!
//! Linux with glibc only: std and the library ask functions that are defined
//! here, before the C library's. Every other thread gets what is true.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(dead_code, reason = "every binary uses a part")]

use libc::{c_char, c_int, c_long, clockid_t, mode_t, pid_t, size_t, timespec};
use std::cell::Cell;
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a thread is to a test; a thread without a role lives in the real time.
#[derive(Clone, Copy)]
pub enum Role {
    Caller,
    Worker,
    Other,
}

/// What one role's threads have done.
pub struct Seen {
    reads: AtomicU64,
    yields: AtomicU64,
    naps: AtomicU64,
    asked: AtomicU64,
    delay: AtomicU64,
    binds: AtomicU64,
    /// The CPU that they believe to be on, and 1; 0: the real one.
    cpu: AtomicU64,
}

static SEEN: [Seen; 3] = [const { Seen::new() }; 3];

/// The feigned time in ns; all roles have the same.
static NOW: AtomicU64 = AtomicU64::new(1 << 50);

/// Where not zero, roles get the real time, less up to so many ns by chance.
static BACK: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static ROLE: Cell<Option<Role>> = const { Cell::new(None) };
    static CHANCE: Cell<u32> = const { Cell::new(1) };
}

/// From now on the calling thread has this role.
pub fn play(role: Role) {
    ROLE.set(Some(role));
}

/// From now on clocks step back by up to so much at any reading.
pub fn step_back_by(most: Duration) {
    BACK.store(most.as_nanos() as u64, Ordering::SeqCst);
}

/// Moves the clock.
pub fn advance(time: Duration) {
    NOW.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
}

/// What threads of this role have done so far.
pub fn seen(role: Role) -> &'static Seen {
    &SEEN[role as usize]
}

impl Seen {
    const fn new() -> Self {
        Seen {
            reads: AtomicU64::new(0),
            yields: AtomicU64::new(0),
            naps: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            delay: AtomicU64::new(0),
            binds: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
        }
    }

    /// Readings of the clock.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }

    /// Waits until the clock has been read so often from now on.
    pub fn await_reads(&self, more: u64) {
        let enough = self.reads() + more;
        while self.reads() < enough {
            std::hint::spin_loop();
        }
    }

    /// How often it has offered its CPU.
    pub fn yields(&self) -> u64 {
        self.yields.load(Ordering::SeqCst)
    }

    /// How often it has slept for a time.
    pub fn naps(&self) -> u64 {
        self.naps.load(Ordering::SeqCst)
    }

    /// How often it has asked how long it has lacked a CPU.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    /// How often it has set an affinity mask.
    pub fn binds(&self) -> u64 {
        self.binds.load(Ordering::SeqCst)
    }

    /// Its threads believe to be on this CPU.
    pub fn is_on(&self, cpu: u32) {
        self.cpu.store(u64::from(cpu) + 1, Ordering::SeqCst);
    }

    /// Its threads have lacked a CPU for so much longer.
    pub fn lacks(&self, time: Duration) {
        self.delay.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
    }
}

/// The role's record; counts one of something.
fn count(what: fn(&Seen) -> &AtomicU64) -> bool {
    let role = ROLE.get();
    if let Some(role) = role {
        what(seen(role)).fetch_add(1, Ordering::SeqCst);
    }
    role.is_some()
}

fn time_of(ns: u64) -> timespec {
    timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

fn ns_of(time: &timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The C library's `clock_gettime`.
///
/// # Safety
/// `time` may be written.
#[no_mangle]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: as this call, which `clock_gettime` is.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    if clock == libc::CLOCK_MONOTONIC && count(|seen| &seen.reads) {
        let back = BACK.load(Ordering::SeqCst);
        // SAFETY: by contract, and it was written.
        let time = unsafe { &mut *time };
        *time = if back == 0 {
            time_of(NOW.load(Ordering::SeqCst))
        } else {
            let chance = CHANCE.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            CHANCE.set(chance);
            time_of(ns_of(time) - u64::from(chance >> 8) % back)
        };
    }
    result
}

/// The C library's `sched_yield`.
#[no_mangle]
extern "C" fn sched_yield() -> c_int {
    count(|seen| &seen.yields);
    // SAFETY: takes nothing.
    unsafe { libc::syscall(libc::SYS_sched_yield) as c_int }
}

/// The C library's `sched_getcpu`.
#[no_mangle]
extern "C" fn sched_getcpu() -> c_int {
    let feigned = ROLE.get().map_or(0, |role| seen(role).cpu.load(Ordering::SeqCst));
    if feigned != 0 {
        return feigned as c_int - 1;
    }
    let mut cpu: libc::c_uint = 0;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: writes the one number; the others are not asked for.
    let result = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, none, none) };
    if result == 0 {
        cpu as c_int
    } else {
        -1
    }
}

/// The C library's `sched_setaffinity`.
///
/// # Safety
/// `mask` points to `size` bytes.
#[no_mangle]
unsafe extern "C" fn sched_setaffinity(pid: pid_t, size: size_t, mask: *const u8) -> c_int {
    count(|seen| &seen.binds);
    // SAFETY: the contract.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, size, mask) as c_int }
}

/// The C library's `nanosleep`, by which std sleeps, or by the next.
///
/// # Safety
/// `time` may be read; `left` may be written, or is null.
#[no_mangle]
unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the contract.
    unsafe { sleep(libc::CLOCK_REALTIME, 0, time, left) }
}

/// The C library's `clock_nanosleep`.
///
/// # Safety
/// As `nanosleep`.
#[no_mangle]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the contract.
    unsafe { sleep(clock, flags, time, left) }
}

/// # Safety
/// As `nanosleep`.
unsafe fn sleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    if count(|seen| &seen.naps) && BACK.load(Ordering::SeqCst) == 0 {
        // SAFETY: by contract.
        advance(Duration::from_nanos(ns_of(unsafe { &*time })));
        sched_yield();
        return 0;
    }
    // SAFETY: the contract is this call's.
    unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, left) as c_int }
}

/// The C library's `open`, with its optional third argument always there.
///
/// # Safety
/// `path` is a C string.
#[no_mangle]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: by contract.
    let name = unsafe { CStr::from_ptr(path) };
    if let Some(role) = ROLE.get().filter(|_| name == c"/proc/thread-self/schedstat") {
        count(|seen| &seen.asked);
        return account(seen(role).delay.load(Ordering::SeqCst));
    }
    let (flags, mode) = (c_long::from(flags), c_long::from(mode));
    // SAFETY: as `open`, which is this call.
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int }
}

/// A file that says how long a thread has lacked a CPU.
fn account(delay: u64) -> c_int {
    // SAFETY: a name with an end; the file is ours.
    let mut file = unsafe {
        let file = libc::memfd_create(c"schedstat".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0);
        std::fs::File::from_raw_fd(file)
    };
    writeln!(file, "1000 {delay} 7").expect("a file in memory");
    std::io::Seek::rewind(&mut file).expect("a file in memory");
    file.into_raw_fd()
}
