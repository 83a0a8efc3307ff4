//! x86-64: AVX2, and what its followers do better. Intrinsics, since the
//! compiler finds neither the instructions for products of bytes nor the sums
//! across eight rows (MEASUREMENTS, "kernels by intrinsics").
//!
//! Everything is inlined into functions of `mod.rs` that enable the features.

use super::isa::{Element, Isa, LANES};
use super::portable::{each, segment};
use crate::round::{Block256, Block32};
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// Products of bytes, and of pairs, in one family of instructions.
pub(super) trait Dot {
    /// Adds the sums of four products each, of bytes 0 to 255 and -127 to 127.
    ///
    /// # Safety
    /// The CPU has the features of the family.
    unsafe fn bytes(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i;
    /// Adds the sums of two products each, of 16 bits.
    ///
    /// # Safety
    /// As above.
    unsafe fn pairs(sum: __m256i, a: __m256i, b: __m256i) -> __m256i;
    /// Whether `bytes` takes all of 0 to 255; else 0 to 128.
    const WHOLE: bool;
}

pub(super) struct Avx2;
pub(super) struct Vnni;
pub(super) struct Vnni512;

impl Dot for Avx2 {
    const WHOLE: bool = false;
    #[inline(always)]
    unsafe fn bytes(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        // SAFETY: the contract; no pointers.
        unsafe {
            // Two times 128 times 127: within 16 bits.
            let pairs = _mm256_maddubs_epi16(unsigned, signed);
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }
    #[inline(always)]
    unsafe fn pairs(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the contract; no pointers.
        unsafe { _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)) }
    }
}

macro_rules! vnni {
    ($family:ident, $bytes:ident, $pairs:ident) => {
        impl Dot for $family {
            const WHOLE: bool = true;
            #[inline(always)]
            unsafe fn bytes(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
                // SAFETY: the contract; no pointers.
                unsafe { $bytes(sum, unsigned, signed) }
            }
            #[inline(always)]
            unsafe fn pairs(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
                // SAFETY: the contract; no pointers.
                unsafe { $pairs(sum, a, b) }
            }
        }
    };
}

vnni!(Vnni, _mm256_dpbusd_avx_epi32, _mm256_dpwssd_avx_epi32);
vnni!(Vnni512, _mm256_dpbusd_epi32, _mm256_dpwssd_epi32);

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes to be read, at any address.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load_signed(bytes: &[i8], at: usize) -> __m256i {
    let bytes: &[i8; 32] = bytes[at..].first_chunk().expect("32 values");
    // SAFETY: 32 bytes to be read, at any address.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load_half(bytes: &[u8]) -> __m128i {
    let bytes: &[u8; 16] = bytes.first_chunk().expect("16 bytes");
    // SAFETY: 16 bytes to be read, at any address.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline(always)]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("the block is long enough")
}

pub(super) struct X86<D>(PhantomData<D>);

/// The sums of the eight parts of each.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn totals<const R: usize>(sums: [__m256i; R]) -> [i32; R] {
    let mut totals = [0; R];
    // SAFETY: the contract; the store is to as many values.
    unsafe {
        if R == 8 {
            let mut fours = [sums[0]; 2];
            for (i, four) in fours.iter_mut().enumerate() {
                let left = _mm256_hadd_epi32(sums[4 * i], sums[4 * i + 1]);
                let right = _mm256_hadd_epi32(sums[4 * i + 2], sums[4 * i + 3]);
                *four = _mm256_hadd_epi32(left, right);
            }
            let low = _mm256_permute2x128_si256::<0x20>(fours[0], fours[1]);
            let high = _mm256_permute2x128_si256::<0x31>(fours[0], fours[1]);
            _mm256_storeu_si256(totals.as_mut_ptr().cast(), _mm256_add_epi32(low, high));
        } else {
            for r in 0..R {
                let low = _mm256_castsi256_si128(sums[r]);
                let four = _mm_add_epi32(low, _mm256_extracti128_si256::<1>(sums[r]));
                let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b1110>(four));
                let one = _mm_add_epi32(two, _mm_shuffle_epi32::<1>(two));
                totals[r] = _mm_cvtsi128_si32(one);
            }
        }
    }
    totals
}

/// Shuffles that give all 16-bit parts of a half the value of part `k`.
static SPREAD: [[u8; 32]; 8] = {
    let mut masks = [[0; 32]; 8];
    let mut at = 0;
    while at < 256 {
        masks[at / 32][at % 32] = (at / 32 * 2 + at % 2) as u8;
        at += 1;
    }
    masks
};

/// `SPREAD`, hidden from the compiler, which would make two instructions of each
/// such shuffle (a tenth of Q4_K's speed).
#[inline(always)]
fn spread() -> &'static [[u8; 32]; 8] {
    std::hint::black_box(&SPREAD)
}

