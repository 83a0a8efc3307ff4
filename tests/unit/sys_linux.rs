//! Tests of `src/sys/linux.rs`, inside of it.

use super::*;

/// In a thread of its own, whose mask may change.
fn own_thread<R: Send>(test: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(test).join()).unwrap()
}

#[test]
fn a_thread_leaves_a_cpu_and_keeps_its_mask() {
    own_thread(|| {
        let before = mask_of(0);
        let cpus: u32 = before.iter().map(|word| word.count_ones()).sum();
        assert_eq!(leave_cpu(current_cpu().unwrap()), cpus > 1);
        assert_eq!(mask_of(0), before);
        // None of its own, and none that there is.
        for cpu in [8191, 8192, u32::MAX] {
            assert!(!leave_cpu(cpu), "{cpu}");
            assert_eq!(mask_of(0), before);
        }
    });
}

#[test]
fn a_bound_thread_stays() {
    own_thread(|| {
        let cpu = current_cpu().unwrap();
        assert!(pin_to(cpu as usize));
        assert_eq!(current_cpu(), Some(cpu));
        assert!(!leave_cpu(cpu));
        assert_eq!(current_cpu(), Some(cpu));
    });
}

/// A mask of some CPUs, as long as the kernel's may be.
fn mask(cpus: &[u32], words: usize) -> Vec<u64> {
    let mut mask = vec![0; words];
    cpus.iter().for_each(|&cpu| mask[cpu as usize / 64] |= 1 << (cpu % 64));
    mask
}

fn members(mask: &[u64]) -> Vec<u32> {
    (0..64 * mask.len() as u32)
        .filter(|&cpu| mask[cpu as usize / 64] >> (cpu % 64) & 1 > 0)
        .collect()
}

#[test]
fn the_mask_of_a_thread_is_read_in_words() {
    own_thread(|| {
        let cpu = current_cpu().unwrap();
        assert!(pin_to(cpu as usize));
        assert_eq!(mask_of(0), mask(&[cpu], mask_of(0).len()));
        assert!(mask_of(0).len() >= 128);
        assert_eq!(mask_of(-1), [0; 0], "no such thread");
    });
}

#[test]
fn a_caller_has_the_mask_that_it_was_given() {
    use crate::topology::caller_has;
    own_thread(|| {
        let all: Vec<_> = members(&mask_of(0)).iter().map(|&cpu| cpu as usize).collect();
        assert!(caller_has(&all.iter().copied().collect()));
        for &cpu in &all {
            assert!(pin_to(cpu));
            assert!(caller_has(&std::iter::once(cpu).collect()));
            assert_eq!(caller_has(&all.iter().copied().collect()), all.len() == 1);
        }
    });
}

#[test]
fn a_thread_is_bound_to_a_set() {
    own_thread(|| {
        let before = mask_of(0);
        let all = members(&before);
        let cpus = |cpus: &[u32]| cpus.iter().map(|&cpu| cpu as usize).collect::<Vec<_>>();
        // Each, then some, then all again; each twice.
        for set in all.iter().map(std::slice::from_ref).chain([&all[..all.len().min(2)], &all]) {
            for _ in 0..2 {
                assert!(bind_to(&cpus(set)), "{set:?}");
                assert_eq!(mask_of(0), mask(set, before.len()), "{set:?}");
            }
        }
        // The system has none of these, or they are none.
        for none in [&[][..], &[8191]] {
            assert!(!bind_to(none), "{none:?}");
            assert_eq!(mask_of(0), before);
        }
        for none in [1023, 1024, 1 << 20] {
            assert!(!pin_to(none), "{none}");
            assert_eq!(mask_of(0), before);
        }
    });
}

#[test]
fn a_thread_that_leaves_a_cpu_is_on_another() {
    own_thread(|| {
        let before = mask_of(0);
        let all = members(&before);
        for &cpu in &all {
            assert!(pin_to(cpu as usize));
            assert_eq!(current_cpu(), Some(cpu));
            // The only one of its mask, then one that is not in it.
            assert!(!leave_cpu(cpu));
            all.iter().filter(|&&other| other != cpu).for_each(|&other| assert!(!leave_cpu(other)));
            assert_eq!(mask_of(0), mask(&[cpu], before.len()));
        }
        assert!(bind_to(&all.iter().map(|&cpu| cpu as usize).collect::<Vec<_>>()));
        for &cpu in &all {
            assert_eq!(leave_cpu(cpu), all.len() > 1);
            assert_eq!(mask_of(0), before);
        }
    });
}

