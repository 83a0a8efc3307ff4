//! What is made, moved or returned by the shapes is dropped exactly once,
//! whoever panics and wherever.

#[macro_use]
mod common;

use common::cpus;
use common::{panic_of, text_of, LatePool};
use rowpool::{Pool, Rows};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Pools whose workers come, and pools whose caller has to run all slots.
fn at_each_width(test: impl Fn(&Pool)) {
    for width in 1..=9 {
        test(&cpus::pool(width));
        test(&LatePool::new(width));
    }
}

/// Regions of this pool are complete and right.
fn works(pool: &Pool) {
    assert!(pool.map_collect(100, |i| i).into_iter().eq(0..100));
}

/// How often the value of each index was made and dropped.
struct Lives {
    made: Vec<AtomicU32>,
    dropped: Vec<AtomicU32>,
}

struct Value<'a> {
    lives: &'a Lives,
    index: usize,
}

impl Lives {
    fn new(n: usize) -> Self {
        let counts = || (0..n).map(|_| AtomicU32::new(0)).collect();
        Lives { made: counts(), dropped: counts() }
    }

    fn make(&self, index: usize) -> Value<'_> {
        self.made[index].fetch_add(1, Ordering::Relaxed);
        Value { lives: self, index }
    }

    /// How many were made; each made at most once, and dropped as often.
    fn over(&self) -> usize {
        let counts = self.made.iter().zip(&self.dropped).enumerate();
        counts
            .map(|(index, (made, dropped))| {
                let made = made.load(Ordering::Relaxed);
                assert!(made <= 1, "value {index} was made {made} times");
                assert_eq!(made, dropped.load(Ordering::Relaxed), "value {index}");
                made as usize
            })
            .sum()
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        self.lives.dropped[self.index].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn collected_values() {
    bounded!();
    at_each_width(|pool| {
        for n in [0, 1, 7, 100] {
            let lives = Lives::new(n);
            let values = pool.map_collect(n, |i| lives.make(i));
            assert!(lives.dropped.iter().all(|count| count.load(Ordering::Relaxed) == 0));
            assert!(values.iter().map(|value| value.index).eq(0..n));
            drop(values);
            assert_eq!(lives.over(), n);
        }
    });
}

#[test]
fn values_of_a_panicking_map_at_each_position() {
    bounded!();
    at_each_width(|pool| {
        for n in [1, 2, 9, 40] {
            for bad in 0..n {
                for ops in [0, usize::MAX] {
                    let lives = Lives::new(n);
                    let map = |i: usize| {
                        assert!(i != bad, "index {i}");
                        lives.make(i)
                    };
                    let view = pool.with_work(ops);
                    let payload = panic_of(|| drop(view.map_collect(n, map)));
                    assert_eq!(text_of(&*payload), format!("index {bad}"));
                    assert!(lives.over() < n);
                    let lives = Lives::new(n);
                    let map = |i: usize| -> Result<_, ()> {
                        assert!(i != bad, "index {i}");
                        Ok(lives.make(i))
                    };
                    let payload = panic_of(|| drop(view.try_map_collect(n, map)));
                    assert_eq!(text_of(&*payload), format!("index {bad}"));
                    assert!(lives.over() < n);
                }
            }
        }
        works(pool);
    });
}

/// Slots that ended before the panic have left their values to the caller.
#[test]
fn values_of_other_slots() {
    bounded!();
    let pool = cpus::pool(4);
    let mut others = 0;
    for _ in 0..50 {
        let lives = Lives::new(400);
        let map = |i: usize| {
            if i == 399 {
                std::thread::sleep(std::time::Duration::from_millis(1));
                panic!("the last");
            }
            lives.make(i)
        };
        pool.wake();
        panic_of(|| drop(pool.map_collect(400, map)));
        assert!(lives.over() >= 100);
        others += usize::from(lives.over() > 300);
    }
    assert!(others > 0 || pool.active_width() == 1, "or nothing was tested");
}

#[test]
fn values_and_errors_of_a_failing_map() {
    bounded!();
    at_each_width(|pool| {
        for n in [1, 2, 9, 100] {
            for bad in [0, n / 2, n - 1] {
                let (values, errors) = (Lives::new(n), Lives::new(n));
                let map = |i: usize| if i < bad { Ok(values.make(i)) } else { Err(errors.make(i)) };
                let Err(error) = pool.try_map_collect(n, map) else {
                    panic!("index {bad} has failed");
                };
                assert_eq!(error.index, bad);
                assert_eq!(values.over(), bad, "all below the error are made, and dropped");
                drop(error);
                assert!(errors.over() >= 1);
            }
        }
    });
}

/// As of a `Vec`: the others are dropped all the same, each once.
#[test]
fn values_where_one_drop_panics() {
    struct Bad<'a>(Value<'a>, usize);
    impl Drop for Bad<'_> {
        fn drop(&mut self) {
            assert!(self.0.index != self.1, "in the drop of {}", self.1);
        }
    }
    bounded!();
    at_each_width(|pool| {
        for bad in [0, 3, 50, 98] {
            let lives = Lives::new(99);
            let map = |i: usize| if i < 99 { Ok(Bad(lives.make(i), bad)) } else { Err(()) };
            let payload = panic_of(|| drop(pool.try_map_collect(100, map)));
            assert_eq!(text_of(&*payload), format!("in the drop of {bad}"));
            assert_eq!(lives.over(), 99);
        }
        works(pool);
    });
}

