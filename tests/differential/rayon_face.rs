//! rayon's face beside rayon itself: the same source, the same values, for
//! many lengths and widths; and what rayon's tests of values cannot show:
//! panics, drops, where closures run.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/feigned.rs"]
mod feigned;

use common::{panic_of, text_of, tick};
use rowpool::rayon::prelude::*;
use rowpool::rayon::{self as face, ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

mod theirs {
    use rayon as face;
    include!("rayon_face/cases.rs");
}

mod ours {
    use rowpool::rayon as face;
    include!("rayon_face/cases.rs");
}

/// Item `i` of the data: no order, some values twice, some below zero.
fn item(i: usize) -> i64 {
    (i as i64).wrapping_mul(0x9e37_79b9) % 1009 - 300
}

fn digest(items: &[i64]) -> i64 {
    items.iter().fold(17, |all, &item| all.wrapping_mul(31).wrapping_add(item))
}

fn pool(width: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(width).build().expect("a pool")
}

#[test]
fn the_same_values_as_rayon() {
    bounded!();
    let theirs = ::rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("rayon's pool");
    for n in [0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 1000, 1531] {
        let wanted = theirs.install(|| theirs::cases(n));
        for width in [1, 2, 3, 8] {
            let found = pool(width).install(|| ours::cases(n));
            assert_eq!(found.len(), wanted.len());
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found, wanted, "{n} items, width {width}");
            }
        }
    }
}

#[test]
fn the_process_wide_pool_too() {
    bounded!();
    assert_eq!(ours::cases(257), theirs::cases(257));
}

/// Several threads take part, or the tests above show nothing: each waits for
/// the other for a while.
#[test]
fn the_parts_run_on_several_threads() {
    bounded!();
    let pool = pool(2);
    let met = AtomicBool::new(false);
    for _ in 0..10_000 {
        let threads = Mutex::new(BTreeSet::new());
        pool.install(|| {
            (0..2).into_par_iter().for_each(|_| {
                threads.lock().unwrap().insert(format!("{:?}", thread::current().id()));
                thread::sleep(std::time::Duration::from_micros(50));
            });
        });
        if threads.lock().unwrap().len() == 2 {
            met.store(true, Ordering::Relaxed);
            break;
        }
    }
    assert!(met.into_inner(), "all ran on one thread");
}

#[test]
fn parts_are_contiguous_and_as_long_as_asked() {
    bounded!();
    for width in [1, 2, 3, 8] {
        let pool = pool(width);
        for n in [0, 1, 2, 7, 8, 100, 999] {
            for min in [0, 1, 2, 10, 50, 51, 1000, usize::MAX] {
                // A fold gives one value per part.
                let parts: Vec<Vec<usize>> = pool.install(|| {
                    let items = (0..n).into_par_iter().with_min_len(min);
                    items
                        .fold(Vec::new, |mut all, i| {
                            all.push(i);
                            all
                        })
                        .collect()
                });
                let what = format!("{n} items, at least {min}, width {width}");
                assert_eq!(parts.concat(), (0..n).collect::<Vec<_>>(), "{what}");
                assert!(parts.len() <= width.min(n.max(1)), "{what}");
                let asked = (n / min.max(1)).clamp(1, width);
                assert_eq!(parts.len(), asked.max(1), "{what}");
                assert!(parts.len() == 1 || parts.iter().all(|part| part.len() >= min), "{what}");
            }
        }
    }
}

/// Boundaries keep two threads from one line, where there is enough.
#[test]
fn mutable_parts_begin_at_lines() {
    bounded!();
    let pool = pool(3);
    let mut y = vec![0f32; 10_000];
    let base = y.as_ptr().addr();
    let starts: Vec<usize> = pool.install(|| {
        let first = y.par_iter_mut().map(|y| std::ptr::from_ref(y).addr() - base);
        first.fold(|| None, |first, at| first.or(Some(at))).flatten_iter().collect()
    });
    assert_eq!(starts.len(), 3);
    assert!(starts.iter().all(|start| start % 128 == 0), "{starts:?}");
}

#[test]
fn scratch_is_made_once_per_part() {
    bounded!();
    let pool = pool(4);
    let made = AtomicUsize::new(0);
    let mut y = vec![0; 100];
    pool.install(|| y.par_iter_mut().for_each_init(|| tick(&made), |(), y| *y += 1));
    assert_eq!(made.into_inner(), 4);
    assert_eq!(y, [1; 100]);
}

#[test]
fn of_several_errors_the_first() {
    bounded!();
    for width in [1, 2, 5] {
        let pool = pool(width);
        for _ in 0..200 {
            let (tried, collected) = pool.install(|| {
                let fail = |i: usize| if i % 300 > 100 { Err(i) } else { Ok(()) };
                let tried = (0..1000).into_par_iter().try_for_each(fail);
                let all: Result<Vec<()>, usize> = (0..1000).into_par_iter().map(fail).collect();
                (tried, all)
            });
            assert_eq!((tried, collected), (Err(101), Err(101)));
        }
    }
}