#[test]
fn the_beginning_of_a_file_is_read() {
    let mut buffer = [7; 64];
    let text = read_at_once(c"/proc/self/cmdline", &mut buffer[..16]).to_owned();
    let all = std::fs::read("/proc/self/cmdline").unwrap();
    assert_eq!(text, all[..all.len().min(16)]);
    assert_eq!(buffer[16..], [7; 48]);
    assert_eq!(read_at_once(c"/does/not/exist", &mut buffer), b"");
    // No descriptor is left open: the next one has the same number.
    let next = || std::os::fd::AsRawFd::as_raw_fd(&std::fs::File::open("/dev/null").unwrap());
    own_thread(|| {
        let most = (0..100).map(|_| {
            read_at_once(c"/proc/self/cmdline", &mut [0; 4]);
            next()
        });
        assert!(most.max() < Some(100), "others of this process have few open");
    });
}

#[test]
fn who_sleeps_does_not_run() {
    use std::sync::mpsc::channel;
    let own = thread_number();
    assert!(std::path::Path::new(&format!("/proc/self/task/{own}")).exists());
    assert!(thread_runs(own));
    assert!(!thread_runs(u32::MAX), "there is none");
    let (tell, told) = channel();
    let (end, ended) = channel::<()>();
    let sleeper = std::thread::spawn(move || {
        tell.send(thread_number()).unwrap();
        ended.recv().unwrap();
    });
    let sleeper_number = told.recv().unwrap();
    assert_ne!(sleeper_number, own);
    // It is about to.
    while thread_runs(sleeper_number) {
        std::thread::yield_now();
    }
    end.send(()).unwrap();
    sleeper.join().unwrap();
    assert!(thread_runs(own));
}

#[test]
fn a_wiped_page_is_zero_and_may_be_written() {
    let page = wiped_page::<[u64; 512]>().unwrap();
    assert_eq!(page as usize % 4096, 0);
    // SAFETY: a page of our own, zero at first, that is never given back.
    let words = unsafe { &mut *page };
    assert!(words.iter().all(|&word| word == 0));
    words.fill(1);
    assert!(words.iter().all(|&word| word == 1));
}

#[test]
fn a_thread_knows_how_long_it_has_waited_for_a_cpu() {
    let before = run_delay();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let after = text.map(|text| text.split_whitespace().nth(1).unwrap().parse().unwrap());
    // Equal but for what came in between; none where the kernel keeps no account.
    assert!(before <= after.map(std::time::Duration::from_nanos) && before <= run_delay());
    assert_eq!(before.is_some(), after.is_some());
}

/// The calling thread may not take better nice values any more, were it root's.
fn drop_sys_nice() {
    const VERSION_3: u32 = 0x2008_0522;
    let (header, mut sets) = ([VERSION_3, 0], [[0u32; 3]; 2]);
    // SAFETY: header and sets are of the sizes of version 3 (capset(2)), and
    // alive; the calling thread's own.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &raw const header, &raw mut sets), 0);
        sets[0][0] &= !(1 << 23);
        assert_eq!(libc::syscall(libc::SYS_capset, &raw const header, &raw const sets), 0);
    }
}

#[test]
fn a_nice_thread_without_the_right_is_stuck() {
    use crate::sys::stuck_at_nice;
    use crate::topology::Reason;
    own_thread(|| {
        drop_sys_nice();
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both only read, the former into a live local.
        let own = unsafe {
            libc::getrlimit(libc::RLIMIT_NICE, &mut limit);
            libc::getpriority(libc::PRIO_PROCESS as _, 0)
        };
        assert_eq!(stuck_at_nice(), None, "its nice value is the process's");
        if own < 19 {
            // SAFETY: takes numbers; 0 is the calling thread.
            assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, own + 1) }, 0);
            let free = i64::try_from(limit.rlim_cur).map_or(true, |most| 20 - most <= own.into());
            assert_eq!(stuck_at_nice(), (!free).then_some(own + 1));
            // A pool says so where it has workers, which would be nicer than meant.
            for (width, inherit, said) in [(2, false, !free), (1, false, false), (2, true, false)] {
                let builder = crate::Pool::builder().width(width).inherit_priority(inherit);
                let pool = builder.build().unwrap();
                let reason = pool.reason();
                assert_eq!(matches!(reason, Reason::StuckAtNice { .. }), said, "{reason}");
            }
        }
    });
}
