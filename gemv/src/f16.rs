//! Half precision as bits. Q8_0 scales are the only halves here, so two
//! functions stand in for a crate.

/// The value of a half precision number, exactly; NaN stays NaN.
///
/// ```
/// use rowpool_gemv::f16_to_f32;
/// assert_eq!(f16_to_f32(0x3c00), 1.0);
/// assert_eq!(f16_to_f32(0x0001), 2f32.powi(-24)); // the smallest subnormal
/// assert!(f16_to_f32(0x7e00).is_nan());
/// ```
#[inline(always)]
#[must_use]
pub fn f16_to_f32(bits: u16) -> f32 {
    // Branchless, so that it vectorises, and without a subnormal f32 on the
    // path that is taken, so that flush-to-zero changes nothing.
    let wide = u32::from(bits) << 16;
    let sign = wide & 0x8000_0000;
    let magnitude = wide << 1;
    // Normal: move the exponent by adding 224 to it and multiplying by 2^-112,
    // which carries infinity and NaN to 255.
    let normal = f32::from_bits((magnitude >> 4) + (0xe0 << 23)) * f32::from_bits(15 << 23);
    // Subnormal: as the low mantissa bits of 0.5, which is then taken off.
    let subnormal = f32::from_bits((magnitude >> 17) | (126 << 23)) - 0.5;
    let value = if magnitude < 1 << 27 { subnormal } else { normal };
    f32::from_bits(sign | value.to_bits())
}

/// The nearest half precision number, ties to even, as ggml and the hardware
/// round. Beyond 65 504 it is infinite from 65 520 on; NaN stays NaN.
///
/// ```
/// use rowpool_gemv::{f16_to_f32, f32_to_f16};
/// assert_eq!(f32_to_f16(1.0), 0x3c00);
/// assert_eq!(f16_to_f32(f32_to_f16(65519.0)), 65504.0);
/// assert_eq!(f16_to_f32(f32_to_f16(-65520.0)), f32::NEG_INFINITY);
/// ```
#[inline]
#[must_use]
pub fn f32_to_f16(value: f32) -> u16 {
    // Integers only: what flush-to-zero would do to subnormals does not matter.
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | (magnitude >> 13) & 0x3ff
    } else if magnitude >= (127 + 16) << 23 {
        0x7c00
    } else if magnitude >= (127 - 14) << 23 {
        // The exponent moves from a bias of 127 to one of 15; a mantissa that
        // rounds up carries into it, up to infinity.
        shift_to_even(magnitude - ((127 - 15) << 23), 13)
    } else {
        // 2^-24 steps; below half of one nothing is left.
        let exponent = magnitude >> 23;
        let mantissa = magnitude & 0x7f_ffff | 0x80_0000;
        if exponent < 127 - 25 {
            0
        } else {
            shift_to_even(mantissa, 126 - exponent)
        }
    };
    sign | half as u16
}

/// `value / 2^shift`, rounded to nearest, ties to even; `shift` is 1 to 24.
fn shift_to_even(value: u32, shift: u32) -> u32 {
    let odd = (value >> shift) & 1;
    (value + (1 << (shift - 1)) - 1 + odd) >> shift
}