/// Counts its drops by number; a second one of the same number is a fault.
struct Counted(usize, Arc<Vec<AtomicUsize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        tick(&self.1[self.0]);
    }
}

fn counted(n: usize) -> (Vec<Counted>, Arc<Vec<AtomicUsize>>) {
    let drops: Arc<Vec<_>> = Arc::new((0..n).map(|_| AtomicUsize::new(0)).collect());
    ((0..n).map(|i| Counted(i, Arc::clone(&drops))).collect(), drops)
}

fn all_once(drops: &[AtomicUsize], what: &str) {
    for (i, drops) in drops.iter().enumerate() {
        assert_eq!(drops.load(Ordering::SeqCst), 1, "drops of {i}: {what}");
    }
}

#[test]
fn elements_are_dropped_once() {
    bounded!();
    for width in [1, 2, 3, 8] {
        let pool = pool(width);
        for n in [0, 1, 2, 3, 10, 100] {
            let what = format!("{n} of width {width}");
            let (items, drops) = counted(n);
            drop(items.into_par_iter());
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            pool.install(|| items.into_par_iter().for_each(drop));
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            pool.install(|| items.into_par_iter().zip(0..n / 2).for_each(drop));
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            pool.install(|| (0..n / 3).into_par_iter().zip(items).for_each(drop));
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            pool.install(|| items.into_par_iter().find_any(|item| item.0 == n / 2));
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            let fail = |item: Counted| if item.0 == n / 2 { Err(item) } else { Ok(item) };
            let result: Result<Vec<_>, _> =
                pool.install(|| items.into_par_iter().map(fail).collect());
            drop(result);
            all_once(&drops, &what);
            let (items, drops) = counted(n);
            let kept: Vec<_> = pool.install(|| items.into_par_iter().collect());
            assert!(kept.iter().enumerate().all(|(i, item)| item.0 == i), "{what}");
            assert!(drops.iter().all(|drops| drops.load(Ordering::SeqCst) == 0), "{what}");
            drop(kept);
            all_once(&drops, &what);
        }
    }
}

#[test]
fn elements_are_dropped_once_where_one_panics() {
    bounded!();
    for width in [1, 2, 3, 8] {
        let pool = pool(width);
        for n in [1, 2, 10, 100] {
            for at in [0, n / 2, n - 1] {
                let what = format!("panic at {at} of {n}, width {width}");
                let (items, drops) = counted(n);
                let payload = panic_of(|| {
                    pool.install(|| {
                        let results: Vec<Counted> = items
                            .into_par_iter()
                            .map(|item| if item.0 == at { panic!("{what}") } else { item })
                            .collect();
                        drop(results);
                    });
                });
                assert_eq!(text_of(&*payload), what);
                all_once(&drops, &what);
            }
        }
        // The pool goes on.
        assert_eq!(pool.install(|| (0..1000).into_par_iter().sum::<i32>()), 499_500);
    }
}

