//! The shapes of [`Pool`](crate::Pool) as free functions, on the process-wide
//! pool ([`global`]): one for each, under its name. Work hints are on the pool:
//! `rowpool::global().with_work(cols).for_each_row(..)`.
//!
//! ```
//! use rowpool::{par, Rows};
//! let (mut q, mut k) = (vec![0.0f32; 576], vec![0.0f32; 192]);
//! par::rows_of(&mut [Rows::new(&mut q), Rows::new(&mut k)], |output, _, part| {
//!     part.fill(output as f32);
//! });
//! assert_eq!(par::map_collect(3, |i| i * i), [0, 1, 4]);
//! ```
//!
//! # From other shapes to these
//!
//! ferrox-core 0.25's `par` takes a `min_len` each; there is none here, since
//! a slot has all its items in one piece.
//!
//! | `ferrox_core::par` | here |
//! |---|---|
//! | `indices(n, min, f)` | [`for_each_index`]`(n, f)` |
//! | `indices_init(n, min, init, f)` | [`for_each_index_init`]`(n, init, f)` |
//! | `items_mut(data, min, f)` | [`for_each_row`]`(data, f)` |
//! | `chunks_mut(data, len, min, f)` | [`for_each_chunk`]`(data, len, f)` |
//! | `chunks_mut_init(data, len, min, init, f)` | [`for_each_chunk_init`]`(data, len, init, f)` |
//! | `chunks_mut2(a, b, len, min, f)` | [`for_each_chunk2`]`(a, len, b, len, f)` |
//! | `chunks_mut2_by(a, b, len_a, len_b, min, f)` | [`for_each_chunk2`]`(a, len_a, b, len_b, f)` |
//! | `join2(a, b)`, `join3(a, b, c)` | [`join`], [`join3`]; loops of one input better [`rows_of`] |
//! | `on_workers(f)` | [`scope_steps`]`(f)`, or nothing: the caller takes part anyway |
//! | `num_threads()` | `global().num_threads()` |
//!
//! A chunk length of 0, for which ferrox panics, makes no chunks here.
//!
//! | rayon | here |
//! |---|---|
//! | `(0..n).into_par_iter().for_each(f)` | [`for_each_index`]`(n, f)` |
//! | `(0..n).into_par_iter().for_each_init(init, f)` | [`for_each_index_init`]`(n, init, f)` |
//! | `data.par_iter_mut().enumerate().for_each(f)` | [`for_each_row`]`(data, f)` |
//! | `a.par_iter_mut().zip(b.par_iter_mut())` | [`for_each_row2`]`(a, b, f)`, of equal lengths |
//! | `data.par_chunks_mut(len).enumerate().for_each(f)` | [`for_each_chunk`]`(data, len, f)` |
//! | `.. .for_each_init(init, f)` | [`for_each_chunk_init`]`(data, len, init, f)` |
//! | `a.par_chunks_mut(m).zip(b.par_chunks_mut(n))` | [`for_each_chunk2`]`(a, m, b, n, f)` |
//! | `a.par_chunks_mut(m).zip(x.par_chunks(n))` | [`for_each_chunk`]`(a, m, f)`, which indexes `x` |
//! | `(0..n).into_par_iter().map(f).collect::<Vec<_>>()` | [`map_collect`]`(n, f)` |
//! | `.. .collect::<Result<Vec<_>, _>>()` | [`try_map_collect`]`(n, f)`: always the first error |
//! | `.. .map(f).sum()`, `.reduce(..)`, `.fold(..)` | [`reduce`]`(n, leaf, combine)`: always the same bits |
//! | `rayon::join(a, b)` | [`join`]`(a, b)` |
//! | `rayon::broadcast(f)` | [`broadcast`]`(f)`, which promises no thread per slot |
//! | `pool.install(f)` | [`scope_steps`]`(f)`, or nothing |
//! | `.with_min_len(n)`, `.with_max_len(n)` | nothing: there is one piece per slot |
//! | `filter`, `flat_map`, `par_sort`, `scope`, `spawn` | not here: they need stealing |

use crate::global;
use crate::Rows;
use std::ops::Range;

