//! The formats: what a block of each holds, in numbers; and what can be wrong with
//! the shapes of a product.

use std::error::Error;
use std::fmt;

/// How weights are stored: blocks of values, as ggml defines them and GGUF
/// files hold them. Rows are whole blocks.
///
/// ```
/// use rowpool_gemv::Format;
/// assert_eq!(Format::from_ggml(12), Some(Format::Q4K));
/// assert_eq!((Format::Q4K.block(), Format::Q4K.block_bytes()), (256, 144));
/// assert_eq!(Format::Q4K.row_bytes(576).unwrap_err().to_string(),
///            "576 columns are not a multiple of 256, the Q4_K block");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    BF16,
    /// 32 int8 and a half precision scale.
    Q8_0,
    /// 32 values of 4 bits, less 8, and a half precision scale.
    Q4_0,
    /// 256 values of 4 bits: eight groups, each with a scale and a minimum of 6 bits.
    Q4K,
    /// As [`Q4K`](Self::Q4K), with 5 bits a value.
    Q5K,
    /// 256 values of 6 bits, less 32: sixteen groups, each with a scale of 8 bits.
    Q6K,
}

impl Format {
    /// All of them.
    ///
    /// ```
    /// assert!(rowpool_gemv::Format::ALL.contains(&rowpool_gemv::Format::BF16));
    /// ```
    pub const ALL: [Format; 8] = [
        Format::F32,
        Format::F16,
        Format::BF16,
        Format::Q8_0,
        Format::Q4_0,
        Format::Q4K,
        Format::Q5K,
        Format::Q6K,
    ];

    /// The format of a number for types in GGUF files (`ggml_type`), if it is
    /// one of these.
    ///
    /// ```
    /// use rowpool_gemv::Format;
    /// assert_eq!(Format::from_ggml(30), Some(Format::BF16));
    /// assert_eq!(Format::from_ggml(39), None); // MXFP4
    /// ```
    #[must_use]
    pub fn from_ggml(number: u32) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.facts().0 == number)
    }

    /// ggml's name.
    ///
    /// ```
    /// assert_eq!(rowpool_gemv::Format::Q6K.name(), "Q6_K");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// Values in a block.
    ///
    /// ```
    /// assert_eq!(rowpool_gemv::Format::Q8_0.block(), 32);
    /// ```
    #[must_use]
    pub const fn block(self) -> usize {
        self.facts().2
    }

    /// Bytes of a block.
    ///
    /// ```
    /// assert_eq!(rowpool_gemv::Format::Q8_0.block_bytes(), 34);
    /// ```
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        self.facts().3
    }

    /// Bytes of a row of `cols` values.
    ///
    /// # Errors
    /// [`ShapeError::NotBlocks`] unless these are whole blocks,
    /// [`ShapeError::Overflow`] if the bytes are more than a `usize` counts.
    ///
    /// ```
    /// assert_eq!(rowpool_gemv::Format::Q8_0.row_bytes(576), Ok(612));
    /// ```
    pub fn row_bytes(self, cols: usize) -> Result<usize, ShapeError> {
        if !cols.is_multiple_of(self.block()) {
            return Err(ShapeError::NotBlocks { format: self, cols });
        }
        let bytes = (cols / self.block()).checked_mul(self.block_bytes());
        bytes.ok_or(ShapeError::Overflow { rows: 1, cols })
    }

    /// Number, name, values and bytes of a block: `ggml.h` and `ggml-common.h`.
    const fn facts(self) -> (u32, &'static str, usize, usize) {
        match self {
            Format::F32 => (0, "F32", 1, 4),
            Format::F16 => (1, "F16", 1, 2),
            Format::BF16 => (30, "BF16", 1, 2),
            Format::Q8_0 => (8, "Q8_0", 32, 34),
            Format::Q4_0 => (2, "Q4_0", 32, 18),
            Format::Q4K => (12, "Q4_K", 256, 144),
            Format::Q5K => (13, "Q5_K", 256, 176),
            Format::Q6K => (14, "Q6_K", 256, 210),
        }
    }
}

/// Buffers that do not fit together. Nothing has been written.
///
/// ```
/// use rowpool_gemv::{Format, Matrix, ShapeError};
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
