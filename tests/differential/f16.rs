//! Half precision against the crate `half`: every half, and where f32 are rounded.

use half::f16;
use rowpool_gemv::{f16_to_f32, f32_to_f16};

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
