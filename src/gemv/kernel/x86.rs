//! x86-64: AVX2, and what its followers do better. Intrinsics, since the
//! compiler finds neither the instructions for products of bytes nor the sums
//! across eight rows: Q8_0 takes 1.6 times, Q4_K three times as long without.
//!
//! Everything is inlined into functions of `mod.rs` that enable the features.

use super::super::input::{Block256, Block32};
use super::super::unpack::scales_and_minima;
use super::portable::segment;
use super::{Element, Isa, LANES};
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

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("the block is long enough")
}

pub(super) struct X86<D>(PhantomData<D>);

/// Q4_K and Q5_K: eight groups of 32, each times its scale.
///
/// # Safety
/// The CPU has the features of `D`.
#[inline(always)]
unsafe fn grouped<D: Dot>(
    packed: &[u8; 12],
    high: Option<&[u8; 32]>,
    low: &[u8; 128],
    x: &Block256,
) -> (__m256i, __m256i) {
    let (scales, minima) = scales_and_minima(packed);
    // SAFETY: the contract; loads are of arrays as long as they are.
    unsafe {
        let wide = |bytes: [u8; 8]| _mm_cvtepu8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(bytes)));
        let nibble = _mm256_set1_epi8(15);
        let scales = _mm256_broadcastsi128_si256(wide(scales));
        let mut sum = _mm256_setzero_si256();
        for group in 0..8 {
            let four = load(chunk(low, group / 2 * 32));
            let four = if group % 2 == 0 { four } else { _mm256_srli_epi16::<4>(four) };
            let mut q = _mm256_and_si256(four, nibble);
            if let Some(high) = high {
                let fifth = _mm256_set1_epi8(1 << group);
                let set = _mm256_cmpeq_epi8(_mm256_and_si256(load(high), fifth), fifth);
                q = _mm256_or_si256(q, _mm256_and_si256(set, _mm256_set1_epi8(16)));
            }
            let products = _mm256_maddubs_epi16(q, load_signed(&x.qs, group * 32));
            let scale =
                _mm256_shuffle_epi8(scales, _mm256_set1_epi16(0x100 + 0x202 * group as i16));
            sum = D::pairs(sum, products, scale);
        }
        // The sums of 16 in pairs are the sums of the groups.
        let sums: &[u8; 32] = &*x.sums.as_ptr().cast();
        let pairs = _mm256_madd_epi16(load(sums), _mm256_set1_epi16(1));
        let minima = _mm256_cvtepu16_epi32(wide(minima));
        (sum, _mm256_madd_epi16(pairs, minima))
    }
}

impl<D: Dot> Isa for X86<D> {
    type Sum = __m256i;

    const Q8_LESS: i32 = if D::WHOLE { 128 } else { 0 };

    #[inline(always)]
    fn totals<const R: usize>(sums: [__m256i; R]) -> [i32; R] {
        let mut totals = [0; R];
        // SAFETY: only below functions that enable the features of `D`; the
        // stores are to places as long as they are.
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
                let all = _mm256_add_epi32(low, high);
                _mm256_storeu_si256(totals.as_mut_ptr().cast(), all);
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

    #[inline(always)]
    fn halves<const R: usize>(bits: [u16; R]) -> [f32; R] {
        let mut values = [0.0; R];
        // SAFETY: as above.
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
    fn q8_0(w: &[u8; 34], x: &Block32) -> __m256i {
        // SAFETY: only below functions that enable the features of `D`.
        unsafe {
            let (w, x, zero) = (load(chunk(w, 2)), load_signed(&x.qs, 0), _mm256_setzero_si256());
            if D::WHOLE {
                // More by 128 in each product.
                D::bytes(zero, _mm256_xor_si256(w, _mm256_set1_epi8(-128)), x)
            } else {
                D::bytes(zero, _mm256_abs_epi8(w), _mm256_sign_epi8(x, w))
            }
        }
    }

    #[inline(always)]
    fn q4_0(w: &[u8; 18], x: &Block32) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let both = load_half(&w[2..]);
            let q = _mm256_set_m128i(_mm_srli_epi16::<4>(both), both);
            let q = _mm256_and_si256(q, _mm256_set1_epi8(15));
            D::bytes(_mm256_setzero_si256(), q, load_signed(&x.qs, 0))
        }
    }

    #[inline(always)]
    fn q4_k(w: &[u8; 144], x: &Block256) -> (__m256i, __m256i) {
        // SAFETY: as above.
        unsafe { grouped::<D>(chunk(w, 4), None, chunk(w, 16), x) }
    }

    #[inline(always)]
    fn q5_k(w: &[u8; 176], x: &Block256) -> (__m256i, __m256i) {
        // SAFETY: as above.
        unsafe { grouped::<D>(chunk(w, 4), Some(chunk(w, 16)), chunk(w, 48), x) }
    }

    #[inline(always)]
    fn q6_k(w: &[u8; 210], x: &Block256) -> __m256i {
        // SAFETY: as above.
        unsafe {
            // Scales of even groups of 16, then of odd ones.
            let scales = load_half(&w[192..]);
            let in_order = _mm256_cvtepi8_epi16(scales);
            let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
            let scales = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, apart));
            // Values are less 32.
            let sums: &[u8; 32] = &*x.sums.as_ptr().cast();
            let less = _mm256_madd_epi16(in_order, load(sums));
            let mut sum = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32::<5>(less));
            for group in 0..8 {
                let (half, part) = (group / 4, group % 4);
                let four = load(chunk(w, half * 64 + part % 2 * 32));
                let four = if part < 2 { four } else { _mm256_srli_epi16::<4>(four) };
                let four = _mm256_and_si256(four, _mm256_set1_epi8(15));
                let two = load(chunk(w, 128 + half * 32));
                let two = match part {
                    0 => _mm256_slli_epi16::<4>(two),
                    1 => _mm256_slli_epi16::<2>(two),
                    2 => two,
                    _ => _mm256_srli_epi16::<2>(two),
                };
                let two = _mm256_and_si256(two, _mm256_set1_epi8(0x30));
                let q = _mm256_or_si256(four, two);
                let products = _mm256_maddubs_epi16(q, load_signed(&x.qs, group * 32));
                let scale =
                    _mm256_shuffle_epi8(scales, _mm256_set1_epi16(0x100 + 0x202 * group as i16));
                sum = D::pairs(sum, products, scale);
            }
            sum
        }
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
