//! Tests of `src/topology/ffi_linux.rs`, inside of it.

use super::*;
use crate::sys::{current_cpu, pin_to};

#[test]
fn masks_of_the_main_thread_and_of_the_caller() {
    let test = || {
        let start = mask_of(std::process::id() as _);
        let cpu = current_cpu().unwrap() as usize;
        assert!(pin_to(cpu));
        let mut bound = vec![0; start.len()];
        bound[cpu / 64] = 1 << (cpu % 64);
        // Asked only where the main thread's is not what it was at the start.
        note_unbound_worker();
        assert_eq!(masks(), [start.clone(), start, Vec::new(), bound]);
    };
    // Its own thread, whose mask ends with it.
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn a_caller_has_the_mask_that_it_was_given() {
    use super::super::caller_has;
    let test = || {
        let own = mask_of(0);
        let all: Vec<usize> =
            (0..64 * own.len()).filter(|cpu| own[cpu / 64] >> (cpu % 64) & 1 != 0).collect();
        assert!(caller_has(&all.iter().copied().collect()));
        for &cpu in &all {
            assert!(pin_to(cpu));
            assert!(caller_has(&std::iter::once(cpu).collect()));
            assert_eq!(caller_has(&all.iter().copied().collect()), all.len() == 1);
        }
    };
    std::thread::spawn(test).join().unwrap();
}
