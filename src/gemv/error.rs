//! What can be wrong with the shapes of a product.

use std::error::Error;
use std::fmt;

/// Buffers that do not fit together. Nothing has been written.
///
/// ```
/// use rowpool::gemv::{self, ShapeError};
/// let mut y = [0.0; 3];
/// let error = gemv::f32_serial(&[1.0; 10], &[1.0; 4], &mut y).unwrap_err();
/// assert_eq!(error, ShapeError::Weights { rows: 3, cols: 4, expected: 12, found: 10 });
/// assert_eq!(error.to_string(), "w has length 10, but 3 rows of 4 columns need 12");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The matrix has more elements or bytes than a `usize` counts.
    Overflow {
        /// Length of `y`.
        rows: usize,
        /// Elements of `x` ([`BLOCK`](crate::gemv::BLOCK) for each of its blocks).
        cols: usize,
    },
    /// `w` is not what `rows` times `cols` needs.
    Weights {
        /// Length of `y`.
        rows: usize,
        /// Elements of `x` ([`BLOCK`](crate::gemv::BLOCK) for each of its blocks).
        cols: usize,
        /// The length that `w` should have: values for f32, bytes for Q8_0.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
    /// A number of values that cannot be cut into blocks of
    /// [`BLOCK`](crate::gemv::BLOCK).
    NotBlocks {
        /// The number of values.
        len: usize,
    },
    /// The output of a conversion is longer or shorter than its input gives.
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
                write!(f, "{rows} rows of {cols} columns are more than a usize counts")
            }
            ShapeError::Weights { rows, cols, expected, found } => {
                write!(f, "w has length {found}, but {rows} rows of {cols} columns need {expected}")
            }
            ShapeError::NotBlocks { len } => {
                write!(f, "{len} values are not a multiple of 32, the Q8_0 block")
            }
            ShapeError::Output { expected, found } => {
                write!(f, "the output has length {found}, but the input gives {expected}")
            }
        }
    }
}

impl Error for ShapeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_one_line_with_its_numbers() {
        for (error, numbers) in [
            (ShapeError::Overflow { rows: 123, cols: 456 }, &["123", "456"][..]),
            (
                ShapeError::Weights { rows: 1, cols: 2, expected: 34, found: 56 },
                &["1", "2", "34", "56"],
            ),
            (ShapeError::NotBlocks { len: 77 }, &["77", "32"]),
            (ShapeError::Output { expected: 88, found: 99 }, &["88", "99"]),
        ] {
            let text = error.to_string();
            assert!(!text.contains('\n'));
            for number in numbers {
                assert!(text.contains(number), "{text}");
            }
        }
    }
}
