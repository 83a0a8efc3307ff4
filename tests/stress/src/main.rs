//! Every way to use a pool, for ThreadSanitizer to watch: regions of changing
//! width whose frames are overwritten at once (S21, S22), many callers, panics,
//! parking and waking, drops. Values are checked as well. It cannot judge the
//! fences of sleeping and waking, which it ignores; the model does that.

use rowpool::Pool;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn main() {
    for (name, part) in [
        ("changing widths", changing_widths as fn()),
        ("shapes", shapes),
        ("callers", callers),
        ("panics", panics),
        ("rest and wake", rest_and_wake),
        ("parking", parking),
        ("drops", drops),
    ] {
        eprintln!("{name}");
        part();
    }
}

fn pool(width: usize, spin_us: u64) -> Pool {
    let pool = Pool::builder().width(width).spin_window(Duration::from_micros(spin_us));
    pool.strict(true).build().expect("threads can be created")
}

/// One region over plain memory: the sanitizer sees who reads and writes it.
fn region(pool: &Pool, rows: &mut [u64], seed: u64) {
    let input: Vec<u64> = (0..rows.len() as u64).map(|i| i * seed).collect();
    pool.for_each_row(rows, |row, out| *out = input[row] + 1);
    for (row, out) in rows.iter().enumerate() {
        assert_eq!(*out, row as u64 * seed + 1);
    }
}

/// The sanitizer sees a join; it does not see how a scope ends, which the
/// prebuilt library does by a counter of its own.
fn join(threads: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("no panic is left"));
}

fn changing_widths() {
    for width in [2, 3, 12] {
        let pool = pool(width, 300);
        let mut rows = [0; 64];
        for round in 0..5000 {
            let n = [64, 2, 1, 3, 64][round % 5];
            region(&pool, &mut rows[..n], round as u64);
        }
    }
}

fn shapes() {
    let pool = pool(3, 300);
    for n in 0..300usize {
        let mut data = vec![0usize; n];
        pool.for_each_chunk_init(&mut data, 7, Vec::new, |scratch, i, chunk| {
            scratch.push(i);
            chunk.fill(i + 1);
        });
        assert!(data.iter().enumerate().all(|(k, value)| *value == k / 7 + 1));
        pool.with_work(n * 1000).for_each_row(&mut data, |row, out| *out += row);
        pool.for_each_range(n, |range| assert!(range.end <= n));
        pool.broadcast(|slot| assert!(slot < 3));
    }
}

fn callers() {
    let pool = pool(2, 300);
    thread::scope(|scope| {
        let call = |caller: u64| {
            let pool = &pool;
            scope.spawn(move || {
                let mut rows = [0; 40];
                (0..500).for_each(|round| region(pool, &mut rows, round * caller));
            })
        };
        join((1..5).map(call).collect());
    });
}

fn panics() {
    let pool = pool(3, 300);
    let mut rows = [0; 40];
    for round in 0..300u64 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(3, |slot| {
                if slot as u64 >= round % 3 {
                    resume_unwind(Box::new(round));
                }
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&round));
        region(&pool, &mut rows, round);
    }
}

fn rest_and_wake() {
    let pool = pool(3, 50);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let hints = [Pool::rest, Pool::wake].map(|hint| {
            let (pool, end) = (&pool, &end);
            scope.spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    hint(pool);
                    thread::sleep(Duration::from_micros(100));
                }
            })
        });
        let mut rows = [0; 40];
        (0..3000).for_each(|round| region(&pool, &mut rows, round));
        end.store(true, Ordering::Relaxed);
        join(hints.into());
    });
}

fn parking() {
    for spin_us in [0, 20] {
        let pool = pool(3, spin_us);
        let mut rows = vec![0; 40];
        for round in 0..300 {
            region(&pool, &mut rows, round);
            pool.with_work(1 << 30).run(3, |_| ());
            thread::sleep(Duration::from_micros(round % 100));
        }
    }
}

fn drops() {
    for round in 0..200 {
        let pool = pool(3, 100);
        if round % 2 == 0 {
            region(&pool, &mut [0; 40], round);
        }
        if round % 3 == 0 {
            thread::sleep(Duration::from_micros(300));
        }
    }
}
