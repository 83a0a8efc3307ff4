//! Weights where they lie.

use crate::{unpack, Format, ShapeError};

/// A row-major matrix over the bytes of a tensor as a GGUF file holds them
/// (little-endian), at any address: a part of a memory map will do.
///
/// ```
/// use rowpool_gemv::{Format, Matrix};
/// let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|w| w.to_le_bytes()).collect();
/// let matrix = Matrix::new(Format::F32, 2, 2, &bytes)?;
/// let mut row = [0.0; 2];
/// matrix.dequantize(1, &mut row)?;
/// assert_eq!(row, [3.0, 4.0]);
/// # Ok::<(), rowpool_gemv::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'w> {
    format: Format,
    rows: usize,
    cols: usize,
    bytes: &'w [u8],
}

impl<'w> Matrix<'w> {
    /// `rows` rows of `cols` values. Any bytes are weights: none panic later.
    ///
    /// # Errors
    /// [`ShapeError::NotBlocks`] unless a row is whole blocks,
    /// [`ShapeError::Weights`] unless `bytes` is as long as the rows,
    /// [`ShapeError::Overflow`] if that is more than a `usize` counts.
    ///
    /// ```
    /// use rowpool_gemv::{Format, Matrix};
    /// assert!(Matrix::new(Format::Q8_0, 3, 64, &[0; 3 * 2 * 34]).is_ok());
    /// assert!(Matrix::new(Format::Q8_0, 3, 64, &[0; 3 * 2 * 32]).is_err());
    /// ```
    pub fn new(
        format: Format,
        rows: usize,
        cols: usize,
        bytes: &'w [u8],
    ) -> Result<Matrix<'w>, ShapeError> {
        let row = format.row_bytes(cols)?;
        let expected = row.checked_mul(rows).ok_or(ShapeError::Overflow { rows, cols })?;
        if bytes.len() != expected {
            return Err(ShapeError::Weights { rows, cols, expected, found: bytes.len() });
        }
        Ok(Matrix { format, rows, cols, bytes })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The bytes of `rows` rows from `first` on.
    pub(crate) fn part(&self, first: usize, rows: usize) -> &'w [u8] {
        // The bytes are whole rows; no rows have no length of a row.
        let row = self.bytes.len() / self.rows.max(1);
        &self.bytes[first * row..][..rows * row]
    }

    /// The values of one row, as ggml dequantises them.
    ///
    /// # Errors
    /// [`ShapeError::Output`] unless `values` is as long as a row.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// ```
    /// use rowpool_gemv::{Format, Matrix};
    /// let bytes = [0x80, 0x3f, 0x40, 0xc0]; // 1 and -3 as BF16
    /// let mut row = [0.0];
    /// Matrix::new(Format::BF16, 2, 1, &bytes)?.dequantize(1, &mut row)?;
    /// assert_eq!(row, [-3.0]);
    /// # Ok::<(), rowpool_gemv::ShapeError>(())
    /// ```
    pub fn dequantize(&self, row: usize, values: &mut [f32]) -> Result<(), ShapeError> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if values.len() != self.cols {
            return Err(ShapeError::Output { expected: self.cols, found: values.len() });
        }
        let blocks = self.part(row, 1).chunks_exact(self.format.block_bytes());
        for (values, block) in values.chunks_exact_mut(self.format.block()).zip(blocks) {
            unpack::values(self.format, block, values);
        }
        Ok(())
    }
}
