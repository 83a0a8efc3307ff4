//! Q8_0, ggml's 8-bit format: blocks of 32 int8 that share one scale.

use super::{f16_to_f32, f32_to_f16, ShapeError};

/// Values in a Q8_0 block.
///
/// ```
/// assert_eq!(rowpool::gemv::BLOCK, 32);
/// ```
pub const BLOCK: usize = 32;

/// Bytes of a Q8_0 block: a half precision scale and 32 int8.
///
/// ```
/// use rowpool::gemv::{BlockQ8_0, BLOCK_BYTES};
/// assert_eq!(size_of::<BlockQ8_0>(), BLOCK_BYTES);
/// ```
pub const BLOCK_BYTES: usize = 34;

/// 32 values as ggml stores them (`block_q8_0`): value `i` is `qs[i]` times the
/// scale. As bytes, so that it needs no alignment and reads the same on a
/// big-endian machine.
///
/// ```
/// use rowpool::gemv::BlockQ8_0;
/// let mut values = [0.0; 32];
/// values[0] = 127.0;
/// values[1] = -63.5; // a tie goes away from zero
/// let block = BlockQ8_0::quantize(&values);
/// assert_eq!(block.scale(), 1.0);
/// assert_eq!(block.qs[..3], [127, -64, 0]);
/// assert_eq!(block.to_bytes()[..4], [0x00, 0x3c, 127, 192]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockQ8_0 {
    /// The scale: a half precision number, its low byte first.
    pub d: [u8; 2],
    /// The values divided by the scale.
    pub qs: [i8; BLOCK],
}

impl BlockQ8_0 {
    /// 32 zeros.
    ///
    /// ```
    /// assert_eq!(rowpool::gemv::BlockQ8_0::ZERO.dequantize(), [0.0; 32]);
    /// ```
    pub const ZERO: BlockQ8_0 = BlockQ8_0 { d: [0; 2], qs: [0; BLOCK] };

    /// Rounds 32 values as ggml's reference does: the scale is the largest
    /// magnitude over 127, rounded to half precision; each value is multiplied
    /// by the inverse of the scale as it was before that, and goes to the
    /// nearest integer, ties away from zero.
    ///
    /// A NaN or infinity among the values makes the scale NaN, so that it shows
    /// in every product with the block. Magnitudes above 8.3 million make it
    /// infinite, those of blocks below 3.8e-6 vanish: that is the range of half
    /// precision.
    ///
    /// ```
    /// use rowpool::gemv::BlockQ8_0;
    /// let mut values = [0.5; 32];
    /// assert_eq!(BlockQ8_0::quantize(&values).qs, [127; 32]);
    /// values[7] = f32::NAN;
    /// assert!(BlockQ8_0::quantize(&values).scale().is_nan());
    /// ```
    #[inline]
    #[must_use]
    pub fn quantize(values: &[f32; BLOCK]) -> BlockQ8_0 {
        // Magnitudes compare as their bits do, with infinity and NaN on top.
        let mut largest = 0;
        for value in values {
            largest = largest.max(value.to_bits() & 0x7fff_ffff);
        }
        if largest >= f32::INFINITY.to_bits() {
            return BlockQ8_0 { d: f32_to_f16(f32::NAN).to_le_bytes(), qs: [0; BLOCK] };
        }
        let scale = f32::from_bits(largest) / 127.0;
        // Infinite for a scale of zero, and for some that are zero as halves.
        let inverse = 1.0 / scale;
        let inverse = if inverse.is_finite() { inverse } else { 0.0 };
        let mut rounded = [0; BLOCK];
        for (rounded, value) in rounded.iter_mut().zip(values) {
            *rounded = round(value * inverse);
        }
        BlockQ8_0 { d: f32_to_f16(scale).to_le_bytes(), qs: rounded.map(|low| low as i8) }
    }

    /// The 32 values that the block stands for.
    ///
    /// ```
    /// use rowpool::gemv::BlockQ8_0;
    /// let values = std::array::from_fn(|i| i as f32 * 0.25);
    /// let back = BlockQ8_0::quantize(&values).dequantize();
    /// for (value, back) in values.iter().zip(&back) {
    ///     assert!((value - back).abs() < 0.04);
    /// }
    /// ```
    #[must_use]
    pub fn dequantize(&self) -> [f32; BLOCK] {
        let scale = self.scale();
        self.qs.map(|q| f32::from(q) * scale)
    }