/// Drops of elements that panic themselves keep no other from its drop.
#[test]
fn elements_whose_drop_panics() {
    bounded!();
    struct Fuse(#[allow(dead_code, reason = "its drop counts")] Counted, bool);
    impl Drop for Fuse {
        fn drop(&mut self) {
            assert!(!self.1, "fuse");
        }
    }
    for width in [1, 3] {
        let (items, drops) = counted(30);
        let items: Vec<_> = items
            .into_iter()
            .map(|item| {
                let at = item.0;
                Fuse(item, at == 11)
            })
            .collect();
        let pool = pool(width);
        let payload = panic_of(|| pool.install(|| items.into_par_iter().zip(0..5).for_each(drop)));
        assert_eq!(text_of(&*payload), "fuse");
        all_once(&drops, "fuse");
    }
}

#[test]
fn panics_reach_the_caller() {
    bounded!();
    for width in [1, 2, 4] {
        let pool = pool(width);
        for at in [0, 50, 99] {
            let text = format!("{at} of width {width}");
            let fail = |i: usize| {
                if i == at {
                    panic!("{text}")
                }
            };
            let payload = panic_of(|| pool.install(|| (0..100).into_par_iter().for_each(fail)));
            assert_eq!(text_of(&*payload), text);
            let count = || (0..100).into_par_iter().map(fail).count();
            let payload = panic_of(|| assert_eq!(pool.install(count), 100));
            assert_eq!(text_of(&*payload), text);
            let mut y = vec![0; 100];
            let payload = panic_of(|| {
                pool.install(|| y.par_chunks_mut(1).enumerate().for_each(|(i, _)| fail(i)));
            });
            assert_eq!(text_of(&*payload), text);
        }
        let payload = panic_of(|| {
            pool.join(|| (), || panic!("right"));
        });
        assert_eq!(text_of(&*payload), "right");
        let payload = panic_of(|| {
            pool.join(|| panic!("left"), || ());
        });
        assert_eq!(text_of(&*payload), "left");
        let payload = panic_of(|| pool.scope(|s| s.spawn(|_| panic!("spawned"))));
        assert_eq!(text_of(&*payload), "spawned");
        let payload = panic_of(|| pool.scope(|_| panic!("scope")));
        assert_eq!(text_of(&*payload), "scope");
        let payload = panic_of(|| pool.install(|| panic!("installed")));
        assert_eq!(text_of(&*payload), "installed");
        // Afterwards the thread is outside again, and the pool whole.
        assert_eq!(face::current_thread_index(), None);
        assert_eq!(pool.install(|| (0..1000).into_par_iter().sum::<i32>()), 499_500);
    }
}

#[test]
fn install_is_no_region() {
    bounded!();
    let pool = pool(4);
    let here = thread::current().id();
    let parts = pool.install(|| {
        assert_eq!(thread::current().id(), here);
        assert_eq!(face::current_num_threads(), 4);
        assert_eq!(face::current_thread_index(), Some(0));
        assert_eq!(pool.current_thread_index(), Some(0));
        (0..100).into_par_iter().fold(|| (), |(), _| ()).count()
    });
    assert_eq!(parts, 4, "a loop in install has the pool's full width");
    assert_eq!(pool.scope(|_| (0..100).into_par_iter().fold(|| (), |(), _| ()).count()), 4);
    assert_eq!(pool.current_thread_index(), None);
    // The innermost counts.
    let other = self::pool(2);
    let widths = pool.install(|| {
        let inner = other.install(face::current_num_threads);
        (inner, face::current_num_threads(), other.current_thread_index())
    });
    assert_eq!(widths, (2, 4, None));
}

#[test]
fn nested_loops_run_inline() {
    bounded!();
    let pool = pool(3);
    let parts: Vec<usize> = pool.install(|| {
        let outer = (0..6).into_par_iter();
        outer.map(|_| (0..100).into_par_iter().fold(|| (), |(), _| ()).count()).collect()
    });
    assert_eq!(parts, [1; 6]);
}

/// Numbers tell the threads of a region apart.
#[test]
fn thread_numbers() {
    bounded!();
    let check = |width: usize| {
        let busy: Vec<AtomicBool> = (0..width).map(|_| AtomicBool::new(false)).collect();
        for _ in 0..300 {
            (0..64).into_par_iter().for_each(|_| {
                let number = face::current_thread_index().expect("inside");
                assert!(number < face::current_num_threads());
                assert!(!busy[number].swap(true, Ordering::SeqCst), "{number} twice");
                (0..3).into_par_iter().for_each(|_| {
                    assert_eq!(face::current_thread_index(), Some(number), "nested");
                });
                busy[number].store(false, Ordering::SeqCst);
            });
        }
    };
    pool(4).install(|| check(4));
    check(face::current_num_threads());
    // Also where there is one item, and no region.
    (0..1).into_par_iter().for_each(|_| assert_eq!(face::current_thread_index(), Some(0)));
}

#[test]
fn workers_are_named_and_started() {
    bounded!();
    let started = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&started);
    let mut named = 0;
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .stack_size(1 << 20)
        .thread_name(move |i| {
            named += 1;
            format!("worker {i}, {named}")
        })
        .start_handler(move |i| {
            let name = thread::current().name().unwrap_or("").to_string();
            names.lock().unwrap().push((i, name));
        })
        .build()
        .expect("a pool");
    drop(pool);
    let mut started = Arc::try_unwrap(started).expect("the workers are gone").into_inner().unwrap();
    started.sort();
    assert_eq!(started, [(1, "worker 1, 1".to_string()), (2, "worker 2, 2".to_string())]);
}

/// A pair of closures runs as a region, or at full width where loops run in it.
#[test]
fn joins_learn_whether_loops_run_inside() {
    bounded!();
    let pool = pool(4);
    let parts = |n: usize| (0..n).into_par_iter().fold(|| (), |(), _| ()).count();
    let pair = |n: usize| pool.install(|| face::join(|| parts(n), || parts(n)));
    assert_eq!(pair(100), (1, 1), "at first, as a region of two slots");
    assert_eq!(pair(100), (4, 4), "then at full width");
    assert_eq!(pair(1), (1, 1), "these are no loops");
    assert_eq!(pair(100), (1, 1), "so the next is a region again");
    fn sum(items: &[u64]) -> u64 {
        match items.len() {
            0..=3 => items.iter().sum(),
            n => {
                let (a, b) = items.split_at(n / 2);
                let (a, b) = face::join(|| sum(a), || sum(b));
                a + b
            }
        }
    }
    let items: Vec<u64> = (0..1000).collect();
    assert_eq!(pool.install(|| sum(&items)), 499_500);
}

/// What a panic keeps from running is dropped, and nothing twice.
#[test]
fn spawned_closures_are_dropped_once() {
    bounded!();
    for width in [1, 2, 4] {
        let pool = pool(width);
        for at in [None, Some(0), Some(5), Some(9)] {
            let (items, drops) = counted(10);
            let scope = || {
                pool.scope(|s| {
                    for item in items {
                        s.spawn(move |_| assert_ne!(Some(item.0), at));
                    }
                });
            };
            match at {
                None => scope(),
                Some(_) => drop(panic_of(scope)),
            }
            all_once(&drops, &format!("panic at {at:?}, width {width}"));
        }
    }
}
