//! The drop-in module against the original, `ferrox_core::threads` 0.11.1: the
//! same calls give the same outputs and the same calls of the closures.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

use common::cpus;
use common::{panic_of, text_of};
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// One of the two modules. `delegate!` makes both, so a signature that differs
/// does not compile; the bounds are the original's, so neither asks for more.
trait Module {
    fn should_parallelize(n_rows: usize, n_cols: usize) -> bool;
    fn for_each_row<F>(output: &mut [f32], n_rows: usize, n_cols: usize, row_fn: F)
    where
        F: Fn(usize, &mut f32) + Send + Sync;
    fn for_each_chunk_init<S, I, F>(output: &mut [f32], len: usize, work: usize, init: I, f: F)
    where
        I: Fn() -> S + Send + Sync,
        S: Send,
        F: Fn(&mut S, usize, &mut [f32]) + Send + Sync;
}

macro_rules! delegate {
    ($name:ident, $($module:ident)::+) => {
        struct $name;
        impl Module for $name {
            fn should_parallelize(n_rows: usize, n_cols: usize) -> bool {
                $($module)::+::should_parallelize(n_rows, n_cols)
            }
            fn for_each_row<F>(output: &mut [f32], n_rows: usize, n_cols: usize, row_fn: F)
            where
                F: Fn(usize, &mut f32) + Send + Sync,
            {
                $($module)::+::for_each_row::<F>(output, n_rows, n_cols, row_fn)
            }
            fn for_each_chunk_init<S, I, F>(
                output: &mut [f32],
                len: usize,
                work: usize,
                init: I,
                f: F,
            ) where
                I: Fn() -> S + Send + Sync,
                S: Send,
                F: Fn(&mut S, usize, &mut [f32]) + Send + Sync,
            {
                $($module)::+::for_each_chunk_init::<S, I, F>(output, len, work, init, f)
            }
        }
    };
}

delegate!(Original, ferrox_core::threads);
delegate!(Ours, rowpool::threads);

/// What a call did: the output's bits, the closure's calls in order of rows,
/// and how often `init` was called.
#[derive(Debug, PartialEq)]
struct Done<C> {
    output: Vec<u32>,
    calls: Vec<C>,
    inits: usize,
}

impl<C: Ord> Done<C> {
    fn new(output: Vec<f32>, calls: Mutex<Vec<C>>, inits: usize) -> Self {
        let mut calls = calls.into_inner().unwrap();
        calls.sort();
        Done { output: output.into_iter().map(f32::to_bits).collect(), calls, inits }
    }
}

/// An output that shows what was touched, and how often.
fn output(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 * 0.5 - 7.0).collect()
}

fn rows<M: Module>(len: usize, n_rows: usize, n_cols: usize) -> Done<usize> {
    let mut out = output(len);
    let calls = Mutex::new(Vec::new());
    M::for_each_row(&mut out, n_rows, n_cols, |row, out| {
        calls.lock().unwrap().push(row);
        *out = *out * 3.0 + row as f32;
    });
    Done::new(out, calls, 0)
}

fn chunks<M: Module>(len: usize, chunk_len: usize, work: usize) -> Done<(usize, usize)> {
    let mut out = output(len);
    let (calls, inits) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let init = || {
        inits.fetch_add(1, Ordering::Relaxed);
        Vec::new()
    };
    M::for_each_chunk_init(&mut out, chunk_len, work, init, |scratch: &mut Vec<f32>, i, chunk| {
        calls.lock().unwrap().push((i, chunk.len()));
        scratch.clear();
        scratch.extend(chunk.iter().map(|x| x * 3.0 + i as f32));
        chunk.copy_from_slice(scratch);
    });
    Done::new(out, calls, inits.into_inner())
}

const LENGTHS: [usize; 11] = [0, 1, 2, 3, 4, 5, 31, 64, 100, 1000, 4097];

/// Rows or chunks times these cross the gate at one row, at two, at many.
const WORK: [usize; 11] =
    [0, 1, 63, 256, 2560, 127_999, 128_000, 255_999, 256_000, usize::MAX / 2, usize::MAX];

fn same_rows() {
    cpus::global();
    for len in LENGTHS {
        let around = [0, 1, 2, len / 2, len.saturating_sub(1), len, len + 1, 3 * len, usize::MAX];
        for n_rows in around {
            for n_cols in WORK {
                let ours = rows::<Ours>(len, n_rows, n_cols);
                assert_eq!(
                    ours,
                    rows::<Original>(len, n_rows, n_cols),
                    "len {len} n_rows {n_rows} n_cols {n_cols}"
                );
                let n = n_rows.min(len);
                assert_eq!(ours.calls, (0..n).collect::<Vec<_>>());
                let untouched = output(len).into_iter().skip(n).map(f32::to_bits);
                assert!(ours.output[n..].iter().copied().eq(untouched));
            }
        }
    }
}

