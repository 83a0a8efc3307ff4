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
