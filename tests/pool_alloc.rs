//! I5: no region allocates after the first ones, hot or cold, from callers or
//! from inside of slots. Each test has a process of its own: there is one
//! counter, for all threads that say that they are to be counted.

#[macro_use]
mod common;

use common::cpus;
use common::on_all_threads;
use rowpool::{Pool, PoolBuilder, Rows};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// The system's allocator, with a count of what callers and workers ask of it.
/// (libtest has threads too.)
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if COUNTED.get() {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: all calls go to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: our caller's contract is this call's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count();
        // SAFETY: our caller's contract is this call's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: our caller's contract is this call's.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A pool's builder whose workers are counted.
fn counted() -> PoolBuilder {
    cpus::builder().on_worker_start(|_| COUNTED.set(true))
}

/// How often this thread and the other counted ones allocate or free during
/// `work`.
fn allocations(work: impl FnOnce()) -> usize {
    COUNTED.set(true);
    let before = CALLS.load(Ordering::SeqCst);
    work();
    CALLS.load(Ordering::SeqCst) - before
}

/// A region of each shape; `data` is the caller's.
fn each_shape(pool: &Pool, data: &mut [u32]) {
    let width = pool.num_threads();
    pool.run(2 * width, |slot| assert!(slot < 2 * width));
    pool.broadcast(|slot| assert!(slot < width));
    pool.for_each_index(data.len(), |i| assert!(i < 1000));
    pool.for_each_range(data.len(), |range| assert!(!range.is_empty()));
    pool.for_each_row(data, |row, out| *out = row as u32);
    pool.for_each_chunk(data, 7, |i, chunk| chunk.fill(i as u32));
    pool.for_each_chunk_init(data, 7, || [0u8; 64], |state, i, _| state[i % 64] += 1);
    pool.for_each_index_init(data.len(), || [0u8; 64], |state, i| state[i % 64] = 1);
    two_and_more(pool, data);
    pool.scope_steps(|| {
        pool.for_each_row(data, |row, out| *out = row as u32);
        two_and_more(pool, data);
    });
    for ops in [0, 100, 100_000, usize::MAX] {
        let view = pool.with_work(ops);
        view.run(width, |slot| assert!(slot < width));
        view.broadcast(|slot| assert!(slot < width));
        view.for_each_index(data.len(), |i| assert!(i < 1000));
        view.for_each_range(data.len(), |range| assert!(!range.is_empty()));
        view.for_each_row(data, |row, out| *out = row as u32);
        view.for_each_chunk(data, 7, |i, chunk| chunk.fill(i as u32));
        view.for_each_chunk_init(data, 7, || 0u8, |state, _, _| *state = state.wrapping_add(1));
    }
}

/// Shapes of several outputs, and those that return values.
fn two_and_more(pool: &Pool, data: &mut [u32]) {
    let (a, b) = data.split_at_mut(data.len() / 2);
    pool.for_each_row2(a, b, |row, a, b| (*a, *b) = (row as u32, 1));
    pool.for_each_chunk2(a, 7, b, 7, |i, a, b| {
        a.fill(i as u32);
        b.fill(1);
    });
    let mut outputs = [Rows::new(a).cost(3), Rows::new(b)];
    pool.rows_of(&mut outputs, |output, _, part| part.fill(output as u32));
    pool.tiles(50, 30, 7, 9, |rows, cols| assert!(!rows.is_empty() && !cols.is_empty()));
    let sum = pool.reduce(1000, |range| range.sum::<usize>(), |a, b| a + b);
    assert_eq!(sum, Some(499_500));
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert_eq!(pool.join3(|| 1, || 2, || 3), (1, 2, 3));
}

/// A pool of which every thread has taken part, and each shape was used.
fn warm(width: usize, window: Duration) -> Pool {
    let pool = counted().width(width).spin_window(window).build().unwrap();
    let mut data = vec![0; 1000];
    on_all_threads(&pool, |_| ());
    (0..10).for_each(|_| each_shape(&pool, &mut data));
    pool
}

#[test]
fn the_counter_counts() {
    bounded!();
    isolated!().run(|| {
        let calls = || CALLS.load(Ordering::SeqCst);
        COUNTED.set(true);
        let before = calls();
        drop(std::hint::black_box(vec![1u8; 100]));
        assert_eq!(calls() - before, 2);
        assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 2);
        COUNTED.set(false);
        let pool = warm(2, Duration::from_micros(50));
        let before = calls();
        on_all_threads(&pool, |slot| drop(std::hint::black_box(vec![slot; 100])));
        assert!(calls() - before >= 2, "workers count");
    });
}

