//! Rounding to int8 with a scale for each block, as ggml's references do.

use crate::f16::{f16_to_f32, f32_to_f16};

/// 32 values as ggml's Q8_0: int8 in -127 to 127 and one scale.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Block32 {
    pub(crate) qs: [i8; 32],
    pub(crate) scale: f32,
    pub(crate) sum: i32,
}

/// 256 values as ggml's Q8_K: int8 in -127 to 127 and one scale.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Block256 {
    pub(crate) qs: [i8; 256],
    /// Of each 16 values.
    pub(crate) sums: [i16; 16],
    pub(crate) scale: f32,
}

/// The values as they are, in blocks of 32, and of 256.
pub(crate) type X<'a> = (&'a [f32], &'a [Block32], &'a [Block256]);

/// Where rounded values go.
pub(crate) enum Rounded<'a> {
    By32(&'a mut Vec<Block32>),
    By256(&'a mut Vec<Block256>),
}

impl Rounded<'_> {
    /// Inlined into what each instruction set compiles. Without a fused
    /// multiply-add, which nothing here allows, the bits are the same in all.
    #[inline(always)]
    pub(crate) fn fill(self, values: &[f32]) {
        match self {
            Rounded::By32(blocks) => blocks.extend(values.as_chunks().0.iter().map(Block32::of)),
            Rounded::By256(blocks) => blocks.extend(values.as_chunks().0.iter().map(Block256::of)),
        }
    }
}

impl Block32 {
    #[inline(always)]
    fn of(values: &[f32; 32]) -> Block32 {
        let (scale, qs) = quantize_32(values);
        Block32 { qs, scale: f16_to_f32(scale), sum: qs.iter().map(|&q| i32::from(q)).sum() }
    }
}

impl Block256 {
    /// As ggml's reference: the scale is the value of largest magnitude (the
    /// first of them) over -127; values go to the nearest integer, ties to even.
    #[inline(always)]
    fn of(values: &[f32; 256]) -> Block256 {
        let mut block = Block256 { qs: [0; 256], sums: [0; 16], scale: 0.0 };
        let largest = largest(values);
        if largest >= f32::INFINITY.to_bits() {
            block.scale = f32::NAN;
            return block;
        }
        let first = values.iter().find(|value| value.to_bits() & !SIGN == largest);
        let inverse = -127.0 / first.expect("one is the largest");
        // Of a block of zeros, or below 3.8e-37.
        if !inverse.is_finite() {
            return block;
        }
        for (q, value) in block.qs.iter_mut().zip(values) {
            *q = (value * inverse + INTEGERS).to_bits() as i8;
        }
        for (sum, qs) in block.sums.iter_mut().zip(block.qs.chunks_exact(16)) {
            *sum = qs.iter().map(|&q| i16::from(q)).sum();
        }
        block.scale = 1.0 / inverse;
        block
    }
}

const SIGN: u32 = 1 << 31;

/// Added to this, a number is rounded to an integer, ties to even, which then
/// lies in the low bits. Additions vectorise everywhere; a conversion to an
/// integer does not (it saturates), and x86-64 has no rounding before SSE 4.1.
const INTEGERS: f32 = 12_582_912.0;

/// The bits of the largest magnitude. Magnitudes compare as their bits do, with
/// infinity and NaN on top.
#[inline(always)]
fn largest(values: &[f32]) -> u32 {
    values.iter().fold(0, |largest, value| largest.max(value.to_bits() & !SIGN))
}

/// C's `roundf`, in the low byte, for magnitudes up to 127 and a bit.
#[inline(always)]
fn round(value: f32) -> u32 {
    let even = value + INTEGERS;
    let rest = value - (even - INTEGERS);
    // A tie that went towards zero goes away from it.
    let up = u32::from(rest == 0.5 && value > 0.0);
    let down = u32::from(rest == -0.5 && value < 0.0);
    even.to_bits().wrapping_add(up).wrapping_sub(down)
}

/// Rounds 32 values as ggml's Q8_0 reference: the scale, as a half, is the
/// largest magnitude over 127; each value is multiplied by the inverse of the
/// scale as it was before its own rounding, and goes to the nearest integer,
/// ties away from zero. NaN or infinity make the scale NaN.
#[inline(always)]
pub(crate) fn quantize_32(values: &[f32; 32]) -> (u16, [i8; 32]) {
    let largest = largest(values);
    if largest >= f32::INFINITY.to_bits() {
        return (f32_to_f16(f32::NAN), [0; 32]);
    }
    let scale = f32::from_bits(largest) / 127.0;
    // Infinite for a scale of zero, and for some that are zero as halves.
    let inverse = 1.0 / scale;
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    let mut rounded = [0; 32];
    for (rounded, value) in rounded.iter_mut().zip(values) {
        *rounded = round(value * inverse);
    }
    (f32_to_f16(scale), rounded.map(|low| low as i8))
}