fn same_chunks() {
    cpus::global();
    for len in LENGTHS {
        let around = [0, 1, 2, 3, 7, 32, len / 2, len.saturating_sub(1), len, len + 1, usize::MAX];
        for chunk_len in around {
            for work in WORK {
                let what = format!("len {len} chunk_len {chunk_len} work {work}");
                let ours = chunks::<Ours>(len, chunk_len, work);
                let theirs = chunks::<Original>(len, chunk_len, work);
                assert_eq!(ours.output, theirs.output, "{what}");
                assert_eq!(ours.calls, theirs.calls, "{what}");

                // `init`: as often as theirs without a fork, else once per slot.
                let n_chunks = len.checked_div(chunk_len).unwrap_or(0);
                if Ours::should_parallelize(n_chunks, work) {
                    let slots = n_chunks.min(rowpool::threads::gemv_num_threads());
                    assert!((1..=slots).contains(&ours.inits), "{what}: {}", ours.inits);
                } else {
                    assert_eq!(ours.inits, theirs.inits, "{what}");
                    assert_eq!(ours.inits, usize::from(chunk_len > 0), "{what}");
                }
            }
        }
    }
}

#[test]
fn rows_on_one_thread() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "1").run(same_rows);
}

#[test]
fn rows_on_four_threads() {
    bounded!();
    isolated!().env("FERROX_CPU_THREADS", "4").run(same_rows);
}

#[test]
fn rows_beside_the_dedicated_pool() {
    bounded!();
    let child = isolated!().env("FERROX_GEMV_DEDICATED", "1").env("RAYON_NUM_THREADS", "3");
    child.run(same_rows);
}

#[test]
fn chunks_on_one_thread() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "1").run(same_chunks);
}

#[test]
fn chunks_on_four_threads() {
    bounded!();
    isolated!().env("FERROX_CPU_THREADS", "4").run(same_chunks);
}

#[test]
fn chunks_beside_the_dedicated_pool() {
    bounded!();
    let child = isolated!().env("FERROX_GEMV_DEDICATED", "true").env("RAYON_NUM_THREADS", "3");
    child.run(same_chunks);
}

#[test]
fn the_gate() {
    bounded!();
    let edges = |n: usize| [n.saturating_sub(1), n, n.saturating_add(1)];
    let counts = [0, 1, 2, 3, 500, 505, 1000, 255_999, 256_000, usize::MAX / 2, usize::MAX];
    for n_rows in counts.into_iter().flat_map(edges) {
        for n_cols in counts.into_iter().chain([128_000, 512, 507]).flat_map(edges) {
            let ours = Ours::should_parallelize(n_rows, n_cols);
            assert_eq!(ours, Original::should_parallelize(n_rows, n_cols), "{n_rows} x {n_cols}");
        }
    }
    assert!(!Ours::should_parallelize(1, usize::MAX), "one row is never split");
    assert!(!Ours::should_parallelize(2, 127_999));
    assert!(Ours::should_parallelize(2, 128_000));
    assert!(Ours::should_parallelize(256_000, 1) && !Ours::should_parallelize(255_999, 1));
    assert!(Ours::should_parallelize(2, usize::MAX), "the product saturates");
}

/// What is below the gate runs on the caller, in order; what is above may not.
#[test]
fn below_the_gate_everything_is_on_the_caller() {
    fn below<M: Module>() {
        let me = std::thread::current().id();
        let order = Mutex::new(Vec::new());
        M::for_each_row(&mut [0.0; 1000], 1000, 255, |row, _| {
            assert_eq!(std::thread::current().id(), me);
            order.lock().unwrap().push(row);
        });
        assert_eq!(order.into_inner().unwrap(), (0..1000).collect::<Vec<_>>());
        let order = Mutex::new(Vec::new());
        M::for_each_chunk_init(
            &mut [0.0; 1000],
            10,
            2559,
            || (),
            |(), i, _| {
                assert_eq!(std::thread::current().id(), me);
                order.lock().unwrap().push(i);
            },
        );
        assert_eq!(order.into_inner().unwrap(), (0..100).collect::<Vec<_>>());
    }
    bounded!();
    below::<Ours>();
    below::<Original>();
}

