//! What the bytes of a block mean, plainly: the integers of each format, and
//! the values that they stand for. `block_q8_0` to `block_q6_K` of ggml-common.h.

use crate::f16::f16_to_f32;
use crate::Format;

/// The half precision number at the front of `bytes`.
#[inline(always)]
pub(crate) fn half(bytes: &[u8]) -> f32 {
    f16_to_f32(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// The upper half of a single precision number.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Q4_0, behind its scale: the low halves of 16 bytes, then the high ones; less
/// 8 is what they stand for.
#[inline(always)]
pub(crate) fn q4_0(block: &[u8; 18]) -> [i8; 32] {
    let mut q = [0; 32];
    for i in 0..16 {
        q[i] = (block[2 + i] & 15) as i8;
        q[16 + i] = (block[2 + i] >> 4) as i8;
    }
    q
}

/// The eight scales and eight minima of Q4_K and Q5_K, 6 bits each in 12 bytes:
/// the first four have a byte of their own, whose upper 2 bits are the upper
/// bits of the last four.
#[inline(always)]
pub(crate) fn scales_and_minima(packed: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = *packed;
    let a = u32::from_le_bytes([a0, a1, a2, a3]);
    let b = u32::from_le_bytes([b0, b1, b2, b3]);
    let c = u32::from_le_bytes([c0, c1, c2, c3]);
    let (low, high) = (0x3f3f_3f3f, 0x0303_0303);
    let pair = |first: u32, last: u32| (u64::from(last) << 32 | u64::from(first)).to_le_bytes();
    let scales = pair(a & low, (c & 0x0f0f_0f0f) | ((a >> 6) & high) << 4);
    let minima = pair(b & low, ((c >> 4) & 0x0f0f_0f0f) | ((b >> 6) & high) << 4);
    (scales, minima)
}

/// Q4_K's or Q5_K's values, 0 to 31. Groups of 32 share 32 bytes in pairs: the
/// low halves, then the high ones. Bit `g` of a byte of `high` is group `g`'s.
#[inline(always)]
pub(crate) fn q4_k(low: &[u8; 128], high: Option<&[u8; 32]>) -> [i8; 256] {
    let mut q = [0; 256];
    for group in 0..8 {
        for i in 0..32 {
            let four = low[group / 2 * 32 + i] >> (group % 2 * 4) & 15;
            let fifth = high.map_or(0, |high| high[i] >> group & 1);
            q[group * 32 + i] = (four | fifth << 4) as i8;
        }
    }
    q
}

/// Q6_K's values, 0 to 63; less 32 is what they stand for. In each half, group
/// `g` of 32 has its lower 4 bits in the low or high halves of 32 of 64 bytes,
/// and its upper 2 at bit `2 g` of 32 more.
#[inline(always)]
pub(crate) fn q6_k(low: &[u8; 128], high: &[u8; 64]) -> [i8; 256] {
    let mut q = [0; 256];
    for group in 0..8 {
        let (half, group) = (group / 4, group % 4);
        for i in 0..32 {
            let four = low[half * 64 + group % 2 * 32 + i] >> (group / 2 * 4) & 15;
            let two = high[half * 32 + i] >> (group * 2) & 3;
            q[(half * 4 + group) * 32 + i] = (four | two << 4) as i8;
        }
    }
    q
}

/// The fields of a Q4_K or Q5_K block behind `d` and `dmin`.
#[inline(always)]
pub(crate) fn q4_k_fields(block: &[u8]) -> (&[u8; 12], Option<&[u8; 32]>, &[u8; 128]) {
    let (packed, rest) = block[4..].split_first_chunk().expect("12 bytes of scales");
    let (high, low) = match rest.split_first_chunk() {
        Some((high, low)) if block.len() == 176 => (Some(high), low),
        _ => (None, rest),
    };
    (packed, high, low.try_into().expect("128 bytes of values"))
}

/// The values of one block, as ggml's `dequantize_row` functions compute them.
pub(crate) fn values(format: Format, block: &[u8], values: &mut [f32]) {
    let bits = || u16::from_le_bytes([block[0], block[1]]);
    match format {
        Format::F32 => values[0] = f32::from_le_bytes(block.try_into().expect("4 bytes")),
        Format::F16 => values[0] = f16_to_f32(bits()),
        Format::BF16 => values[0] = bf16_to_f32(bits()),
        Format::Q8_0 => {
            let d = half(block);
            values.iter_mut().zip(&block[2..]).for_each(|(v, q)| *v = f32::from(*q as i8) * d);
        }
        Format::Q4_0 => {
            let d = half(block);
            let q = q4_0(block.try_into().expect("18 bytes"));
            values.iter_mut().zip(q).for_each(|(v, q)| *v = f32::from(q - 8) * d);
        }
        Format::Q4K | Format::Q5K => {
            let (d, dmin) = (half(block), half(&block[2..]));
            let (packed, high, low) = q4_k_fields(block);
            let (scales, minima) = scales_and_minima(packed);
            for (i, (v, q)) in values.iter_mut().zip(q4_k(low, high)).enumerate() {
                let (scale, min) =
                    (d * f32::from(scales[i / 32]), dmin * f32::from(minima[i / 32]));
                *v = scale * f32::from(q) - min;
            }
        }
        Format::Q6K => {
            let (low, rest) = block.split_first_chunk().expect("128 bytes");
            let (high, rest) = rest.split_first_chunk().expect("64 bytes");
            let d = half(&rest[16..]);
            for (i, (v, q)) in values.iter_mut().zip(q6_k(low, high)).enumerate() {
                *v = d * f32::from(rest[i / 16] as i8) * f32::from(q - 32);
            }
        }
    }
}
