//! What can be wrong with the shapes of a product.

use super::Format;
use std::error::Error;
use std::fmt;

/// Buffers that do not fit together. Nothing has been written.
///
/// ```
/// use rowpool::gemv::{Format, Matrix, ShapeError};
/// let error = Matrix::new(Format::F32, 3, 4, &[0; 40]).unwrap_err();
/// assert_eq!(error, ShapeError::Weights { rows: 3, cols: 4, expected: 48, found: 40 });
/// assert_eq!(error.to_string(), "the weights have 40 bytes, but 3 rows of 4 columns need 48");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The matrix has more bytes than a `usize` counts.
    Overflow {
        /// Rows of the matrix.
        rows: usize,
        /// Values of a row.
        cols: usize,
    },
    /// The weights are not what the shape needs.
    Weights {
        /// Rows of the matrix.
        rows: usize,
        /// Values of a row.
        cols: usize,
        /// The bytes that the weights should have.
        expected: usize,
        /// The bytes that they have.
        found: usize,
    },
    /// Rows that are no whole blocks of their format.
    NotBlocks {
        /// The format.
        format: Format,
        /// Values of a row.
        cols: usize,
    },
    /// An input that is longer or shorter than a row.
    Input {
        /// Values of a row.
        expected: usize,
        /// Values of the input.
        found: usize,
    },
    /// An input that has not been prepared for the format.
    Unprepared {
        /// The format.
        format: Format,
    },
    /// An output that is longer or shorter than what is computed.
    Output {
        /// The length that the output should have.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ShapeError::Overflow { rows, cols } => {
                write!(f, "{rows} rows of {cols} columns are more bytes than a usize counts")
            }
            ShapeError::Weights { rows, cols, expected, found } => write!(
                f,
                "the weights have {found} bytes, but {rows} rows of {cols} columns need {expected}"
            ),
            ShapeError::NotBlocks { format, cols } => write!(
                f,
                "{cols} columns are not a multiple of {}, the {} block",
                format.block(),
                format.name()
            ),
            ShapeError::Input { expected, found } => {
                write!(f, "the input has {found} values, but a row has {expected}")
            }
            ShapeError::Unprepared { format } => {
                write!(f, "the input has not been prepared for {}", format.name())
            }
            ShapeError::Output { expected, found } => {
                write!(f, "the output has length {found}, but {expected} values are computed")
            }
        }
    }
}

impl Error for ShapeError {}