    /// The scale as a number.
    ///
    /// ```
    /// use rowpool::gemv::BlockQ8_0;
    /// assert_eq!(BlockQ8_0 { d: [0x00, 0x38], qs: [1; 32] }.scale(), 0.5);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn scale(&self) -> f32 {
        f16_to_f32(u16::from_le_bytes(self.d))
    }

    /// The block as it lies in a GGUF file.
    ///
    /// ```
    /// use rowpool::gemv::BlockQ8_0;
    /// let block = BlockQ8_0 { d: [1, 2], qs: [-1; 32] };
    /// assert_eq!(BlockQ8_0::from_bytes(&block.to_bytes()), block);
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> [u8; BLOCK_BYTES] {
        let mut bytes = [0; BLOCK_BYTES];
        let (d, qs) = bytes.split_at_mut(2);
        d.copy_from_slice(&self.d);
        for (byte, q) in qs.iter_mut().zip(self.qs) {
            *byte = q as u8;
        }
        bytes
    }

    /// The block that lies in a GGUF file.
    ///
    /// ```
    /// use rowpool::gemv::BlockQ8_0;
    /// assert_eq!(BlockQ8_0::from_bytes(&[255; 34]).qs, [-1; 32]);
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: &[u8; BLOCK_BYTES]) -> BlockQ8_0 {
        BlockQ8_0 { d: [bytes[0], bytes[1]], qs: std::array::from_fn(|i| bytes[i + 2] as i8) }
    }
}

/// C's `roundf`, in the low byte, for magnitudes up to 127 and a bit. By
/// additions, which vectorise everywhere: a conversion to an integer does not
/// (it saturates), and x86-64 has no rounding instruction before SSE 4.1.
#[inline(always)]
fn round(value: f32) -> u32 {
    // Added to this, a number is rounded to an integer, ties to even, which
    // then lies in the low bits.
    const INTEGERS: f32 = 12_582_912.0;
    let even = value + INTEGERS;
    let rest = value - (even - INTEGERS);
    // A tie that went towards zero goes away from it.
    let up = u32::from(rest == 0.5 && value > 0.0);
    let down = u32::from(rest == -0.5 && value < 0.0);
    even.to_bits().wrapping_add(up).wrapping_sub(down)
}

fn blocks_in(len: usize) -> Result<usize, ShapeError> {
    if len % BLOCK == 0 {
        Ok(len / BLOCK)
    } else {
        Err(ShapeError::NotBlocks { format: super::Format::Q8_0, cols: len })
    }
}

/// Rounds an input vector `x` for [`q8_0`](super::q8_0), block by block with
/// [`BlockQ8_0::quantize`]; 0.7 ns a value with AVX2 or AVX-512, 1 ns with SSE2 (2.x GHz
/// Xeon); no allocation.
///
/// # Errors
/// [`ShapeError::NotBlocks`] unless the values are a multiple of 32,
/// [`ShapeError::Output`] unless `blocks` has one for each 32 of them.
///
/// ```
/// use rowpool::gemv::{self, BlockQ8_0, ShapeError};
/// let mut blocks = [BlockQ8_0::ZERO; 2];
/// gemv::quantize(&[2.54; 64], &mut blocks)?;
/// assert_eq!(blocks[1].qs, [127; 32]);
/// assert!(gemv::quantize(&[2.54; 65], &mut blocks).is_err());
/// # Ok::<(), ShapeError>(())
/// ```
pub fn quantize(values: &[f32], blocks: &mut [BlockQ8_0]) -> Result<(), ShapeError> {
    let expected = blocks_in(values.len())?;
    if blocks.len() != expected {
        return Err(ShapeError::Output { expected, found: blocks.len() });
    }
    for (block, values) in blocks.iter_mut().zip(values.chunks_exact(BLOCK)) {
        *block = BlockQ8_0::quantize(values.try_into().expect("chunks of 32"));
    }
    Ok(())
}

