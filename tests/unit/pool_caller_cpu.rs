//! Tests of `src/pool/caller_cpu.rs`, inside of it.

use super::*;

#[test]
fn workers_and_caller_change_seats() {
    let places = CallerCpu::new();
    let unbound = |_| unreachable!("nobody was bound");
    assert!(!places.change_seats(3, unbound));
    places.set_seat(0);
    let to = |cpu| move |given| given == cpu;
    assert!(places.change_seats(3, to(0)), "the caller has come to 3");
    assert!(!places.change_seats(3, unbound), "it is free already");
    assert!(places.change_seats(1, to(3)));
    assert!(!places.change_seats(2, |_| false), "a CPU that it may not use");
    assert!(places.change_seats(0, to(1)));
}
