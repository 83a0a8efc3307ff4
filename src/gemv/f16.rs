//! Half precision as bits. Q8_0 scales are the only halves here, so two
//! functions stand in for a crate.

/// The value of a half precision number, exactly; NaN stays NaN.
///
/// ```
/// use rowpool::gemv::f16_to_f32;
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
/// use rowpool::gemv::{f16_to_f32, f32_to_f16};
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

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn every_half_has_its_value_and_comes_back() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            if theirs.is_nan() {
                assert!(ours.is_nan(), "{bits:#06x}");
                assert!(f16::from_bits(f32_to_f16(ours)).is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{bits:#06x}");
                assert_eq!(f32_to_f16(ours), bits);
            }
        }
    }

    fn same(value: f32) {
        let (ours, theirs) = (f32_to_f16(value), f16::from_f32(value));
        if value.is_nan() {
            assert!(f16::from_bits(ours).is_nan(), "{:#010x}", value.to_bits());
            assert_eq!(ours >> 15 == 1, value.is_sign_negative());
        } else {
            assert_eq!(ours, theirs.to_bits(), "{value:e} {:#010x}", value.to_bits());
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        // Every half, the middle to its neighbour, and one step either side of
        // both: all the places where rounding can go wrong.
        for bits in 0..=0x7bff {
            let (here, next) = (f16_to_f32(bits), f16_to_f32(bits + 1));
            let middle = if bits == 0x7bff { 65520.0 } else { (here + next) / 2.0 };
            for around in [here.to_bits(), middle.to_bits()] {
                for step in [0, 1, u32::MAX] {
                    let value = f32::from_bits(around.wrapping_add(step));
                    same(value);
                    same(-value);
                }
            }
        }
        // A stride through all of f32 that hits each exponent many times.
        for bits in (0..=u32::MAX).step_by(4093) {
            same(f32::from_bits(bits));
        }
    }

    #[test]
    fn the_ends() {
        for (value, bits) in [
            (0.0, 0x0000),
            (-0.0, 0x8000),
            (f32::MIN_POSITIVE, 0x0000),
            (2f32.powi(-25), 0x0000),
            (2f32.powi(-25) * 1.0001, 0x0001),
            (3.0 * 2f32.powi(-25), 0x0002),
            (65504.0, 0x7bff),
            (65519.996, 0x7bff),
            (65520.0, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (f32::NEG_INFINITY, 0xfc00),
            (f32::MAX, 0x7c00),
        ] {
            assert_eq!(f32_to_f16(value), bits, "{value:e}");
        }
    }
}