/// [`Pool::run`](crate::Pool::run) on the process-wide pool.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let calls = AtomicUsize::new(0);
/// rowpool::par::run(10, |_| { calls.fetch_add(1, Ordering::Relaxed); });
/// assert_eq!(calls.into_inner(), 10);
/// ```
pub fn run(width: usize, f: impl Fn(usize) + Sync) {
    global().run(width, f);
}

/// [`Pool::broadcast`](crate::Pool::broadcast) on the process-wide pool.
///
/// ```
/// rowpool::par::broadcast(|slot| assert!(slot < rowpool::global().num_threads()));
/// ```
pub fn broadcast(f: impl Fn(usize) + Sync) {
    global().broadcast(f);
}

/// [`Pool::for_each_index`](crate::Pool::for_each_index) on the process-wide pool.
///
/// ```
/// rowpool::par::for_each_index(9, |i| assert!(i < 9));
/// ```
pub fn for_each_index(n: usize, f: impl Fn(usize) + Sync) {
    global().for_each_index(n, f);
}

/// [`Pool::for_each_index_init`](crate::Pool::for_each_index_init) on the process-wide pool.
///
/// ```
/// rowpool::par::for_each_index_init(9, Vec::new, |scratch, i| {
///     scratch.clear();
///     scratch.extend(0..i);
/// });
/// ```
pub fn for_each_index_init<S>(
    n: usize,
    init: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) + Sync,
) {
    global().for_each_index_init(n, init, f);
}

/// [`Pool::for_each_range`](crate::Pool::for_each_range) on the process-wide pool.
///
/// ```
/// rowpool::par::for_each_range(9, |range| assert!(!range.is_empty() && range.end <= 9));
/// ```
pub fn for_each_range(n: usize, f: impl Fn(Range<usize>) + Sync) {
    global().for_each_range(n, f);
}

/// [`Pool::for_each_row`](crate::Pool::for_each_row) on the process-wide pool.
///
/// ```
/// let mut rows = [0; 5];
/// rowpool::par::for_each_row(&mut rows, |row, out| *out = row);
/// assert_eq!(rows, [0, 1, 2, 3, 4]);
/// ```
pub fn for_each_row<T: Send>(rows: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
    global().for_each_row(rows, f);
}

/// [`Pool::for_each_row2`](crate::Pool::for_each_row2) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// let (mut a, mut b) = ([0; 3], [0; 3]);
/// rowpool::par::for_each_row2(&mut a, &mut b, |row, a, b| (*a, *b) = (row, 2 * row));
/// assert_eq!((a, b), ([0, 1, 2], [0, 2, 4]));
/// ```
pub fn for_each_row2<A: Send, B: Send>(
    a: &mut [A],
    b: &mut [B],
    f: impl Fn(usize, &mut A, &mut B) + Sync,
) {
    global().for_each_row2(a, b, f);
}

/// [`Pool::for_each_chunk`](crate::Pool::for_each_chunk) on the process-wide pool.
///
/// ```
/// let mut data = [0; 5];
/// rowpool::par::for_each_chunk(&mut data, 2, |i, chunk| chunk.fill(i));
/// assert_eq!(data, [0, 0, 1, 1, 2]);
/// ```
pub fn for_each_chunk<T: Send>(
    data: &mut [T],
    chunk_len: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    global().for_each_chunk(data, chunk_len, f);
}

/// [`Pool::for_each_chunk_init`](crate::Pool::for_each_chunk_init) on the process-wide pool.
///
/// ```
/// let mut data = [0; 5];
/// rowpool::par::for_each_chunk_init(&mut data, 2, || 7, |seven, _, chunk| chunk.fill(*seven));
/// assert_eq!(data, [7; 5]);
/// ```
pub fn for_each_chunk_init<T: Send, S>(
    data: &mut [T],
    chunk_len: usize,
    init: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    global().for_each_chunk_init(data, chunk_len, init, f);
}