/// Shifts to the left, or by -`by` to the right; for constants.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn shift(values: __m256i, by: i32) -> __m256i {
    // SAFETY: the contract; no pointers.
    unsafe {
        let (left, right) = (_mm_cvtsi32_si128(by), _mm_cvtsi32_si128(-by));
        if by < 0 {
            _mm256_srl_epi16(values, right)
        } else {
            _mm256_sll_epi16(values, left)
        }
    }
}

/// The scales, in 16 bits, in both halves; and minima times the sums of `x`,
/// which are in the upper half.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn scales_and_minima(block: &[u8], x_sums: __m256i) -> (__m256i, __m256i) {
    // SAFETY: the contract; no pointers.
    unsafe {
        // Four bytes each of scales, of minima, and of the last four of both.
        let packed = load_half(&block[4..]);
        let first = _mm_and_si128(packed, _mm_set1_epi8(0x3f));
        let last = _mm_srlv_epi32(_mm_shuffle_epi32::<0b1010>(packed), _mm_setr_epi32(0, 4, 0, 0));
        let last = _mm_and_si128(last, _mm_set1_epi8(0x0f));
        let upper = _mm_and_si128(_mm_srli_epi16::<2>(packed), _mm_set1_epi8(0x30));
        let both = _mm_unpacklo_epi32(first, _mm_or_si128(last, upper));
        let both = _mm256_cvtepu8_epi16(both);
        (_mm256_permute4x64_epi64::<0b0100_0100>(both), _mm256_madd_epi16(both, x_sums))
    }
}

/// Q4_K and Q5_K: eight groups of 32, each times its scale.
///
/// # Safety
/// The CPU has the features of `D`.
#[inline(always)]
unsafe fn grouped<D: Dot, const R: usize, const N: usize>(
    w: [&[u8; N]; R],
    x: &Block256,
) -> ([i32; R], [i32; R]) {
    // SAFETY: the contract; loads are of arrays as long as they are.
    unsafe {
        let zero = _mm256_setzero_si256();
        let masks = spread();
        // The sums of 16 in pairs are the sums of the groups.
        let sums: &[u8; 32] = &*x.sums.as_ptr().cast();
        let x_sums = _mm256_hadd_epi16(zero, load(sums));
        let x_sums = _mm256_permute4x64_epi64::<0b1101_0000>(x_sums);
        let (mut sums, mut minima) = ([zero; R], [zero; R]);
        for r in 0..R {
            let scales;
            (scales, minima[r]) = scales_and_minima(w[r], x_sums);
            let low: &[u8; 128] = chunk(w[r], N - 128);
            let mut parts = [zero; 2];
            for group in 0..8 {
                let four = load(chunk(low, group / 2 * 32));
                let four = if group % 2 == 0 { four } else { _mm256_srli_epi16::<4>(four) };
                let mut q = _mm256_and_si256(four, _mm256_set1_epi8(15));
                if N == 176 {
                    let fifth = shift(load(chunk(w[r], 16)), 4 - group as i32);
                    q = _mm256_or_si256(q, _mm256_and_si256(fifth, _mm256_set1_epi8(16)));
                }
                let products = _mm256_maddubs_epi16(q, load_signed(&x.qs, group * 32));
                let scale = _mm256_shuffle_epi8(scales, load(&masks[group]));
                parts[group % 2] = D::pairs(parts[group % 2], products, scale);
            }
            sums[r] = _mm256_add_epi32(parts[0], parts[1]);
        }
        (totals(sums), totals(minima))
    }
}

impl<D: Dot> Isa for X86<D> {
    #[inline(always)]
    fn q8_0<const R: usize>(w: [&[u8; 34]; R], x: &Block32) -> [i32; R] {
        // SAFETY: only below functions that enable the features of `D`.
        unsafe {
            let (zero, x_values) = (_mm256_setzero_si256(), load_signed(&x.qs, 0));
            let sums = each(w, zero, |w| {
                let w = load(chunk(w, 2));
                if D::WHOLE {
                    D::bytes(zero, _mm256_xor_si256(w, _mm256_set1_epi8(-128)), x_values)
                } else {
                    D::bytes(zero, _mm256_abs_epi8(w), _mm256_sign_epi8(x_values, w))
                }
            });
            // `w` was more by 128.
            let more = if D::WHOLE { 128 * x.sum } else { 0 };
            each(totals(sums), 0, |total| total - more)
        }
    }

