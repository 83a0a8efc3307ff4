//! S16: on CPUs of unequal capacity the slots have unequal sizes, and small
//! ones may be empty. Everything else is as it is on equal CPUs.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[macro_use]
mod common;

use rowpool::Pool;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Four fast CPUs and four slow ones, as a phone has them.
const CAPACITIES: [u32; 8] = [1024, 1024, 1024, 1024, 160, 160, 160, 160];

/// The `/sys` of such a machine, gone when dropped.
struct Sysfs(PathBuf);

impl Sysfs {
    fn new() -> Self {
        let sysfs = Sysfs(std::env::temp_dir().join(format!("rowpool-{}", std::process::id())));
        let cpus = sysfs.0.join("sys/devices/system/cpu");
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(&cpus.join("online"), "0-7\n");
        for (cpu, capacity) in CAPACITIES.into_iter().enumerate() {
            write(&cpus.join(format!("cpu{cpu}/cpu_capacity")), &format!("{capacity}\n"));
        }
        lie::begin(&sysfs.0);
        sysfs
    }
}

impl Drop for Sysfs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the library asks of its machine, answered for another one. The C
/// library's functions are found after these.
mod lie {
    use libc::{c_char, c_int, c_long, mode_t, pid_t, size_t, DIR};
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::OnceLock;

    static ROOT: OnceLock<CString> = OnceLock::new();

    /// From now on `/sys` is below `root`, and there are eight CPUs.
    pub fn begin(root: &Path) {
        ROOT.set(CString::new(root.as_os_str().as_bytes()).unwrap()).unwrap();
    }

    /// Where `path` is in truth.
    ///
    /// # Safety
    /// `path` is a C string.
    unsafe fn real(path: *const c_char) -> CString {
        // SAFETY: by contract.
        let path = unsafe { CStr::from_ptr(path) };
        match ROOT.get() {
            Some(root) if path.to_bytes().starts_with(b"/sys/") => {
                CString::new([root.to_bytes(), path.to_bytes()].concat()).unwrap()
            }
            _ => path.to_owned(),
        }
    }

    fn open(path: &CStr, flags: c_int, mode: mode_t) -> c_int {
        let (flags, mode) = (c_long::from(flags), c_long::from(mode));
        // SAFETY: as `open`, which is this call.
        unsafe {
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode) as c_int
        }
    }

    /// # Safety
    /// As the C library's.
    #[no_mangle]
    unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        // SAFETY: by contract.
        open(&unsafe { real(path) }, flags, mode)
    }

    /// # Safety
    /// As the C library's.
    #[no_mangle]
    unsafe extern "C" fn opendir(path: *const c_char) -> *mut DIR {
        // SAFETY: by contract.
        let path = unsafe { real(path) };
        match open(&path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, 0) {
            -1 => std::ptr::null_mut(),
            // SAFETY: a directory that was just opened, and belongs to us.
            fd => unsafe { libc::fdopendir(fd) },
        }
    }

    /// # Safety
    /// As the C library's.
    #[no_mangle]
    unsafe extern "C" fn statx(
        at: c_int,
        path: *const c_char,
        flags: c_int,
        mask: u32,
        buffer: *mut libc::statx,
    ) -> c_int {
        // SAFETY: std asks once with null pointers whether there is such a call.
        let path = (!path.is_null()).then(|| unsafe { real(path) });
        let path = path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
        let (at, flags) = (c_long::from(at), c_long::from(flags));
        // SAFETY: by contract; `real` keeps a C string a C string.
        unsafe {
            libc::syscall(libc::SYS_statx, at, path, flags, c_long::from(mask), buffer) as c_int
        }
    }

    /// # Safety
    /// `mask` points to `size` bytes.
    #[no_mangle]
    unsafe extern "C" fn sched_getaffinity(_: pid_t, size: size_t, mask: *mut u8) -> c_int {
        // SAFETY: by contract.
        unsafe {
            mask.write_bytes(0, size);
            mask.write(0xff);
        }
        0
    }
}