/// [`Pool::for_each_chunk2`](crate::Pool::for_each_chunk2) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// let (mut a, mut b) = ([0; 5], [0; 3]);
/// rowpool::par::for_each_chunk2(&mut a, 2, &mut b, 1, |i, a, b| {
///     a.fill(i);
///     b.fill(i);
/// });
/// assert_eq!((a, b), ([0, 0, 1, 1, 2], [0, 1, 2]));
/// ```
pub fn for_each_chunk2<A: Send, B: Send>(
    a: &mut [A],
    a_len: usize,
    b: &mut [B],
    b_len: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    global().for_each_chunk2(a, a_len, b, b_len, f);
}

/// [`Pool::map_collect`](crate::Pool::map_collect) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// assert_eq!(rowpool::par::map_collect(3, |i| i.to_string()), ["0", "1", "2"]);
/// ```
pub fn map_collect<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    global().map_collect(n, f)
}

/// [`Pool::try_map_collect`](crate::Pool::try_map_collect) on the process-wide pool.
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
///
/// ```
/// let odd = |i| if i % 2 == 0 { Ok(i) } else { Err(i) };
/// assert_eq!(rowpool::par::try_map_collect(9, odd), Err(1));
/// ```
pub fn try_map_collect<T: Send, E: Send>(
    n: usize,
    f: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    global().try_map_collect(n, f)
}

/// [`Pool::reduce`](crate::Pool::reduce) on the process-wide pool.
///
/// ```
/// let sum = rowpool::par::reduce(100, |range| range.sum::<usize>(), |a, b| a + b);
/// assert_eq!(sum, Some(4950));
/// ```
pub fn reduce<T: Send>(
    n: usize,
    leaf: impl Fn(Range<usize>) -> T + Sync,
    combine: impl FnMut(T, T) -> T,
) -> Option<T> {
    global().reduce(n, leaf, combine)
}

/// [`Pool::tiles`](crate::Pool::tiles) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// rowpool::par::tiles(100, 70, 32, 32, |rows, cols| {
///     assert!(rows.len() <= 32 && cols.len() <= 32);
/// });
/// ```
pub fn tiles(
    rows: usize,
    cols: usize,
    tile_rows: usize,
    tile_cols: usize,
    f: impl Fn(Range<usize>, Range<usize>) + Sync,
) {
    global().tiles(rows, cols, tile_rows, tile_cols, f);
}

/// [`Pool::rows_of`](crate::Pool::rows_of) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// use rowpool::Rows;
/// let (mut gate, mut up) = ([0; 64], [0; 64]);
/// let mut outputs = [Rows::new(&mut gate), Rows::new(&mut up)];
/// rowpool::par::rows_of(&mut outputs, |output, _, part| part.fill(output));
/// assert_eq!((gate[63], up[0]), (0, 1));
/// ```
pub fn rows_of<T: Send>(outputs: &mut [Rows<'_, T>], f: impl Fn(usize, usize, &mut [T]) + Sync) {
    global().rows_of(outputs, f);
}

/// [`Pool::join`](crate::Pool::join) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// assert_eq!(rowpool::par::join(|| 1, || "two"), (1, "two"));
/// ```
pub fn join<RA: Send, RB: Send>(
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    global().join(a, b)
}

/// [`Pool::join3`](crate::Pool::join3) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// assert_eq!(rowpool::par::join3(|| 1, || "two", || 3.0), (1, "two", 3.0));
/// ```
pub fn join3<RA: Send, RB: Send, RC: Send>(
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
    c: impl FnOnce() -> RC + Send,
) -> (RA, RB, RC) {
    global().join3(a, b, c)
}

/// [`Pool::scope_steps`](crate::Pool::scope_steps) on the process-wide pool.
///
/// # Panics
/// As there.
///
/// ```
/// use rowpool::par;
/// let (mut h, mut y) = (vec![0.0f32; 64], vec![0.0f32; 64]);
/// par::scope_steps(|| {
///     par::for_each_row(&mut h, |row, out| *out = row as f32);
///     par::for_each_row(&mut y, |row, out| *out = h[63 - row]);
/// });
/// assert_eq!(y[0], 63.0);
/// ```
pub fn scope_steps<R>(f: impl FnOnce() -> R) -> R {
    global().scope_steps(f)
}
