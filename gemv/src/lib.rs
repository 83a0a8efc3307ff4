//! `y = W x` on a [`Pool`], for weights as GGUF files hold them: F32, F16, BF16,
//! Q8_0, Q4_0, Q4_K, Q5_K and Q6_K, read where they lie, about as fast as memory
//! gives them. For engines without kernels of their own.
//!
//! ```
//! use rowpool_gemv::{self as gemv, Format, Input, Matrix};
//!
//! let pool = rowpool::Pool::new(2)?;
//! let (rows, cols) = (192, 576);
//! let weights: Vec<f32> = (0..rows * cols).map(|i| (i % 17) as f32 - 8.0).collect();
//! let mut bytes = vec![0; rows * Format::Q8_0.row_bytes(cols)?];
//! gemv::quantize_q8_0(&weights, &mut bytes)?; // or a part of a mapped file
//! let matrix = Matrix::new(Format::Q8_0, rows, cols, &bytes)?;
//!
//! let mut x = Input::new(&vec![0.5; cols]);
//! let mut y = vec![0.0; rows];
//! gemv::mul(&pool, &matrix, &mut x, &mut y)?;
//! assert!((y[0] - weights[..cols].iter().sum::<f32>() * 0.5).abs() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The same bits everywhere
//!
//! A result depends on the row and on `x` alone: not on the other rows, the
//! width of the pool, the CPU or its kernels. Products of integers are exact,
//! their sums by block in i32; all else is rounded in one order, without fused
//! multiply-add: blocks in theirs, and for F32, F16 and BF16 column `c` to sum
//! `c % 32`, the sums as a tree, then the columns after the last multiple of 32.
//!
//! A scale, weight or input that is NaN or infinite makes the values that it
//! takes part in NaN or infinite, never a panic. A NaN is a NaN everywhere; its
//! sign and payload are not specified, and differ between widths and kernels.

#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]

mod f16;
mod format;
mod input;
mod kernel;
mod matrix;
mod round;
mod unpack;

use rowpool::{Pool, Rows};

pub use f16::{f16_to_f32, f32_to_f16};
pub use format::{Format, ShapeError};
pub use input::{quantize_q8_0, Input};
pub use matrix::Matrix;

/// `y = matrix x` on `pool`; prepares `x` for the format if need be. Runs on the
/// calling thread alone where a fork would take longer, by the pool's
/// measurement of it. No columns give zeros, no rows nothing.
///
/// # Errors
/// [`ShapeError::Input`] unless `x` has a value for each column,
/// [`ShapeError::Output`] unless `y` has one for each row.
///
/// ```
/// use rowpool_gemv::{self as gemv, Format, Input, Matrix};
/// let pool = rowpool::Pool::new(2)?;
/// let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|w| w.to_le_bytes()).collect();
/// let mut y = [0.0; 2];
/// let matrix = Matrix::new(Format::F32, 2, 2, &bytes)?;
/// gemv::mul(&pool, &matrix, &mut Input::new(&[10.0, 1.0]), &mut y)?;
/// assert_eq!(y, [12.0, 34.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mul(
    pool: &Pool,
    matrix: &Matrix<'_>,
    x: &mut Input,
    y: &mut [f32],
) -> Result<(), ShapeError> {
    if y.len() != matrix.rows() {
        return Err(ShapeError::Output { expected: matrix.rows(), found: y.len() });
    }
    x.prepare(matrix.format())?;
    let x = x.parts(matrix.format(), matrix.cols())?;
    let pool = pool.with_work(matrix.cols().saturating_mul(OPS));
    // The rows of a slot in one piece, for kernels that take many at once.
    pool.rows_of(&mut [Rows::new(y)], |_, first, y| {
        kernel::chosen().product(matrix.format(), matrix.part(first, y.len()), x, y);
    });
    Ok(())
}

/// Rows `first..` of the product, as many as `y` takes, on the calling thread:
/// for loops of one's own. `x` is prepared for the format.
///
/// # Errors
/// [`ShapeError::Input`] unless `x` has a value for each column,
/// [`ShapeError::Unprepared`] unless it is prepared,
/// [`ShapeError::Output`] if `y` is longer than there are rows from `first` on.
///
/// ```
/// use rowpool_gemv::{self as gemv, Format, Input, Matrix};
/// let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|w| w.to_le_bytes()).collect();
/// let mut y = [0.0];
/// let matrix = Matrix::new(Format::F32, 2, 2, &bytes)?;
/// gemv::mul_rows(&matrix, 1, &Input::new(&[10.0, 1.0]), &mut y)?;
/// assert_eq!(y, [34.0]);
/// # Ok::<(), gemv::ShapeError>(())
/// ```
pub fn mul_rows(
    matrix: &Matrix<'_>,
    first: usize,
    x: &Input,
    y: &mut [f32],
) -> Result<(), ShapeError> {
    let expected = matrix.rows().saturating_sub(first);
    if y.len() > expected {
        return Err(ShapeError::Output { expected, found: y.len() });
    }
    let x = x.parts(matrix.format(), matrix.cols())?;
    kernel::chosen().product(matrix.format(), matrix.part(first, y.len()), x, y);
    Ok(())
}

/// The kernels that products use here: the fastest that this CPU has of
/// `avx512-vnni`, `avx-vnni`, `avx2` (x86-64), `dotprod` (aarch64) and `portable`,
/// or those that the environment variable `ROWPOOL_KERNELS` names, read at the
/// first product. A name that is unknown or not of this CPU is as if it were
/// absent.
///
/// ```
/// println!("kernels: {}", rowpool_gemv::kernels());
/// ```
#[must_use]
pub fn kernels() -> &'static str {
    kernel::chosen().name
}

/// A multiply-add here in those of [`Pool::with_work`], which are of kernels in cache.
const OPS: usize = 2;
