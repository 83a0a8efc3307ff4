//! The vector that matrices are multiplied by, rounded as each format wants it.

use crate::kernel;
use crate::round::{quantize_32, Block256, Block32, Rounded, X};
use crate::{Format, ShapeError};

/// An input vector, and what has been rounded of it: once for all matrices that
/// it meets. Set again, it keeps its buffers.
///
/// F32, F16 and BF16 take the values as they are; Q8_0 and Q4_0 round each 32 to
/// int8 (ggml's Q8_0), the K formats each 256 (ggml's Q8_K).
///
/// ```
/// use rowpool_gemv::{Format, Input};
/// let mut x = Input::new(&[0.5; 512]);
/// x.prepare(Format::Q4K)?; // mul does it by itself
/// x.set(&[0.25; 512]); // the next token's: no allocation
/// # Ok::<(), rowpool_gemv::ShapeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Input {
    values: Vec<f32>,
    /// Empty until prepared.
    by_32: Vec<Block32>,
    by_256: Vec<Block256>,
}

impl Input {
    /// A vector of these values.
    ///
    /// ```
    /// let x = rowpool_gemv::Input::new(&[1.0, 2.0]);
    /// ```
    #[must_use]
    pub fn new(values: &[f32]) -> Input {
        Input { values: values.to_vec(), ..Input::default() }
    }

    /// Other values, of any number.
    ///
    /// ```
    /// let mut x = rowpool_gemv::Input::default();
    /// x.set(&[1.0, 2.0]);
    /// ```
    pub fn set(&mut self, values: &[f32]) {
        self.values.clear();
        self.values.extend_from_slice(values);
        self.by_32.clear();
        self.by_256.clear();
    }

    /// Rounds the values for matrices of this format, unless that is done. A
    /// block with a NaN or an infinity gets a scale of NaN, so that it shows in
    /// every product.
    ///
    /// # Errors
    /// [`ShapeError::NotBlocks`] unless the values are whole blocks.
    ///
    /// ```
    /// use rowpool_gemv::{Format, Input};
    /// let mut x = Input::new(&[1.0; 64]);
    /// assert!(x.prepare(Format::Q8_0).is_ok());
    /// assert!(x.prepare(Format::Q6K).is_err());
    /// ```
    pub fn prepare(&mut self, format: Format) -> Result<(), ShapeError> {
        format.row_bytes(self.values.len())?;
        let to = match format.block() {
            32 if self.by_32.is_empty() => Rounded::By32(&mut self.by_32),
            256 if self.by_256.is_empty() => Rounded::By256(&mut self.by_256),
            _ => return Ok(()),
        };
        kernel::chosen().round(&self.values, to);
        Ok(())
    }

    /// What a row of `cols` is multiplied by.
    pub(crate) fn parts(&self, format: Format, cols: usize) -> Result<X<'_>, ShapeError> {
        let found = self.values.len();
        if found != cols {
            return Err(ShapeError::Input { expected: cols, found });
        }
        let prepared = match format.block() {
            32 => self.by_32.len() * 32,
            256 => self.by_256.len() * 256,
            _ => cols,
        };
        if prepared != cols {
            return Err(ShapeError::Unprepared { format });
        }
        Ok((&self.values, &self.by_32, &self.by_256))
    }
}

/// Rounds weights to the bytes of a Q8_0 tensor, as ggml's reference does: 34
/// bytes for each 32 values. Blocks with a NaN or infinity, or with magnitudes
/// above 8.3 million, get a scale that is none; those below 3.8e-6 vanish: that
/// is the range of half precision.
///
/// # Errors
/// [`ShapeError::NotBlocks`] unless the values are a multiple of 32,
/// [`ShapeError::Output`] unless `bytes` has 34 for each 32 of them.
///
/// ```
/// use rowpool_gemv::{self as gemv, Format, Matrix};
/// let mut bytes = [0; 2 * 34];
/// gemv::quantize_q8_0(&[0.5, -0.25].repeat(32), &mut bytes)?;
/// let mut back = [0.0; 64];
/// Matrix::new(Format::Q8_0, 1, 64, &bytes)?.dequantize(0, &mut back)?;
/// assert!((back[63] + 0.25).abs() < 0.002);
/// # Ok::<(), gemv::ShapeError>(())
/// ```
pub fn quantize_q8_0(values: &[f32], bytes: &mut [u8]) -> Result<(), ShapeError> {
    let expected = Format::Q8_0.row_bytes(values.len())?;
    if bytes.len() != expected {
        return Err(ShapeError::Output { expected, found: bytes.len() });
    }
    for (bytes, values) in bytes.chunks_exact_mut(34).zip(values.chunks_exact(32)) {
        let (scale, qs) = quantize_32(values.try_into().expect("chunks of 32"));
        bytes[..2].copy_from_slice(&scale.to_le_bytes());
        bytes[2..].copy_from_slice(&qs.map(|q| q as u8));
    }
    Ok(())
}