/// Rounds weights to the bytes of a Q8_0 tensor, as a GGUF file holds them and
/// [`q8_0`](super::q8_0) takes them: 34 bytes for each 32 values.
///
/// # Errors
/// [`ShapeError::NotBlocks`] unless the values are a multiple of 32,
/// [`ShapeError::Output`] unless `bytes` has 34 for each 32 of them.
///
/// ```
/// use rowpool::gemv::{self, ShapeError};
/// let weights = [0.5, -0.25].repeat(32);
/// let mut bytes = [0; 2 * 34];
/// gemv::quantize_weights(&weights, &mut bytes)?;
/// let mut back = [0.0; 64];
/// gemv::dequantize_weights(&bytes, &mut back)?;
/// assert!((back[63] + 0.25).abs() < 0.002);
/// # Ok::<(), ShapeError>(())
/// ```
pub fn quantize_weights(values: &[f32], bytes: &mut [u8]) -> Result<(), ShapeError> {
    let expected = blocks_in(values.len())? * BLOCK_BYTES;
    if bytes.len() != expected {
        return Err(ShapeError::Output { expected, found: bytes.len() });
    }
    for (bytes, values) in bytes.chunks_exact_mut(BLOCK_BYTES).zip(values.chunks_exact(BLOCK)) {
        let block = BlockQ8_0::quantize(values.try_into().expect("chunks of 32"));
        bytes.copy_from_slice(&block.to_bytes());
    }
    Ok(())
}