#[test]
fn leaves_of_a_panicking_reduction() {
    bounded!();
    at_each_width(|pool| {
        for n in [1, 5, 100, 1000] {
            let leaf = |lives: &'_ Lives, bad: usize, range: std::ops::Range<usize>| {
                assert!(!range.contains(&bad), "leaf");
                std::mem::forget(lives.make(range.start));
                range.start
            };
            for bad in [0, n / 2, n - 1] {
                let lives = Lives::new(n);
                let payload = panic_of(|| {
                    let tree = |range| {
                        let index = leaf(&lives, bad, range);
                        Value { lives: &lives, index }
                    };
                    drop(pool.reduce(n, tree, |a, _| a));
                });
                assert_eq!(text_of(&*payload), "leaf");
                lives.over();
            }
            // In `combine`, on the caller.
            let lives = Lives::new(n);
            let calls = AtomicUsize::new(0);
            let combine = |a, _| {
                common::tick(&calls);
                assert!(calls.load(Ordering::Relaxed) < 3, "combine");
                a
            };
            let reduce = || drop(pool.reduce(n, |range| lives.make(range.start), combine));
            if n < 4 {
                reduce();
            } else {
                assert_eq!(text_of(&*panic_of(reduce)), "combine");
            }
            assert_eq!(lives.over(), n.min(256), "each leaf's");
        }
        works(pool);
    });
}

#[test]
fn values_of_a_panicking_join() {
    bounded!();
    at_each_width(|pool| {
        for bad in 0..3 {
            let (captured, returned) = (Lives::new(3), Lives::new(3));
            let closure = |index: usize| {
                let (captured, returned) = (captured.make(index), &returned);
                move || {
                    assert!(captured.index != bad, "closure {bad}");
                    returned.make(index)
                }
            };
            let three = || drop(pool.join3(closure(0), closure(1), closure(2)));
            assert_eq!(text_of(&*panic_of(three)), format!("closure {bad}"));
            assert_eq!(captured.over(), 3, "called or not");
            assert!(returned.over() < 3);
        }
        for bad in 0..2 {
            let (captured, returned) = (Lives::new(2), Lives::new(2));
            let closure = |index: usize| {
                let (captured, returned) = (captured.make(index), &returned);
                move || {
                    assert!(captured.index != bad, "closure {bad}");
                    returned.make(index)
                }
            };
            let both = || drop(pool.join(closure(0), closure(1)));
            assert_eq!(text_of(&*panic_of(both)), format!("closure {bad}"));
            assert_eq!(captured.over(), 2, "called or not");
            assert!(returned.over() < 2);
        }
        let lives = Lives::new(5);
        drop(pool.join(|| lives.make(0), || lives.make(1)));
        drop(pool.join3(|| lives.make(2), || lives.make(3), || lives.make(4)));
        assert_eq!(lives.over(), 5);
        works(pool);
    });
}

/// Each of the shapes of this file's kind, from the first row and the last.
#[test]
fn every_shape_raises_and_drops_its_scratch() {
    bounded!();
    at_each_width(|pool| {
        for at in [0, 57, 99] {
            let scratch = Lives::new(1000);
            let next = AtomicUsize::new(0);
            let init = || scratch.make(next.fetch_add(1, Ordering::Relaxed));
            let check = |i: usize| assert!(i != at, "row {i}");
            let rows = |first: usize, part: &mut [u8]| (first..first + part.len()).for_each(check);
            let shapes: [&dyn Fn(); 7] = [
                &|| pool.for_each_index_init(100, init, |_, i| check(i)),
                &|| pool.for_each_row2(&mut [0; 100], &mut [0u8; 100], |row, _, _| check(row)),
                &|| pool.for_each_chunk2(&mut [0; 300], 3, &mut [0; 100], 1, |i, _, _| check(i)),
                &|| pool.tiles(10, 10, 1, 1, |row, col| check(10 * row.start + col.start)),
                &|| {
                    let (mut a, mut b) = ([0u8; 100], [0u8; 100]);
                    let mut outputs = [Rows::new(&mut a), Rows::new(&mut b).cost(3)];
                    pool.rows_of(&mut outputs, |output, first, part| {
                        if output == 0 {
                            rows(first, part);
                        }
                    });
                },
                &|| {
                    let (mut a, mut b) = ([0u8; 100], [0u8; 100]);
                    let mut outputs = [Rows::new(&mut a), Rows::new(&mut b).cost(3)];
                    pool.rows_of(&mut outputs, |output, first, part| {
                        if output == 1 {
                            rows(first, part);
                        }
                    });
                },
                &|| {
                    let leaf = |mut range: std::ops::Range<usize>| range.by_ref().for_each(check);
                    pool.reduce(100, leaf, |_, _| ());
                },
            ];
            for shape in shapes {
                assert_eq!(text_of(&*panic_of(shape)), format!("row {at}"));
            }
            assert!(scratch.over() >= 1);
            works(pool);
        }
    });
}
