//! I7: a panic in any slot is raised once on the caller, the first in time,
//! after all slots ended; the pool stays usable.

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, panic_of, text_of, LatePool, Meeting};
use rowpool::Pool;
use std::panic::{panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Regions of this pool are complete and right.
fn works(pool: &Pool) {
    let mut rows = vec![0; 1000];
    pool.for_each_row(&mut rows, |row, out| *out = row + 1);
    assert!(rows.iter().enumerate().all(|(row, out)| *out == row + 1));
    let slots = AtomicUsize::new(0);
    pool.broadcast(|_| common::tick(&slots));
    assert_eq!(slots.into_inner(), pool.num_threads());
}

#[test]
fn a_panic_in_each_slot() {
    bounded!();
    for width in [1, 2, 4, 9] {
        let (prompt, late) = (cpus::pool(width), LatePool::new(width));
        for pool in [&prompt, &late] {
            for slot in 0..width {
                let ended = AtomicUsize::new(0);
                let text = format!("slot {slot} of {width}");
                let payload = panic_of(|| {
                    pool.run(width, |it| {
                        if it == slot {
                            panic!("{text}");
                        }
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert_eq!(payload.downcast_ref::<String>(), Some(&text));
                let ended = ended.into_inner();
                assert!(ended < width, "each at most once: {ended}");
                works(pool);
            }
        }
    }
}

/// The slots of one panicking region, each on its own thread, have all ended
/// when the panic arrives.
#[test]
fn the_panic_arrives_after_all_slots_ended() {
    bounded!();
    let pool = cpus::pool(4);
    for panicking in 0..4 {
        let inside = AtomicUsize::new(0);
        panic_of(|| {
            on_all_threads(&pool, |slot| {
                inside.fetch_add(1, Ordering::SeqCst);
                if slot == panicking {
                    inside.fetch_sub(1, Ordering::SeqCst);
                    panic!("early");
                }
                thread::sleep(Duration::from_millis(20));
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        });
        assert_eq!(inside.into_inner(), 0);
        works(&pool);
    }
}

#[derive(Debug, PartialEq)]
struct Custom {
    slot: usize,
    text: &'static str,
}

#[test]
fn payloads_are_preserved() {
    bounded!();
    for pool in [cpus::pool(1), cpus::pool(2), cpus::pool(5)] {
        for slot in 0..pool.num_threads() {
            let raise = |f: &(dyn Fn() + Sync)| {
                panic_of(|| {
                    pool.broadcast(|it| {
                        if it == slot {
                            f();
                        }
                    })
                })
            };
            assert_eq!(raise(&|| panic!("literal")).downcast_ref(), Some(&"literal"));
            let owned = raise(&|| panic!("slot {slot}"));
            assert_eq!(owned.downcast_ref(), Some(&format!("slot {slot}")));
            let custom = raise(&|| panic_any(Custom { slot, text: "custom" }));
            assert_eq!(custom.downcast_ref(), Some(&Custom { slot, text: "custom" }));
            let silent = raise(&|| resume_unwind(Box::new(slot)));
            assert_eq!(silent.downcast_ref(), Some(&slot));
            let index = raise(&|| assert_eq!(vec![1u8; 3][slot + 3], 1));
            assert!(text_of(&*index).contains("out of bounds"), "{}", text_of(&*index));
            works(&pool);
        }
    }
}

/// Counts those that are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A panic in every slot at the same time, as far as their owners come.
fn at_once(pool: &Pool, raise: impl Fn() + Sync) {
    let meeting = Meeting::default();
    pool.wake();
    pool.broadcast(|_| {
        meeting.join(pool.num_threads());
        raise();
    });
}

#[test]
fn of_several_panics_one_is_raised() {
    bounded!();
    for width in [2, 3, 9] {
        let pool = cpus::pool(width);
        for _ in 0..20 {
            let alive = Arc::new(AtomicUsize::new(0));
            let payload = panic_of(|| at_once(&pool, || panic_any(Counted::new(&alive))));
            assert!(payload.is::<Counted>());
            assert_eq!(alive.load(Ordering::SeqCst), 1, "the others are dropped by now");
            drop(payload);
            assert_eq!(alive.load(Ordering::SeqCst), 0);
            works(&pool);
        }
    }
}

/// Slot `second` panics well after `first`, on another thread. One attempt in
/// many may be disturbed (somebody loses the CPU between the panic and its
/// catch, or is relieved): the first in time is the rule, not the exception.
#[test]
fn the_first_panic_in_time_wins() {
    bounded!();
    let pool = cpus::pool(2);
    for (first, second) in [(0usize, 1usize), (1, 0)] {
        let wins = (0..20).filter(|_| {
            pool.wake();
            let begun = AtomicBool::new(false);
            let payload = panic_of(|| {
                pool.run(2, |slot| {
                    if slot == second {
                        let patience = Instant::now() + Duration::from_millis(50);
                        while !begun.load(Ordering::SeqCst) && Instant::now() < patience {
                            thread::yield_now();
                        }
                        thread::sleep(Duration::from_millis(10));
                    } else {
                        begun.store(true, Ordering::SeqCst);
                    }
                    resume_unwind(Box::new(slot));
                });
            });
            payload.downcast_ref() == Some(&first)
        });
        let wins = wins.count();
        assert!(wins >= 10, "slot {first} panicked first, and won {wins} times of 20");
    }
    works(&pool);
}

/// Once a slot has panicked, the caller does not begin those of late owners.
#[test]
fn the_rest_of_a_panicking_region_is_skipped_where_it_can_be() {
    bounded!();
    let pool = LatePool::new(4);
    let calls = AtomicUsize::new(0);
    let payload = panic_of(|| {
        pool.run(4, |slot| {
            calls.fetch_add(1, Ordering::Relaxed);
            if slot == 1 {
                panic!("slot 1");
            }
        });
    });
    assert_eq!(text_of(&*payload), "slot 1");
    assert_eq!(calls.into_inner(), 2, "slots 0 and 1, in this order, on the caller");
    works(&pool);
}

/// Panics when it is dropped, with a payload of its own kind.
struct Grenade(Arc<AtomicUsize>);

impl Drop for Grenade {
    fn drop(&mut self) {
        if self.0.fetch_add(1, Ordering::SeqCst) < 100 {
            panic_any(Grenade(Arc::clone(&self.0)));
        }
    }
}

#[test]
fn payloads_whose_drop_panics() {
    bounded!();
    for width in [2, 4, 9] {
        let pool = cpus::pool(width);
        let mut losers = 0;
        for _ in 0..20 {
            let blasts = Arc::new(AtomicUsize::new(0));
            let grenade = || Box::new(Grenade(Arc::clone(&blasts)));
            let payload = panic_of(|| at_once(&pool, || resume_unwind(grenade())));
            assert!(payload.is::<Grenade>());
            assert!(blasts.load(Ordering::SeqCst) < pool.num_threads(), "one per loser at most");
            std::mem::forget(payload);
            losers += blasts.load(Ordering::SeqCst);
            works(&pool);
        }
        assert!(losers > 0 || pool.active_width() == 1, "or nothing was tested");
        on_all_threads(&pool, |_| ());
    }
}

/// Scratch is dropped in its slot: what it raises there is raised on the caller.
#[test]
fn scratch_whose_drop_panics() {
    struct Scratch;
    impl Drop for Scratch {
        fn drop(&mut self) {
            panic!("scratch");
        }
    }

    bounded!();
    for width in [1, 2, 4, 9] {
        let pool = cpus::pool(width);
        for _ in 0..10 {
            let mut data = vec![0; 100];
            let call = || pool.for_each_chunk_init(&mut data, 1, || Scratch, |_, _, x| x[0] += 1);
            assert_eq!(text_of(&*panic_of(call)), "scratch");
            assert!(data.iter().all(|x| *x <= 1), "each at most once");
            works(&pool);
        }
        // All of them stay.
        on_all_threads(&pool, |_| ());
    }
}

#[test]
fn init_that_panics() {
    bounded!();
    let pool = cpus::pool(4);
    let init = || -> u32 { panic!("init") };
    let payload = panic_of(|| {
        pool.for_each_chunk_init(&mut [0; 100], 3, init, |_, _, _| unreachable!("no state"));
    });
    assert_eq!(text_of(&*payload), "init");
    works(&pool);
}

/// Each shape, from the first and the last row.
#[test]
fn every_shape_raises() {
    bounded!();
    for pool in [cpus::pool(1), cpus::pool(3)] {
        for at in [0, 57, 99] {
            let check = |i: usize| assert!(i != at, "row {i}");
            let shapes: [&dyn Fn(); 6] = [
                &|| pool.run(100, check),
                &|| pool.for_each_index(100, check),
                &|| pool.for_each_range(100, |mut range| range.by_ref().for_each(check)),
                &|| pool.for_each_row(&mut [0; 100], |row, _| check(row)),
                &|| pool.for_each_chunk(&mut [0; 300], 3, |i, _| check(i)),
                &|| pool.with_work(100_000).for_each_row(&mut [0; 100], |row, _| check(row)),
            ];
            for shape in shapes {
                assert_eq!(text_of(&*panic_of(shape)), format!("row {at}"));
                works(&pool);
            }
        }
    }
}

#[test]
fn a_panic_in_a_nested_region() {
    bounded!();
    let (outer, inner) = (cpus::pool(3), cpus::pool(2));
    for slot in 0..3 {
        let payload = panic_of(|| {
            outer.run(3, |it| {
                inner.run(2, |i| outer.run(2, |j| assert!((it, i, j) != (slot, 1, 1))))
            });
        });
        assert!(text_of(&*payload).contains("assertion"));
        works(&outer);
        works(&inner);
    }
    // Caught inside of the slot, it is nobody else's.
    outer.run(3, |_| drop(panic_of(|| inner.run(2, |_| panic!("inside")))));
    works(&outer);
}

/// A region in a destructor, while its thread unwinds.
#[test]
fn a_region_during_a_panic() {
    struct Last<'a>(&'a Pool, &'a AtomicUsize);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            assert!(thread::panicking());
            self.0.for_each_index(100, |_| common::tick(self.1));
        }
    }

    bounded!();
    let pool = cpus::pool(3);
    let calls = AtomicUsize::new(0);
    panic_of(|| {
        let _last = Last(&pool, &calls);
        panic!("outside of any region");
    });
    assert_eq!(calls.load(Ordering::Relaxed), 100);
    panic_of(|| {
        pool.run(3, |_| {
            let _last = Last(&pool, &calls);
            panic!("in a slot");
        })
    });
    let calls = calls.into_inner();
    assert!((200..=400).contains(&calls) && calls.is_multiple_of(100), "{calls}");
    works(&pool);
}

/// A worker survives its start hook, and takes part.
#[test]
fn a_panic_in_the_start_hook() {
    bounded!();
    let hook = |slot| match slot {
        1 => panic!("hook"),
        2 => panic_any(Grenade(Arc::new(AtomicUsize::new(0)))),
        _ => (),
    };
    let pool = cpus::builder().width(4).on_worker_start(hook).build().unwrap();
    works(&pool);
    assert_eq!(on_all_threads(&pool, |_| ()).len(), pool.active_width());
}

#[test]
fn a_thousand_panicking_regions() {
    bounded!();
    let pool = cpus::pool(4);
    let threads = on_all_threads(&pool, |_| ());
    for round in 0..1000 {
        let payload = panic_of(|| {
            pool.for_each_index(64, |i| {
                if i % 64 == round % 64 {
                    resume_unwind(Box::new(round));
                }
            });
        });
        assert_eq!(payload.downcast_ref(), Some(&round));
    }
    works(&pool);
    assert_eq!(on_all_threads(&pool, |_| ()), threads, "the same threads own the same slots");
}
