//! The dot products. No intrinsics and no `unsafe`: fixed-size arrays that the
//! compiler turns into vectors.
//!
//! Two habits decide the speed. A thread reads its rows as several streams far
//! apart (`lockstep`), and each value's order of summation is fixed by the
//! number of columns alone, so that a result does not depend on which rows
//! were computed together: not on the width, not on the chunk.

use super::{f16_to_f32, BlockQ8_0, BLOCK, BLOCK_BYTES};

/// Rows of Q8_0 computed together: as many as the integer sums have registers.
const Q8_ROWS: usize =
    if cfg!(any(target_feature = "avx2", target_arch = "aarch64")) { 8 } else { 4 };

/// Rows of f32 computed together, as streams; more add nothing.
const F32_ROWS: usize = 4;
/// Independent sums of an f32 row: four cache lines' worth keep the adders busy
/// at any vector width.
const LANES: usize = 32;
/// Columns of one f32 row before its neighbour's turn: long enough to pay for
/// the call, short enough for all streams to be fetched ahead.
const SEGMENT: usize = 128;

/// Fills as much of `y` as `R` rows at a time go, by `rows(first, apart)`, and
/// returns how much.
///
/// The rows taken together are `apart = y.len() / R` from each other. A core
/// that reads one stream waits for memory at each page; over `R` streams these
/// waits overlap, and the Q8_0 token of SmolLM2-135M takes half the time (20 to
/// 10 ms on a Xeon of 2023). Adjacent rows do not help: they share pages, hence
/// a stream.
#[inline(always)]
fn lockstep<const R: usize>(y: &mut [f32], rows: impl Fn(usize, usize) -> [f32; R]) -> usize {
    let apart = y.len() / R;
    for first in 0..apart {
        let values = rows(first, apart);
        for r in 0..R {
            y[first + r * apart] = values[r];
        }
    }
    R * apart
}

/// `y = w x`; the lengths fit.
pub(super) fn dense(w: &[f32], x: &[f32], y: &mut [f32]) {
    let done = dense_lockstep::<F32_ROWS>(w, x, y);
    dense_lockstep::<1>(&w[done * x.len()..], x, &mut y[done..]);
}

#[inline(always)]
fn dense_lockstep<const R: usize>(w: &[f32], x: &[f32], y: &mut [f32]) -> usize {
    let row = |i: usize| &w[i * x.len()..][..x.len()];
    lockstep::<R>(y, |first, apart| dense_rows(std::array::from_fn(|r| row(first + r * apart)), x))
}

/// Column `c` goes to sum `c % LANES`; then the sums are added as a tree, and
/// the columns after the last whole `LANES` in order.
#[inline(always)]
fn dense_rows<const R: usize>(rows: [&[f32]; R], x: &[f32]) -> [f32; R] {
    let whole = x.len() / LANES * LANES;
    let mut sums = [[0.0; LANES]; R];
    for start in (0..whole).step_by(SEGMENT) {
        let end = (start + SEGMENT).min(whole);
        for (sums, row) in sums.iter_mut().zip(rows) {
            dense_segment(sums, &row[start..end], &x[start..end]);
        }
    }
    let mut values = [0.0; R];
    for ((value, mut sums), row) in values.iter_mut().zip(sums).zip(rows) {
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
            half /= 2;
        }
        let tail = row[whole..].iter().zip(&x[whole..]);
        *value = tail.fold(sums[0], |sum, (w, x)| sum + w * x);
    }
    values
}

/// A function of its own, not inlined: beside other rows the compiler mixes
/// their sums into poor vectors (measured: 0.45 ns a multiply-add, not 0.09).
#[inline(never)]
fn dense_segment(sums: &mut [f32; LANES], row: &[f32], x: &[f32]) {
    let mut lanes = *sums;
    for (w, x) in row.chunks_exact(LANES).zip(x.chunks_exact(LANES)) {
        for (lane, (w, x)) in lanes.iter_mut().zip(w.iter().zip(x)) {
            *lane += w * x;
        }
    }
    *sums = lanes;
}

/// `y = w x` for Q8_0 bytes; the lengths fit.
pub(super) fn blocks(w: &[u8], x: &[BlockQ8_0], y: &mut [f32]) {
    let bytes = x.len() * BLOCK_BYTES;
    let done = block_lockstep::<Q8_ROWS>(w, x, y);
    // A row by itself takes twice as long as among four.
    let done = done + block_lockstep::<4>(&w[done * bytes..], x, &mut y[done..]);
    block_lockstep::<1>(&w[done * bytes..], x, &mut y[done..]);
}

#[inline(always)]
fn block_lockstep<const R: usize>(w: &[u8], x: &[BlockQ8_0], y: &mut [f32]) -> usize {
    let bytes = x.len() * BLOCK_BYTES;
    let row = |i: usize| &w[i * bytes..][..bytes];
    lockstep::<R>(y, |first, apart| block_rows(std::array::from_fn(|r| row(first + r * apart)), x))
}

/// Block by block: an exact integer dot product, times both scales, added in
/// order. The one loop over rows after the dot products makes them one vector.
#[inline(always)]
fn block_rows<const R: usize>(mut rows: [&[u8]; R], x: &[BlockQ8_0]) -> [f32; R] {
    let mut sums = [0.0; R];
    for x in x {
        let mut dots = [0; R];
        let mut scales = [0; R];
        for r in 0..R {
            // Taking blocks off the front costs no bounds checks later.
            let (block, rest) =
                rows[r].split_first_chunk::<BLOCK_BYTES>().expect("a row has x's blocks");
            rows[r] = rest;
            scales[r] = u16::from_le_bytes([block[0], block[1]]);
            dots[r] = dot(block[2..].try_into().expect("34 bytes less 2"), &x.qs);
        }
        let scale = x.scale();
        for r in 0..R {
            sums[r] += dots[r] as f32 * (f16_to_f32(scales[r]) * scale);
        }
    }
    sums
}

/// At most 32 x 128 x 128: exact in i32, and as f32 too.
#[inline(always)]
fn dot(w: &[u8; BLOCK], x: &[i8; BLOCK]) -> i32 {
    let mut sum = 0;
    for k in 0..BLOCK {
        sum += i32::from(w[k] as i8) * i32::from(x[k]);
    }
    sum
}