fn ranges(pool: &Pool, n: usize) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    pool.for_each_range(n, |range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Runs `body` with a pool of `width` on that machine.
macro_rules! on_unequal_cpus {
    ($width:expr, $body:expr) => {
        isolated!().run(|| {
            let _sysfs = Sysfs::new();
            let pool = Pool::new($width).unwrap();
            assert_eq!(pool.active_width(), $width);
            let body: fn(&Pool) = $body;
            body(&pool);
        })
    };
}

#[test]
fn s16_ranges_by_weight() {
    bounded!();
    for width in [2, 4, 5, 8] {
        on_unequal_cpus!(width, |pool| {
            let width = pool.num_threads();
            let sum: u64 = CAPACITIES[..width].iter().map(|&capacity| u64::from(capacity)).sum();
            for n in [0, 1, 2, 3, 7, 8, 9, 100, 4736, 100_000, usize::MAX] {
                let ranges = ranges(pool, n);
                let mut end = 0;
                for range in &ranges {
                    assert!(range.start == end && !range.is_empty(), "{ranges:?}");
                    end = range.end;
                }
                assert_eq!(end, n);
                assert!(ranges.len() <= width);
                if n >= 4736 {
                    for (range, capacity) in ranges.iter().zip(CAPACITIES) {
                        let share = n as u128 * u128::from(capacity) / u128::from(sum);
                        assert!((range.len() as u128).abs_diff(share) <= 1, "{ranges:?}");
                    }
                }
            }
        });
    }
}

#[test]
fn s16_every_shape_is_complete() {
    bounded!();
    for width in [2, 5, 8] {
        on_unequal_cpus!(width, |pool| {
            for n in (0..20).chain([31, 32, 100, 1000, 4097]) {
                let mut rows = vec![7u32; n];
                pool.for_each_row(&mut rows, |row, out| *out += row as u32);
                assert!(rows.iter().enumerate().all(|(row, out)| *out == row as u32 + 7));

                let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
                struct State<'a>(&'a AtomicUsize, usize);
                impl Drop for State<'_> {
                    fn drop(&mut self) {
                        assert!(self.1 > 0, "a state without a chunk");
                        common::tick(self.0);
                    }
                }
                let init = || {
                    common::tick(&made);
                    State(&dropped, 0)
                };
                pool.for_each_chunk_init(&mut rows, 3, init, |state, i, chunk| {
                    state.1 += 1;
                    chunk.iter_mut().for_each(|x| *x = i as u32);
                });
                assert!(rows.iter().enumerate().all(|(at, out)| *out == at as u32 / 3));
                assert_eq!(made.load(Ordering::SeqCst), dropped.load(Ordering::SeqCst));

                let visits = Mutex::new(vec![0; n]);
                pool.for_each_index(n, |i| visits.lock().unwrap()[i] += 1);
                assert!(visits.into_inner().unwrap().iter().all(|visits| *visits == 1));
            }
        });
    }
}

/// `run` and `broadcast` are about threads, not about work: with no more slots
/// than active threads, no worker has two while others have none.
#[test]
fn run_and_broadcast_give_each_worker_one_slot() {
    bounded!();
    on_unequal_cpus!(8, |pool| {
        let me = thread::current().id();
        for round in 0..1000 {
            let threads = Mutex::new(Vec::new());
            pool.wake();
            let see = |_| {
                threads.lock().unwrap().push(thread::current().id());
                // Some time for others to come.
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(20) {
                    std::hint::spin_loop();
                }
            };
            match round % 2 {
                0 => pool.broadcast(see),
                _ => pool.run(8, see),
            }
            let mut workers = threads.into_inner().unwrap();
            assert_eq!(workers.len(), 8);
            // The caller may have more: those of late owners.
            workers.retain(|id| *id != me);
            assert_eq!(workers.iter().collect::<HashSet<_>>().len(), workers.len());
        }
    });
}

/// Rows never depend on the split.
#[test]
fn i6_the_same_bits_as_on_one_thread() {
    bounded!();
    on_unequal_cpus!(8, |pool| {
        let kernel = |row: usize| (0..100).fold(0.1f32, |sum, i| sum * 1.01 + (row * i) as f32);
        let serial: Vec<u32> = (0..1000).map(|row| kernel(row).to_bits()).collect();
        for _ in 0..20 {
            let mut rows = vec![0.0; 1000];
            pool.for_each_row(&mut rows, |row, out| *out = kernel(row));
            assert!(rows.iter().map(|x| x.to_bits()).eq(serial.iter().copied()));
        }
    });
}
