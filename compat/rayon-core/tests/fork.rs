//! A `fork()` child has none of the workers: what it calls runs on its thread.
#![cfg(unix)]

mod common;

#[test]
fn a_child_runs_it_by_itself() {
    common::bounded(|| {
        let sum = || {
            let sum = std::sync::atomic::AtomicUsize::new(0);
            common::tree(0, 100, &|i| _ = sum.fetch_add(i, std::sync::atomic::Ordering::SeqCst));
            sum.into_inner()
        };
        assert_eq!(sum(), 4950);
        for _ in 0..20 {
            // SAFETY: the child calls what this test is about, and ends without
            // running anything of its parent's.
            match unsafe { libc::fork() } {
                0 => {
                    let right = sum() == 4950 && rayon_core::scope(|_| sum()) == 4950;
                    // SAFETY: ends the process.
                    unsafe { libc::_exit(i32::from(!right)) }
                }
                child => {
                    let mut status = 0;
                    // SAFETY: waits for the child, into a live local.
                    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                    assert_eq!(status, 0);
                }
            }
            assert_eq!(sum(), 4950);
        }
    });
}
