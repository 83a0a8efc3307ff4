//! aarch64 with the dot product extension: sums of four products of bytes in
//! one instruction, by assembly, since its intrinsic is not stable. Without the
//! extension the portable kernels do, compiled for NEON.

#![allow(clippy::needless_range_loop, reason = "groups number several arrays")]

use super::isa::{Element, Isa, LANES};
use super::portable::{each, segment, Portable};
use crate::round::{Block256, Block32};
use crate::unpack::scales_and_minima;
use std::arch::aarch64::*;

pub(super) struct DotProd;

/// Adds four times four products.
///
/// # Safety
/// The CPU has the dot product extension.
#[inline(always)]
unsafe fn dot(mut sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: the contract; registers alone.
    unsafe {
        std::arch::asm!(
            ".arch_extension dotprod",
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) sum, in(vreg) a, in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> uint8x16_t {
    let bytes: &[u8; 16] = bytes[at..].first_chunk().expect("16 bytes");
    // SAFETY: 16 bytes to be read, at any address; NEON is aarch64's baseline.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline(always)]
fn load_signed(bytes: &[i8], at: usize) -> int8x16_t {
    let bytes: &[i8; 16] = bytes[at..].first_chunk().expect("16 values");
    // SAFETY: as above.
    unsafe { vld1q_s8(bytes.as_ptr()) }
}

/// Bits `by..` of each byte.
#[inline(always)]
fn right(values: uint8x16_t, by: usize) -> uint8x16_t {
    // SAFETY: NEON is aarch64's baseline; registers alone.
    unsafe { vshlq_u8(values, vdupq_n_s8(-(by as i8))) }
}

/// Q4_K and Q5_K: eight groups of 32, each times its scale.
#[inline(always)]
fn grouped<const R: usize, const N: usize>(w: [&[u8; N]; R], x: &Block256) -> ([i32; R], [i32; R]) {
    let (mut sums, mut minima) = ([0; R], [0; R]);
    for r in 0..R {
        let (scales, mins) = scales_and_minima(w[r][4..].first_chunk().expect("12 bytes"));
        // SAFETY: only below functions that enable the extension.
        unsafe {
            let mut sum = vdupq_n_s32(0);
            for group in 0..8 {
                let mut products = vdupq_n_s32(0);
                for half in [0, 16] {
                    let four = right(load(w[r], N - 128 + group / 2 * 32 + half), group % 2 * 4);
                    let mut q = vandq_u8(four, vdupq_n_u8(15));
                    if N == 176 {
                        let fifth = vandq_u8(right(load(w[r], 16 + half), group), vdupq_n_u8(1));
                        q = vorrq_u8(q, vshlq_n_u8::<4>(fifth));
                    }
                    let x = load_signed(&x.qs, group * 32 + half);
                    products = dot(products, vreinterpretq_s8_u8(q), x);
                }
                sum = vmlaq_n_s32(sum, products, i32::from(scales[group]));
            }
            sums[r] = vaddvq_s32(sum);
        }
        for group in 0..8 {
            let sum = x.sums[2 * group] + x.sums[2 * group + 1];
            minima[r] += i32::from(mins[group]) * i32::from(sum);
        }
    }
    (sums, minima)
}

impl Isa for DotProd {
    #[inline(always)]
    fn q8_0<const R: usize>(w: [&[u8; 34]; R], x: &Block32) -> [i32; R] {
        // SAFETY: only below functions that enable the extension.
        each(w, 0, |w| unsafe {
            let (low, high) = (load(w, 2), load(w, 18));
            let sum = dot(vdupq_n_s32(0), vreinterpretq_s8_u8(low), load_signed(&x.qs, 0));
            vaddvq_s32(dot(sum, vreinterpretq_s8_u8(high), load_signed(&x.qs, 16)))
        })
    }

    #[inline(always)]
    fn q4_0<const R: usize>(w: [&[u8; 18]; R], x: &Block32) -> [i32; R] {
        // SAFETY: as above.
        each(w, 0, |w| unsafe {
            let both = load(w, 2);
            let low = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
            let high = vreinterpretq_s8_u8(right(both, 4));
            let sum = dot(vdupq_n_s32(0), low, load_signed(&x.qs, 0));
            vaddvq_s32(dot(sum, high, load_signed(&x.qs, 16))) - 8 * x.sum
        })
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
        // SAFETY: as above.
        each(w, 0, |w| unsafe {
            let mut sum = vdupq_n_s32(0);
            for group in 0..16 {
                let (half, part, at) = (group / 8, group / 2 % 4, group % 2 * 16);
                let four = right(load(w, half * 64 + part % 2 * 32 + at), part / 2 * 4);
                let two = right(load(w, 128 + half * 32 + at), 2 * part);
                let two = vshlq_n_u8::<4>(vandq_u8(two, vdupq_n_u8(3)));
                let q = vorrq_u8(vandq_u8(four, vdupq_n_u8(15)), two);
                let q = vsubq_s8(vreinterpretq_s8_u8(q), vdupq_n_s8(32));
                let products = dot(vdupq_n_s32(0), q, load_signed(&x.qs, group * 16));
                sum = vmlaq_n_s32(sum, products, i32::from(w[192 + group] as i8));
            }
            vaddvq_s32(sum)
        })
    }

    #[inline(always)]
    fn halves<const R: usize>(bits: [u16; R]) -> [f32; R] {
        Portable::halves(bits)
    }

    #[inline(always)]
    fn segment<E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]) {
        segment::<Portable, E>(sums, w, x);
    }
}
