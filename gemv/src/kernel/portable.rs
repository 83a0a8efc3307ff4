//! Plain Rust for the target that it is compiled for, and the reference of all
//! others: values as `unpack` has them, multiplied and added.

use super::isa::{fetch, Element, Isa, AHEAD, LANES};
use crate::f16::f16_to_f32;
use crate::round::{Block256, Block32};
use crate::unpack::{q4_0, q4_k, q4_k_fields, q6_k, scales_and_minima};

pub(super) struct Portable;

/// The largest sums are within 2^31: 256 values of 63 or 127 times 127 or 128 times
/// scales of 63 or 128.
#[inline(always)]
fn dot(w: &[i8], x: &[i8]) -> i32 {
    w.iter().zip(x).map(|(&w, &x)| i32::from(w) * i32::from(x)).sum()
}

/// Not `array::map`, which is not always inlined into code for more features.
#[inline(always)]
pub(super) fn each<const R: usize, W: Copy, T: Copy>(
    w: [W; R],
    zero: T,
    f: impl Fn(W) -> T,
) -> [T; R] {
    let mut all = [zero; R];
    for r in 0..R {
        all[r] = f(w[r]);
    }
    all
}

#[inline(always)]
fn grouped<const R: usize, const N: usize>(w: [&[u8; N]; R], x: &Block256) -> ([i32; R], [i32; R]) {
    let (mut sums, mut minima) = ([0; R], [0; R]);
    for r in 0..R {
        let (packed, high, low) = q4_k_fields(w[r]);
        let (scales, mins) = scales_and_minima(packed);
        let q = q4_k(low, high);
        for group in 0..8 {
            let values = group * 32..group * 32 + 32;
            sums[r] += i32::from(scales[group]) * dot(&q[values.clone()], &x.qs[values]);
            let sum = x.sums[2 * group] + x.sums[2 * group + 1];
            minima[r] += i32::from(mins[group]) * i32::from(sum);
        }
    }
    (sums, minima)
}

impl Isa for Portable {
    #[inline(always)]
    fn q8_0<const R: usize>(w: [&[u8; 34]; R], x: &Block32) -> [i32; R] {
        each(w, 0, |w| {
            let mut q = [0; 32];
            for i in 0..32 {
                q[i] = w[2 + i] as i8;
            }
            dot(&q, &x.qs)
        })
    }

    #[inline(always)]
    fn q4_0<const R: usize>(w: [&[u8; 18]; R], x: &Block32) -> [i32; R] {
        each(w, 0, |w| dot(&q4_0(w), &x.qs) - 8 * x.sum)
    }

    #[inline(always)]
    fn q4_k<const R: usize>(w: [&[u8; 144]; R], x: &Block256) -> ([i32; R], [i32; R]) {
        grouped(w, x)
    }

    #[inline(always)]
    fn q5_k<const R: usize>(w: [&[u8; 176]; R], x: &Block256) -> ([i32; R], [i32; R]) {
        grouped(w, x)
    }

    #[inline(always)]
    fn q6_k<const R: usize>(w: [&[u8; 210]; R], x: &Block256) -> [i32; R] {
        each(w, 0, |w| {
            let (low, rest) = w.split_first_chunk().expect("128 bytes");
            let (high, rest) = rest.split_first_chunk().expect("64 bytes");
            let q = q6_k(low, high);
            let mut sum = 0;
            for (group, (q, qs)) in q.chunks_exact(16).zip(x.qs.chunks_exact(16)).enumerate() {
                let dot = dot(q, qs) - 32 * i32::from(x.sums[group]);
                sum += i32::from(rest[group] as i8) * dot;
            }
            sum
        })
    }

    #[inline(always)]
    fn halves<const R: usize>(bits: [u16; R]) -> [f32; R] {
        each(bits, 0.0, f16_to_f32)
    }

    /// Not inlined: beside other rows the compiler mixes their sums into poor
    /// vectors (MEASUREMENTS, "sums in vectors").
    #[inline(never)]
    fn segment<E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]) {
        segment::<Portable, E>(sums, w, x);
    }
}

/// For every instruction set to compile for itself.
#[inline(always)]
pub(super) fn segment<I: Isa, E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]) {
    let mut lanes = *sums;
    for (w, x) in w.chunks_exact(LANES * E::BYTES).zip(x.chunks_exact(LANES)) {
        for line in 0..LANES * E::BYTES / 64 {
            fetch(w.as_ptr().wrapping_add(AHEAD + 64 * line));
        }
        for (i, w) in w.chunks_exact(8 * E::BYTES).enumerate() {
            let w = E::eight::<I>(w);
            for k in 0..8 {
                lanes[8 * i + k] += w[k] * x[8 * i + k];
            }
        }
    }
    *sums = lanes;
}
