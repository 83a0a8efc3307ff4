//! Row-chunked `y = W x` on a [`Pool`]: f32, and Q8_0 blocks as
//! GGUF files hold them. For engines without kernels of their own; the kernels
//! are plain Rust that vectorises for the target it is compiled for
//! (`-C target-cpu=native`).
//!
//! `W` is row-major, a row for each value of `y`. A result is bitwise the same
//! on every pool, at every width, and by the serial functions.
//!
//! ```
//! use rowpool::gemv::{self, BlockQ8_0};
//!
//! let pool = rowpool::Pool::new(2)?;
//! let (rows, cols) = (192, 576);
//! let weights: Vec<f32> = (0..rows * cols).map(|i| (i % 17) as f32 - 8.0).collect();
//! let x = vec![0.5; cols];
//! let mut y = vec![0.0; rows];
//! gemv::f32(&pool, &weights, &x, &mut y)?;
//!
//! // The same in 8 bits: the weights once, x for each product.
//! let mut bytes = vec![0; weights.len() / gemv::BLOCK * gemv::BLOCK_BYTES];
//! gemv::quantize_weights(&weights, &mut bytes)?;
//! let mut blocks = vec![BlockQ8_0::ZERO; cols / gemv::BLOCK];
//! gemv::quantize(&x, &mut blocks)?;
//! let mut y8 = vec![0.0; rows];
//! gemv::q8_0(&pool, &bytes, &blocks, &mut y8)?;
//! assert!(y.iter().zip(&y8).all(|(y, y8)| (y - y8).abs() < 0.01 * y.abs().max(1.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod f16;
mod kernel;
mod q8;

use crate::Pool;

pub use error::ShapeError;
pub use f16::{f16_to_f32, f32_to_f16};
pub use q8::{dequantize_weights, quantize, quantize_weights, BlockQ8_0, BLOCK, BLOCK_BYTES};

/// A multiply-add here in the pool's (0.05 ns). Measured with the matrix in a
/// 2.x GHz Xeon's cache: Q8_0 0.08 ns with AVX2 or AVX-512, 0.12 without; f32
/// 0.10 to 0.13. From memory it takes longer, but what is near the break-even
/// of a fork (a few rows of 576 columns) is in a cache.
const OPS: usize = 2;

/// `y = w x` on `pool`: row-major `w` of `y.len()` rows and `x.len()` columns.
/// Runs on the calling thread alone where a fork would take longer, by the
/// pool's measurement of it.
///
/// Column `c` is added to sum `c % 32`, the sums as a tree, and columns after
/// the last multiple of 32 in order; no fused multiply-add. So a result is the
/// same on every machine, too. No columns give zeros, no rows nothing.
///
/// # Errors
/// [`ShapeError::Weights`] unless `w` has rows times columns elements,
/// [`ShapeError::Overflow`] if that is more than a `usize` holds.
///
/// ```
/// use rowpool::{gemv, Pool};
/// let pool = Pool::new(2)?;
/// let mut y = [0.0; 2];
/// gemv::f32(&pool, &[1.0, 2.0, 3.0, 4.0], &[10.0, 1.0], &mut y)?;
/// assert_eq!(y, [12.0, 34.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn f32(pool: &Pool, w: &[f32], x: &[f32], y: &mut [f32]) -> Result<(), ShapeError> {
    elements(y.len(), x.len(), w.len())?;
    let cols = x.len();
    each_slot(pool, y, cols, |first, y| kernel::dense(&w[first * cols..][..y.len() * cols], x, y));
    Ok(())
}

