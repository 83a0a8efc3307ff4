//! What an instruction set does in its own way: integers, which are exact, and the
//! products of floats that lie beside each other.

use crate::f16::f16_to_f32;
use crate::round::{Block256, Block32};
use crate::unpack::bf16_to_f32;

/// Sums of a row of floats: keep the adders busy at any vector width.
pub(super) const LANES: usize = 32;
/// How far ahead of its use a stream is asked for. The CPU does so by itself, but
/// not across pages (MEASUREMENTS, "streams ahead").
pub(super) const AHEAD: usize = 1024;

/// Starts fetching the line of `place`, where the CPU can be told.
#[inline(always)]
pub(super) fn fetch(place: *const u8) {
    // SAFETY: a prefetch is a hint: it changes no value and raises no fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// The exact part of the products, for `R` rows at once.
pub(super) trait Isa {
    /// Values times values.
    fn q8_0<const R: usize>(w: [&[u8; 34]; R], x: &Block32) -> [i32; R];
    /// Values times values.
    fn q4_0<const R: usize>(w: [&[u8; 18]; R], x: &Block32) -> [i32; R];
    /// Values times values times the group's scale, and the sum of `x` times the
    /// group's minimum.
    fn q4_k<const R: usize>(w: [&[u8; 144]; R], x: &Block256) -> ([i32; R], [i32; R]);
    /// The same.
    fn q5_k<const R: usize>(w: [&[u8; 176]; R], x: &Block256) -> ([i32; R], [i32; R]);
    /// Values times values times the group's scale.
    fn q6_k<const R: usize>(w: [&[u8; 210]; R], x: &Block256) -> [i32; R];

    /// What `bits` are; a NaN is some NaN.
    fn halves<const R: usize>(bits: [u16; R]) -> [f32; R];

    /// Adds the products of a segment, whole `LANES`, to the sums.
    fn segment<E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]);
}

#[inline(always)]
pub(super) fn bits(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// A float as it lies in memory.
pub(super) trait Element {
    const BYTES: usize;
    fn value(bytes: &[u8]) -> f32;
    /// Eight of them.
    #[inline(always)]
    fn eight<I: Isa>(bytes: &[u8]) -> [f32; 8] {
        let mut values = [0.0; 8];
        for (k, value) in values.iter_mut().enumerate() {
            *value = Self::value(&bytes[k * Self::BYTES..][..Self::BYTES]);
        }
        values
    }
}

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct BF16;

impl Element for F32 {
    const BYTES: usize = 4;
    #[inline(always)]
    fn value(bytes: &[u8]) -> f32 {
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

impl Element for F16 {
    const BYTES: usize = 2;
    #[inline(always)]
    fn value(bytes: &[u8]) -> f32 {
        f16_to_f32(bits(bytes, 0))
    }
    #[inline(always)]
    fn eight<I: Isa>(bytes: &[u8]) -> [f32; 8] {
        let mut halves = [0; 8];
        for (k, half) in halves.iter_mut().enumerate() {
            *half = bits(bytes, 2 * k);
        }
        I::halves(halves)
    }
}

impl Element for BF16 {
    const BYTES: usize = 2;
    #[inline(always)]
    fn value(bytes: &[u8]) -> f32 {
        bf16_to_f32(bits(bytes, 0))
    }
}
