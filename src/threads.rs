//! The ten functions of ferrox-core 0.11's module of this name, with the same
//! signatures and the same observable behaviour, on one process-wide team.
//!
//! What differs from the original, on purpose:
//! - The caller takes part in its regions.
//! - One team serves both of ferrox's pools: its width is
//!   [`resolve_gemv_threads`] at first use, at most 512 (a larger width is
//!   clamped, with a warning), and [`init_cpu_pool`] returns that width.
//!   `FERROX_GEMV_DEDICATED` is accepted and has nothing to choose.
//! - [`for_each_chunk_init`] calls `init` once for each slot taken (at most
//!   [`gemv_num_threads`]), where rayon calls it once for each split.
//! - `ROWPOOL_NUM_THREADS` comes before all other settings of the width.
//!
//! ```
//! use rowpool::threads;
//! let (rows, cols) = (1000, 576);
//! let mut y = vec![0.0; rows];
//! threads::for_each_row(&mut y, rows, cols, |row, out| *out = row as f32);
//! assert_eq!(y[999], 999.0);
//! ```

use crate::config;
use crate::global;
use crate::pool::{inside, Pool};
use crate::sync::{Ordering, StaticU32};
use crate::topology::{Settings, Topology, Width};

/// Whether somebody has used the team through this module or called
/// `init_cpu_pool`.
static USED: StaticU32 = StaticU32::new(0);

/// The calling thread's macOS Quality-of-Service class, as a word such as
/// `"user-interactive"`; `None` off macOS, where there is no such thing.
///
/// ```
/// let name = rowpool::threads::current_qos_name();
/// assert_eq!(name.is_some(), cfg!(target_vendor = "apple"));
/// ```
pub fn current_qos_name() -> Option<&'static str> {
    crate::sys::qos_name()
}

/// The number of cores that a decode GEMV should use, at least 1: the physical
/// performance cores that the process's mask and CPU quota leave it. Asks the
/// system at each call; [`topology`](crate::topology) has the rule.
///
/// ```
/// assert!(rowpool::threads::perf_core_count() >= 1);
/// ```
pub fn perf_core_count() -> usize {
    Width::new(&Topology::detect(), &Settings::default()).threads
}

/// The width for general work: `FERROX_CPU_THREADS`, `RAYON_NUM_THREADS`, then
/// [`perf_core_count`]. Read afresh at each call; a value that is not a
/// positive decimal number is as if it were absent.
///
/// ```
/// assert!(rowpool::threads::resolve_cpu_threads() >= 1);
/// ```
pub fn resolve_cpu_threads() -> usize {
    config::cpu_threads(config::env).map_or_else(perf_core_count, |set| set.threads)
}

/// The width for a GEMV: `FERROX_GEMV_THREADS`, then [`resolve_cpu_threads`].
///
/// ```
/// assert!(rowpool::threads::resolve_gemv_threads() >= 1);
/// ```
pub fn resolve_gemv_threads() -> usize {
    config::gemv_threads(config::env).map_or_else(perf_core_count, |set| set.threads)
}

/// Builds the team if no region and no `init_cpu_pool` came before, and returns
/// its width; `None` otherwise: the team there is stays as it is.
///
/// ```
/// let first = rowpool::threads::init_cpu_pool();
/// assert_eq!(first, Some(rowpool::threads::gemv_num_threads()));
/// assert_eq!(rowpool::threads::init_cpu_pool(), None);
/// ```
pub fn init_cpu_pool() -> Option<usize> {
    // Relaxed: picks one caller, orders nothing.
    let first = USED.swap(1, Ordering::Relaxed) == 0;
    (first && !global::built().is_some_and(Pool::has_run)).then(gemv_num_threads)
}

/// Builds the team unless it exists.
///
/// ```
/// rowpool::threads::init_gemv_pool();
/// ```
pub fn init_gemv_pool() {
    global::global();
}

/// The team's width, the caller among them; builds the team if need be.
///
/// ```
/// assert!(rowpool::threads::gemv_num_threads() >= 1);
/// ```
pub fn gemv_num_threads() -> usize {
    global::global().num_threads()
}

/// Whether `n_rows * n_cols` multiply-adds are run in parallel: from 256 000 on,
/// and two rows, as in ferrox.
///
/// ```
/// use rowpool::threads::should_parallelize;
/// assert!(should_parallelize(2, 128_000));
/// assert!(!should_parallelize(1, usize::MAX));
/// ```
pub fn should_parallelize(n_rows: usize, n_cols: usize) -> bool {
    n_rows > 1 && n_rows.saturating_mul(n_cols) >= 256_000
}

/// The team, for a region that passed the gate; `None` inside a region, where
/// everything runs inline and the team need not exist yet.
fn team() -> Option<&'static Pool> {
    if inside() {
        return None;
    }
    // Relaxed: see `init_cpu_pool`. Read first: the line stays shared.
    if USED.load(Ordering::Relaxed) == 0 {
        USED.store(1, Ordering::Relaxed);
    }
    Some(global::built().unwrap_or_else(global::global))
}

/// Calls `row_fn(row, &mut output[row])` for each of the first
/// `n = min(n_rows, output.len())` rows, in parallel if
/// [`should_parallelize`]`(n, n_cols)`. Rows are never split; those from `n` on
/// are untouched. A panic in `row_fn` is raised here, and the team survives.
///
/// ```
/// let mut y = [0.0; 4];
/// rowpool::threads::for_each_row(&mut y, 3, 576, |row, out| *out = row as f32 + 1.0);
/// assert_eq!(y, [1.0, 2.0, 3.0, 0.0]);
/// ```
pub fn for_each_row<F>(output: &mut [f32], n_rows: usize, n_cols: usize, row_fn: F)
where
    F: Fn(usize, &mut f32) + Send + Sync,
{
    let n = n_rows.min(output.len());
    let rows = &mut output[..n];
    match should_parallelize(n, n_cols).then(team).flatten() {
        Some(pool) => pool.with_work(n_cols).for_each_row(rows, row_fn),
        None => rows.iter_mut().enumerate().for_each(|(row, out)| row_fn(row, out)),
    }
}

/// Calls `f(&mut state, i, chunk)` for each whole chunk of `chunk_len` elements,
/// in parallel if [`should_parallelize`]`(chunks, work_per_chunk)`, with one
/// `state` from `init` per slot taken. A short tail is untouched; a `chunk_len`
/// of 0 calls nothing; without a whole chunk `init` is called once and `f`
/// never.
///
/// ```
/// let mut y = [0.0; 7];
/// rowpool::threads::for_each_chunk_init(&mut y, 3, 100, || 1.0, |one, i, chunk| {
///     chunk.fill(i as f32 + *one);
/// });
/// assert_eq!(y, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0]);
/// ```
pub fn for_each_chunk_init<S, I, F>(
    output: &mut [f32],
    chunk_len: usize,
    work_per_chunk: usize,
    init: I,
    f: F,
) where
    I: Fn() -> S + Send + Sync,
    S: Send,
    F: Fn(&mut S, usize, &mut [f32]) + Send + Sync,
{
    if chunk_len == 0 {
        return;
    }
    let n_chunks = output.len() / chunk_len;
    let whole = &mut output[..n_chunks * chunk_len];
    match should_parallelize(n_chunks, work_per_chunk).then(team).flatten() {
        Some(pool) => pool.with_work(work_per_chunk).for_each_chunk_init(whole, chunk_len, init, f),
        None => {
            let mut state = init();
            whole.chunks_mut(chunk_len).enumerate().for_each(|(i, chunk)| f(&mut state, i, chunk));
        }
    }
}
