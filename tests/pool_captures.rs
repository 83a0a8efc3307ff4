//! What closures own: a region is moved to where its workers read it and back,
//! so each capture is used in one place and dropped once, by the caller.

#[macro_use]
mod common;

use common::cpus;
use rowpool::Pool;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Notes who drops it.
struct Owned(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

/// Captures of so many bytes beside what they own: with `Owned` they lie in one
/// piece, two, three, and stay with the caller.
macro_rules! at_each_size {
    (|$ballast:ident| $body:expr) => {{
        {
            let $ballast = [0u8; 0];
            $body;
        }
        {
            let $ballast = [1u64; 3];
            $body;
        }
        {
            let $ballast = [2u64; 7];
            $body;
        }
        {
            let $ballast = [3u64; 40];
            $body;
        }
        {
            let $ballast = Aligned([4; 2]);
            $body;
        }
    }};
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(256))]
struct Aligned([u64; 2]);

fn crowd(test: impl Fn(&Pool)) {
    for width in [1, 2, 3, 5, 12] {
        test(&cpus::pool(width));
    }
}

#[test]
fn what_a_closure_owns_is_dropped_once_by_the_caller() {
    bounded!();
    let me = std::thread::current().id();
    crowd(|pool| {
        at_each_size!(|ballast| {
            let drops = Arc::new(Mutex::new(Vec::new()));
            let owned = Owned(Arc::clone(&drops));
            let calls = AtomicUsize::new(0);
            let seen = &calls;
            pool.for_each_index(100, move |_| {
                assert!(owned.0.lock().unwrap().is_empty(), "used after its drop");
                assert_eq!(ballast, std::hint::black_box(ballast));
                common::tick(seen);
            });
            assert_eq!(calls.into_inner(), 100);
            assert_eq!(*drops.lock().unwrap(), [me]);
        });
    });
}

#[test]
fn what_a_closure_changes_inside_itself_is_what_is_dropped() {
    bounded!();
    crowd(|pool| {
        at_each_size!(|ballast| {
            // Grows, so that the bytes it began with point to freed memory.
            let tokens: Mutex<Vec<Arc<usize>>> = Mutex::new(Vec::new());
            let token = Arc::new(0);
            let copies = Arc::clone(&token);
            pool.for_each_index(1000, move |_| {
                std::hint::black_box(ballast);
                tokens.lock().unwrap().push(Arc::clone(&copies));
            });
            assert_eq!(Arc::strong_count(&token), 1, "all copies have been dropped");
        });
    });
}

#[test]
fn a_panic_drops_what_the_closure_owns_once() {
    bounded!();
    crowd(|pool| {
        at_each_size!(|ballast| {
            for bad in [0, 99] {
                let drops = Arc::new(Mutex::new(Vec::new()));
                let owned = Owned(Arc::clone(&drops));
                let result = catch_unwind(AssertUnwindSafe(|| {
                    pool.for_each_index(100, move |i| {
                        std::hint::black_box((&owned, ballast));
                        assert_ne!(i, bad);
                    });
                }));
                assert!(result.is_err());
                assert_eq!(drops.lock().unwrap().len(), 1);
            }
        });
    });
}

#[test]
fn chunks_own_both_of_their_closures() {
    bounded!();
    crowd(|pool| {
        let drops = Arc::new(Mutex::new(Vec::new()));
        let (first, second) = (Owned(Arc::clone(&drops)), Owned(Arc::clone(&drops)));
        let mut data = [0u32; 103];
        pool.for_each_chunk_init(
            &mut data,
            10,
            move || first.0.lock().unwrap().len(),
            move |dropped, i, chunk| {
                assert_eq!((*dropped, second.0.lock().unwrap().len()), (0, 0));
                chunk.fill(i as u32);
            },
        );
        assert!((0..103).all(|i| data[i] == i as u32 / 10));
        assert_eq!(drops.lock().unwrap().len(), 2);
    });
}

#[test]
fn aligned_captures_are_aligned_wherever_they_are_used() {
    bounded!();
    crowd(|pool| {
        let value = Aligned([7, 9]);
        let sum = AtomicUsize::new(0);
        let total = &sum;
        pool.for_each_index(64, move |_| {
            let value = std::hint::black_box(&value);
            assert_eq!(std::ptr::from_ref(value) as usize % 256, 0);
            total.fetch_add(value.0[1] as usize, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 64 * 9);
    });
}