#[test]
fn i5_hot() {
    bounded!();
    for width in [1, 2, 4, 12] {
        isolated!().run(|| {
            let pool = warm(width, Duration::from_secs(3600));
            let mut data = vec![0; 1000];
            let regions = || (0..50).for_each(|_| each_shape(&pool, &mut data));
            assert_eq!(allocations(regions), 0);
        });
    }
}

/// Collecting takes the `Vec`, and one list where values have to be dropped if
/// one of them panics.
#[test]
fn i5_collected() {
    bounded!();
    for width in [1, 2, 4] {
        isolated!().run(|| {
            let pool = warm(width, Duration::from_secs(3600));
            let mut kept = Vec::with_capacity(2);
            assert_eq!(allocations(|| kept.push(pool.map_collect(1000, |i| i))), 1);
            let even = |i| if i < 1000 { Ok(i) } else { Err(()) };
            assert_eq!(allocations(|| kept.push(pool.try_map_collect(1000, even).unwrap())), 1);
            let empty = || drop(pool.map_collect(1000, |_| Vec::<u8>::new()));
            assert_eq!(allocations(empty), 4);
            assert_eq!(allocations(|| drop(pool.map_collect(1000, |_| ()))), 0);
        });
    }
}

#[test]
fn i5_cold() {
    bounded!();
    for width in [2, 4, 12] {
        isolated!().run(|| {
            let pool = warm(width, Duration::ZERO);
            let mut data = vec![0; 1000];
            let regions = || {
                for _ in 0..50 {
                    pool.rest();
                    each_shape(&pool, &mut data);
                }
            };
            assert_eq!(allocations(regions), 0);
        });
    }
}

#[test]
fn i5_inside_of_slots() {
    bounded!();
    isolated!().run(|| {
        let pool = warm(4, Duration::from_secs(3600));
        let other = warm(3, Duration::ZERO);
        let nested = || {
            for _ in 0..20 {
                pool.run(4, |_| {
                    let mut data = [0; 100];
                    each_shape(&pool, &mut data);
                    each_shape(&other, &mut data);
                });
            }
        };
        assert_eq!(allocations(nested), 0);
    });
}

#[test]
fn i5_many_callers() {
    bounded!();
    isolated!().run(|| {
        let pool = warm(3, Duration::from_micros(50));
        let phase = Barrier::new(5);
        let calls = thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    COUNTED.set(true);
                    let mut data = vec![0; 1000];
                    phase.wait();
                    // What waiting needs is made when a thread waits first:
                    // while somebody has the turn for long.
                    each_shape(&pool, &mut data);
                    phase.wait();
                    phase.wait();
                    (0..20).for_each(|_| each_shape(&pool, &mut data));
                    phase.wait();
                    // `data` is freed when all is counted.
                    phase.wait();
                });
            }
            pool.run(2, |slot| {
                if slot == 0 {
                    phase.wait();
                    thread::sleep(Duration::from_millis(200));
                }
            });
            phase.wait();
            let calls = allocations(|| {
                phase.wait();
                phase.wait();
            });
            phase.wait();
            calls
        });
        assert_eq!(calls, 0);
    });
}

#[test]
fn i5_the_drop_in() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        counted().build_global().unwrap();
        use rowpool::threads::{for_each_chunk_init, for_each_row, should_parallelize};
        let mut y = vec![0.0; 1000];
        let mut token = || {
            for work in [1, 1000, 100_000] {
                for_each_row(&mut y, 1000, work, |row, out| *out = row as f32);
                for_each_chunk_init(&mut y, 10, work, || 1.0, |one, _, chunk| chunk.fill(*one));
            }
        };
        assert!(should_parallelize(1000, 1000));
        (0..10).for_each(|_| token());
        on_all_threads(cpus::global(), |_| ());
        assert_eq!(allocations(|| (0..100).for_each(|_| token())), 0);
    });
}