/// Panics reach the caller with their payload, and the next call is good.
fn panics<M: Module>() {
    #[derive(Debug, PartialEq)]
    struct Custom(usize);

    for n_cols in [1, 256_000] {
        let payload = panic_of(|| {
            M::for_each_row(&mut [0.0; 100], 100, n_cols, |row, _| assert!(row != 57, "row {row}"));
        });
        assert_eq!(text_of(&*payload), "row 57");
        assert_eq!(rows::<M>(100, 100, n_cols).calls.len(), 100);

        let payload = panic_of(|| {
            M::for_each_chunk_init(
                &mut [0.0; 100],
                3,
                n_cols,
                || (),
                |(), i, _| {
                    if i == 32 {
                        std::panic::panic_any(Custom(i));
                    }
                },
            );
        });
        assert_eq!(payload.downcast_ref(), Some(&Custom(32)));

        let payload = panic_of(|| {
            let init = || -> () { panic!("no scratch") };
            M::for_each_chunk_init(&mut [0.0; 100], 3, n_cols, init, |(), _, _| ());
        });
        assert_eq!(text_of(&*payload), "no scratch");
        assert_eq!(chunks::<M>(100, 3, n_cols).calls.len(), 33);
    }
}

#[test]
fn panics_reach_the_caller_of_both() {
    bounded!();
    isolated!().env("FERROX_CPU_THREADS", "4").run(|| {
        cpus::global();
        panics::<Ours>();
        panics::<Original>();
    });
}

/// Calls inside of calls, and from several threads at once.
fn nested<M: Module>() -> Vec<u32> {
    let mut out = output(64);
    M::for_each_row(&mut out, 64, 256_000, |row, out| {
        let mut inner = vec![0.0f32; 8];
        M::for_each_row(&mut inner, 8, 256_000, |i, x| *x = (row * i) as f32);
        M::for_each_chunk_init(
            &mut inner,
            4,
            256_000,
            || 1.0,
            |one, _, chunk| {
                chunk.iter_mut().for_each(|x| *x += *one);
            },
        );
        *out = inner.iter().sum();
    });
    out.into_iter().map(f32::to_bits).collect()
}

#[test]
fn nested_calls_and_many_callers() {
    bounded!();
    isolated!().env("FERROX_CPU_THREADS", "4").run(|| {
        cpus::global();
        let expected = nested::<Original>();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(nested::<Ours>(), expected)));
            }
        });
    });
}

/// The functions without type parameters have the same types, and those with
/// them have the same types once the parameters are filled in the same way.
#[test]
fn the_signatures_are_the_same() {
    fn same<T: Debug>(_: T, _: T) {}
    use {ferrox_core::threads as original, rowpool::threads as ours};

    same::<fn() -> Option<&'static str>>(original::current_qos_name, ours::current_qos_name);
    same::<fn() -> usize>(original::perf_core_count, ours::perf_core_count);
    same::<fn() -> usize>(original::resolve_cpu_threads, ours::resolve_cpu_threads);
    same::<fn() -> usize>(original::resolve_gemv_threads, ours::resolve_gemv_threads);
    same::<fn() -> Option<usize>>(original::init_cpu_pool, ours::init_cpu_pool);
    same::<fn()>(original::init_gemv_pool, ours::init_gemv_pool);
    same::<fn() -> usize>(original::gemv_num_threads, ours::gemv_num_threads);
    same::<fn(usize, usize) -> bool>(original::should_parallelize, ours::should_parallelize);

    type Row = fn(usize, &mut f32);
    type Rows = fn(&mut [f32], usize, usize, Row);
    same::<Rows>(original::for_each_row::<Row>, ours::for_each_row::<Row>);

    type Init = fn() -> String;
    type Chunk = fn(&mut String, usize, &mut [f32]);
    type Chunks = fn(&mut [f32], usize, usize, Init, Chunk);
    same::<Chunks>(
        original::for_each_chunk_init::<String, Init, Chunk>,
        ours::for_each_chunk_init::<String, Init, Chunk>,
    );
}

/// S17: a drop-in call inside a region of another pool, before the global pool
/// exists.
#[test]
fn s17_the_first_call_is_inside_another_pools_region() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        let expected = nested::<Original>();
        let other = cpus::pool(2);
        other.run(2, |_| assert_eq!(nested::<Ours>(), expected));
        assert_eq!(nested::<Ours>(), expected);
        assert_eq!(rowpool::threads::gemv_num_threads(), 3);
    });
}