    #[inline(always)]
    fn q4_0<const R: usize>(w: [&[u8; 18]; R], x: &Block32) -> [i32; R] {
        // SAFETY: as above; the store is to as many values.
        unsafe {
            let nibble = _mm256_set1_epi8(15);
            let (zero, x_values) = (_mm256_setzero_si256(), load_signed(&x.qs, 0));
            let mut sums = [0; R];
            if R == 8 {
                // Two rows in a vector: their sums are added in fewer steps.
                let low = _mm256_permute2x128_si256::<0x00>(x_values, x_values);
                let high = _mm256_permute2x128_si256::<0x11>(x_values, x_values);
                let mut pairs = [zero; 4];
                for r in 0..4 {
                    let both = _mm256_set_m128i(load_half(&w[r + 4][2..]), load_half(&w[r][2..]));
                    let q = _mm256_and_si256(both, nibble);
                    let sum = D::bytes(zero, q, low);
                    let q = _mm256_and_si256(_mm256_srli_epi16::<4>(both), nibble);
                    pairs[r] = D::bytes(sum, q, high);
                }
                let left = _mm256_hadd_epi32(pairs[0], pairs[1]);
                let right = _mm256_hadd_epi32(pairs[2], pairs[3]);
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), _mm256_hadd_epi32(left, right));
            } else {
                sums = totals(each(w, zero, |w| {
                    let both = load_half(&w[2..]);
                    let q = _mm256_set_m128i(_mm_srli_epi16::<4>(both), both);
                    D::bytes(zero, _mm256_and_si256(q, nibble), x_values)
                }));
            }
            each(sums, 0, |sum| sum - 8 * x.sum)
        }
    }

    #[inline(always)]
    fn q4_k<const R: usize>(w: [&[u8; 144]; R], x: &Block256) -> ([i32; R], [i32; R]) {
        // SAFETY: as above.
        unsafe { grouped::<D, R, 144>(w, x) }
    }

    #[inline(always)]
    fn q5_k<const R: usize>(w: [&[u8; 176]; R], x: &Block256) -> ([i32; R], [i32; R]) {
        // SAFETY: as above.
        unsafe { grouped::<D, R, 176>(w, x) }
    }

    #[inline(always)]
    fn q6_k<const R: usize>(w: [&[u8; 210]; R], x: &Block256) -> [i32; R] {
        // SAFETY: as above.
        unsafe {
            let zero = _mm256_setzero_si256();
            let masks = spread();
            let x_sums: &[u8; 32] = &*x.sums.as_ptr().cast();
            let x_sums = load(x_sums);
            // Scales of even groups of 16, then of odd ones.
            let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
            totals(each(w, zero, |w| {
                let scales = load_half(&w[192..]);
                // Values are less 32.
                let less = _mm256_madd_epi16(_mm256_cvtepi8_epi16(scales), x_sums);
                let scales = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, apart));
                let mut parts = [zero, _mm256_sub_epi32(zero, _mm256_slli_epi32::<5>(less))];
                for group in 0..8 {
                    let (half, part) = (group / 4, group % 4);
                    let four = load(chunk(w, half * 64 + part % 2 * 32));
                    let four = if part < 2 { four } else { _mm256_srli_epi16::<4>(four) };
                    let four = _mm256_and_si256(four, _mm256_set1_epi8(15));
                    let two = load(chunk(w, 128 + half * 32));
                    let two = shift(two, 4 - 2 * part as i32);
                    let two = _mm256_and_si256(two, _mm256_set1_epi8(0x30));
                    let q = _mm256_or_si256(four, two);
                    let products = _mm256_maddubs_epi16(q, load_signed(&x.qs, group * 32));
                    let scale = _mm256_shuffle_epi8(scales, load(&masks[group]));
                    parts[group % 2] = D::pairs(parts[group % 2], products, scale);
                }
                _mm256_add_epi32(parts[0], parts[1])
            }))
        }
    }

    #[inline(always)]
    fn halves<const R: usize>(bits: [u16; R]) -> [f32; R] {
        let mut values = [0.0; R];
        // SAFETY: as above; eight numbers are loaded and stored where there are eight.
        unsafe {
            if R == 8 {
                let bits = _mm_loadu_si128(bits.as_ptr().cast());
                _mm256_storeu_ps(values.as_mut_ptr(), _mm256_cvtph_ps(bits));
            } else {
                for r in 0..R {
                    let bits = _mm_cvtsi32_si128(i32::from(bits[r]));
                    values[r] = _mm_cvtss_f32(_mm_cvtph_ps(bits));
                }
            }
        }
        values
    }

    #[inline(always)]
    fn segment<E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]) {
        // SAFETY: as above.
        unsafe { segment_avx2::<E>(sums, w, x) }
    }
}

#[target_feature(enable = "avx2,f16c")]
#[inline(never)]
fn segment_avx2<E: Element>(sums: &mut [f32; LANES], w: &[u8], x: &[f32]) {
    segment::<X86<Avx2>, E>(sums, w, x);
}
