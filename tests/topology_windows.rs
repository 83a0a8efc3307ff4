//! The running Windows system: the records and the process's mask. A file of
//! its own, since the mask is the process's.
#![cfg(windows)]

#[macro_use]
mod common;

use rowpool::topology::{Rule, Settings, Topology, Width};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, SetProcessAffinityMask};

#[test]
fn the_process_mask_restricts() {
    let before = Topology::detect();
    assert_ne!(before.rule, Rule::Parallelism, "the records were read");
    let parallelism = std::thread::available_parallelism().unwrap().get();
    assert!(before.cpus.len() >= parallelism);
    let last = before.allowed().iter().filter(|&cpu| cpu < 64).last().unwrap();
    if last == 0 {
        return cannot_check!("cpus", "wants two");
    }

    // SAFETY: the pseudo handle needs no closing; the mask names a CPU that
    // the process may use.
    let done = unsafe { SetProcessAffinityMask(GetCurrentProcess(), 1 << last) };
    assert_ne!(done, 0);
    let after = Topology::detect();
    let width = Width::new(&after, &Settings::default());
    assert_eq!(after.mask.as_ref().map(|mask| mask.to_string()), Some(last.to_string()));
    assert_eq!((width.threads, width.cpus, after.usable()), (1, vec![last], 1));
    assert_eq!(after.cpus, before.cpus);
}