/// `y = w x` on `pool` for Q8_0: `w` as the bytes of a GGUF tensor (or of
/// [`quantize_weights`]), a row of `x.len()` blocks for each value of `y`; `x`
/// by [`quantize`]. Runs on the calling thread alone where a fork would take
/// longer, by the pool's measurement of it.
///
/// Each block gives an exact integer, times the product of both scales, added
/// in order, as ggml's reference does. So a result is the same on every
/// machine, too. No blocks give zeros, no rows nothing; a scale that is NaN or
/// infinite, in `w` or in `x`, makes the values that it takes part in NaN or
/// infinite, never a panic.
///
/// # Errors
/// [`ShapeError::Weights`] unless `w` has 34 bytes for each block of each row,
/// [`ShapeError::Overflow`] if that is more than a `usize` holds.
///
/// ```
/// use rowpool::gemv::{self, BlockQ8_0};
/// let pool = rowpool::Pool::new(2)?;
/// let row = BlockQ8_0 { d: [0x00, 0x3c], qs: [2; 32] }; // 32 times 2
/// let x = BlockQ8_0 { d: [0x00, 0x38], qs: [1; 32] }; // 32 times 0.5
/// let mut y = [0.0; 3];
/// gemv::q8_0(&pool, &row.to_bytes().repeat(3), &[x], &mut y)?;
/// assert_eq!(y, [32.0; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn q8_0(pool: &Pool, w: &[u8], x: &[BlockQ8_0], y: &mut [f32]) -> Result<(), ShapeError> {
    block_bytes(y.len(), x.len(), w.len())?;
    let bytes = x.len() * BLOCK_BYTES;
    each_slot(pool, y, x.len() * BLOCK, |first, y| {
        kernel::blocks(&w[first * bytes..][..y.len() * bytes], x, y);
    });
    Ok(())
}

/// Calls `f(first, part)` for contiguous parts of `y`, one for each thread: the
/// kernels want many rows at once to read them as streams.
fn each_slot(pool: &Pool, y: &mut [f32], cols: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
    pool.with_work(cols.saturating_mul(OPS)).for_each_part(y, f);
}

fn elements(rows: usize, cols: usize, found: usize) -> Result<(), ShapeError> {
    let expected = rows.checked_mul(cols).ok_or(ShapeError::Overflow { rows, cols })?;
    fits(rows, cols, expected, found)
}

fn block_bytes(rows: usize, blocks: usize, found: usize) -> Result<(), ShapeError> {
    let cols = blocks.saturating_mul(BLOCK);
    let bytes = blocks.checked_mul(BLOCK_BYTES).and_then(|bytes| bytes.checked_mul(rows));
    fits(rows, cols, bytes.ok_or(ShapeError::Overflow { rows, cols })?, found)
}

fn fits(rows: usize, cols: usize, expected: usize, found: usize) -> Result<(), ShapeError> {
    if found == expected {
        Ok(())
    } else {
        Err(ShapeError::Weights { rows, cols, expected, found })
    }
}

/// [`f32`](fn@f32) on the calling thread.
///
/// # Errors
/// As [`f32`](fn@f32).
///
/// ```
/// use rowpool::gemv;
/// let mut y = [0.0; 2];
/// gemv::f32_serial(&[1.0, 2.0, 3.0, 4.0], &[10.0, 1.0], &mut y)?;
/// assert_eq!(y, [12.0, 34.0]);
/// # Ok::<(), gemv::ShapeError>(())
/// ```
pub fn f32_serial(w: &[f32], x: &[f32], y: &mut [f32]) -> Result<(), ShapeError> {
    elements(y.len(), x.len(), w.len())?;
    kernel::dense(w, x, y);
    Ok(())
}

/// [`q8_0`] on the calling thread.
///
/// # Errors
/// As [`q8_0`].
///
/// ```
/// use rowpool::gemv::{self, BlockQ8_0};
/// let w = BlockQ8_0 { d: [0x00, 0x3c], qs: [2; 32] }; // 32 times 2
/// let x = BlockQ8_0 { d: [0x00, 0x38], qs: [1; 32] }; // 32 times 0.5
/// let mut y = [0.0];
/// gemv::q8_0_serial(&w.to_bytes(), &[x], &mut y)?;
/// assert_eq!(y, [32.0]);
/// # Ok::<(), gemv::ShapeError>(())
/// ```
pub fn q8_0_serial(w: &[u8], x: &[BlockQ8_0], y: &mut [f32]) -> Result<(), ShapeError> {
    block_bytes(y.len(), x.len(), w.len())?;
    kernel::blocks(w, x, y);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_overflow_are_errors() {
        let overflow = |rows, cols| Err(ShapeError::Overflow { rows, cols });
        assert_eq!(elements(usize::MAX, 2, 0), overflow(usize::MAX, 2));
        assert_eq!(elements(1 << 32, 1 << 32, 0), overflow(1 << 32, 1 << 32));
        assert_eq!(block_bytes(usize::MAX, 1, 0), overflow(usize::MAX, 32));
        assert_eq!(block_bytes(1, usize::MAX, 0), overflow(1, usize::MAX));
        assert_eq!(block_bytes(0, usize::MAX / 34, 0), Ok(()));
        assert_eq!(elements(usize::MAX, 1, usize::MAX), Ok(()));
    }
}
