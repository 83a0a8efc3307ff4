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
