//! Every way to use a pool, for ThreadSanitizer to watch: regions of changing
//! width whose frames are overwritten at once (S21, S22), many callers, panics,
//! parking and waking, drops. Values are checked as well. It cannot judge the
//! fences of sleeping and waking, which it ignores; the model does that.

use rowpool::{Pool, Rows};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn main() {
    for (name, part) in [
        ("changing widths", changing_widths as fn()),
        ("shapes", shapes),
        ("values", values),
        ("steps", steps),
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

/// Shapes of several outputs, and those that return values.
fn values() {
    let pool = pool(3, 300);
    for n in 0..300usize {
        let texts = pool.map_collect(n, |i| i.to_string());
        assert!(texts.iter().enumerate().all(|(i, text)| *text == i.to_string()));
        let failed = pool.try_map_collect(n, |i| if i < 9 { Ok(i.to_string()) } else { Err(i) });
        assert_eq!(failed.err(), (n > 9).then_some(9));
        let lens = pool.reduce(n, |range| range.map(|i| texts[i].len()).sum(), |a: usize, b| a + b);
        assert_eq!(lens, (n > 0).then(|| texts.iter().map(String::len).sum()));
        let (a, b) = pool.join(|| texts.len(), || vec![1u8; n]);
        assert_eq!(a, b.len());
        let (mut a, mut b) = (vec![0usize; n], vec![0u8; 2 * n]);
        pool.for_each_chunk2(&mut a, 3, &mut b, 6, |i, a, b| {
            a.fill(i);
            b.fill(i as u8);
        });
        assert!(a.iter().zip(b.chunks(2)).all(|(a, b)| b == [*a as u8; 2]));
        let (mut gate, mut up) = (vec![0usize; n], vec![0usize; 2 * n]);
        pool.rows_of(&mut [Rows::new(&mut gate).cost(2), Rows::new(&mut up)], |_, first, part| {
            (first..).zip(part).for_each(|(row, out)| *out = row);
        });
        assert!(gate.into_iter().eq(0..n) && up.into_iter().eq(0..2 * n));
        let panicking = || pool.map_collect(n, |i| if i + 1 < n { texts[i].clone() } else { raise() });
        assert_eq!(catch_unwind(AssertUnwindSafe(panicking)).is_err(), n > 0);
    }
}

fn raise() -> String {
    resume_unwind(Box::new(()))
}

/// Regions under one turn, by several callers, some of which panic.
fn steps() {
    let pool = pool(3, 50);
    thread::scope(|scope| {
        let call = |caller: u64| {
            let pool = &pool;
            scope.spawn(move || {
                let (mut h, mut y) = ([0u64; 40], [0u64; 40]);
                for round in 0..300 {
                    let layer = || {
                        pool.for_each_row(&mut h, |row, out| *out = row as u64 * caller);
                        h.reverse();
                        pool.for_each_row(&mut y, |row, out| {
                            if round % 10 == 9 && row == 39 {
                                raise();
                            }
                            *out = h[row] + round;
                        });
                    };
                    let steps = || pool.scope_steps(layer);
                    let panics = catch_unwind(AssertUnwindSafe(steps)).is_err();
                    assert_eq!(panics, round % 10 == 9);
                    if !panics {
                        assert!((0..40).all(|row| y[row] == (39 - row as u64) * caller + round));
                    }
                }
            })
        };
        join((1..4).map(call).collect());
    });
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