/// The values of a Q8_0 tensor's bytes: the inverse of [`quantize_weights`].
///
/// # Errors
/// [`ShapeError::NotBlocks`] unless `values` is a multiple of 32 long,
/// [`ShapeError::Output`] unless the bytes are 34 for each 32 of them.
///
/// ```
/// use rowpool::gemv::{self, BlockQ8_0, ShapeError};
/// let mut values = [0.0; 32];
/// gemv::dequantize_weights(&BlockQ8_0 { d: [0x00, 0x3c], qs: [3; 32] }.to_bytes(), &mut values)?;
/// assert_eq!(values, [3.0; 32]);
/// # Ok::<(), ShapeError>(())
/// ```
pub fn dequantize_weights(bytes: &[u8], values: &mut [f32]) -> Result<(), ShapeError> {
    let blocks = blocks_in(values.len())?;
    if bytes.len() != blocks * BLOCK_BYTES {
        let expected = bytes.len() / BLOCK_BYTES * BLOCK;
        return Err(ShapeError::Output { expected, found: values.len() });
    }
    for (values, bytes) in values.chunks_exact_mut(BLOCK).zip(bytes.chunks_exact(BLOCK_BYTES)) {
        let block = BlockQ8_0::from_bytes(bytes.try_into().expect("chunks of 34"));
        values.copy_from_slice(&block.dequantize());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_roundf() {
        for step in -254..=254 {
            let bits = (step as f32 / 2.0).to_bits();
            for value in [bits.wrapping_sub(1), bits, bits + 1].map(f32::from_bits) {
                if value.is_nan() {
                    continue;
                }
                assert_eq!(round(value) as i8, value.round() as i8, "{value:?}");
            }
        }
        assert_eq!(round(0.499_999_97) as i8, 0);
        assert_eq!(round(-0.0) as i8, 0);
    }

    #[test]
    fn blocks_are_ggmls() {
        // By hand after quantize_row_q8_0_ref of ggml-quants.c: amax 254,
        // d = 2, id = 0.5.
        let mut values = [0.0; BLOCK];
        values[..9].copy_from_slice(&[-254.0, 1.0, -1.0, 3.0, -5.0, 253.0, 0.99, -0.99, 252.9]);
        let block = BlockQ8_0::quantize(&values);
        assert_eq!(block.d, [0x00, 0x40]);
        assert_eq!(block.qs[..9], [-127, 1, -1, 2, -3, 127, 0, 0, 126]);
        assert_eq!(block.qs[9..], [0; 23]);

        // amax 1: d = 1/127 = 0.00787401..., whose half is 0x2008; the values
        // are divided by the d before that rounding, so 1 stays 127.
        let mut values = [0.0; BLOCK];
        values[..5].copy_from_slice(&[1.0, -1.0, 0.5, 0.003_937, 0.0039]);
        let block = BlockQ8_0::quantize(&values);
        assert_eq!(block.d, 0x2008u16.to_le_bytes());
        assert_eq!(block.qs[..6], [127, -127, 64, 0, 0, 0]);
    }

    #[test]
    fn blocks_match_a_plain_transcription() {
        let mut seed = 1u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        for round in 0..20_000 {
            let size = 10f32.powi(round % 12 - 5);
            let values: [f32; BLOCK] = std::array::from_fn(|_| next() * size);
            let amax = values.iter().fold(0f32, |amax, v| amax.max(v.abs()));
            let d = amax / 127.0;
            let id = if d != 0.0 { 1.0 / d } else { 0.0 };
            let block = BlockQ8_0::quantize(&values);
            assert_eq!(u16::from_le_bytes(block.d), f32_to_f16(d));
            assert_eq!(block.qs, values.map(|v| (v * id).round() as i8), "{values:?}");
        }
    }

    #[test]
    fn ends_of_the_range() {
        let all = |value: f32| BlockQ8_0::quantize(&[value; BLOCK]);
        assert_eq!(all(0.0), BlockQ8_0::ZERO);
        assert_eq!(all(-0.0), BlockQ8_0::ZERO);
        for poison in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in 0..BLOCK {
                let mut values = [1.0; BLOCK];
                values[place] = poison;
                assert!(BlockQ8_0::quantize(&values).scale().is_nan(), "{poison} at {place}");
            }
        }
        // Scales beyond half precision: infinite above, zero below.
        assert_eq!(all(8.0e6).scale(), 63_008.0);
        assert_eq!(all(8.4e6).scale(), f32::INFINITY);
        assert_eq!(all(f32::MAX).scale(), f32::INFINITY);
        assert_eq!(all(f32::MAX).qs, [127; BLOCK]);
        for tiny in [3.7e-6, 1e-30, 1e-38, f32::MIN_POSITIVE, f32::from_bits(1)] {
            assert_eq!(all(tiny).dequantize(), [0.0; BLOCK], "{tiny:e}");
        }
        assert_ne!(all(4e-6).scale(), 0.0);
    }

    #[test]
    fn buffers_must_fit() {
        let mut blocks = [BlockQ8_0::ZERO; 2];
        assert_eq!(
            quantize(&[0.0; 33], &mut blocks),
            Err(ShapeError::NotBlocks { format: crate::gemv::Format::Q8_0, cols: 33 })
        );
        let short = Err(ShapeError::Output { expected: 3, found: 2 });
        assert_eq!(quantize(&[0.0; 96], &mut blocks), short);
        assert_eq!(quantize(&[], &mut []), Ok(()));
        let mut bytes = [0; 67];
        let short = Err(ShapeError::Output { expected: 68, found: 67 });
        assert_eq!(quantize_weights(&[0.0; 64], &mut bytes), short);
        let mut values = [0.0; 64];
        let long = Err(ShapeError::Output { expected: 32, found: 64 });
        assert_eq!(dequantize_weights(&bytes, &mut values), long);
        assert_eq!(
            dequantize_weights(&bytes, &mut values[..31]),
            Err(ShapeError::NotBlocks { format: crate::gemv::Format::Q8_0, cols: 31 })
        );
    }

    #[test]
    fn weights_come_back() {
        let values: Vec<f32> = (0..640).map(|i| (i as f32 * 0.37).sin() * 3.0).collect();
        let mut bytes = vec![0; 640 / BLOCK * BLOCK_BYTES];
        quantize_weights(&values, &mut bytes).unwrap();
        let mut back = vec![0.0; 640];
        dequantize_weights(&bytes, &mut back).unwrap();
        for (value, back) in values.iter().zip(&back) {
            // Half a step, and a half precision scale.
            assert!((value - back).abs() <= 3.0 / 127.0 * 0.5 + 3.0 / 2048.0, "{value} {back}");
        }
    }
}
