//! The dot products, the same bits on every machine.
//!
//! What an instruction set does in its own way (`Isa`) is exact: integers, and
//! widening halves. All roundings are here, in an order that the number of
//! columns alone decides: not the rows that are computed together, not the
//! width, not the CPU.

#[cfg(target_arch = "aarch64")]
mod arm;
mod isa;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::round::{Block256, Block32, Rounded, X};
use crate::Format;
use isa::{bits, fetch, Element, Isa, AHEAD, BF16, F16, F32, LANES};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Rows computed together. A core that reads one stream waits for memory at
/// each page; over eight streams, far apart, these waits overlap. Adjacent rows
/// do not help: they share pages.
const STREAMS: usize = 8;
/// Columns of one row of floats before its neighbour's turn: long enough to pay
/// for the call, short enough for all streams to be fetched ahead.
const SEGMENT: usize = 128;

/// Kernels for one instruction set.
pub(super) struct Kernels {
    pub(super) name: &'static str,
    available: fn() -> bool,
    product: unsafe fn(Format, &[u8], X<'_>, &mut [f32]),
    round: unsafe fn(&[f32], Rounded<'_>),
}

impl Kernels {
    /// `y = w x` for rows whose bytes are `w`; the lengths fit.
    pub(super) fn product(&self, format: Format, w: &[u8], x: X<'_>, y: &mut [f32]) {
        // SAFETY: these are handed out by `usable` alone: the CPU has them.
        unsafe { (self.product)(format, w, x, y) }
    }

    /// Rounds whole blocks of values, in order.
    pub(super) fn round(&self, values: &[f32], to: Rounded<'_>) {
        // SAFETY: as above.
        unsafe { (self.round)(values, to) }
    }
}

/// Those that this CPU has, the fastest first.
fn usable() -> impl Iterator<Item = &'static Kernels> {
    ALL.iter().filter(|kernels| (kernels.available)())
}

/// The fastest, or those that `ROWPOOL_KERNELS` names.
pub(super) fn chosen() -> &'static Kernels {
    // No once-cell: a `fork()` child would wait in it for a parent's thread.
    static CHOSEN: AtomicPtr<Kernels> = AtomicPtr::new(std::ptr::null_mut());
    // Relaxed, both: what it points to was there before any thread.
    // SAFETY: null, or one of `ALL`, which are never written.
    if let Some(chosen) = unsafe { CHOSEN.load(Ordering::Relaxed).as_ref() } {
        return chosen;
    }
    let wish = std::env::var("ROWPOOL_KERNELS").unwrap_or_default();
    let named = usable().find(|kernels| kernels.name.eq_ignore_ascii_case(wish.trim()));
    let chosen = named.or(usable().next()).expect("the portable ones are usable");
    CHOSEN.store(std::ptr::from_ref(chosen).cast_mut(), Ordering::Relaxed);
    chosen
}

/// One entry for each, that compiles all of `generic` with its features.
macro_rules! kernels {
    ($($(#[$only:meta])* $name:literal: $isa:ty, [$($feature:tt),*], $product:ident, $round:ident;)*) => {
        static ALL: &[Kernels] = &[$($(#[$only])* Kernels {
            name: $name,
            available: || true $(&& detected!($feature))*,
            product: $product,
            round: $round,
        }),*];
        $(
            $(#[$only])*
            $(#[target_feature(enable = $feature)])*
            unsafe fn $product(format: Format, w: &[u8], x: X<'_>, y: &mut [f32]) {
                generic::<$isa>(format, w, x, y);
            }

            $(#[$only])*
            $(#[target_feature(enable = $feature)])*
            unsafe fn $round(values: &[f32], to: Rounded<'_>) {
                to.fill(values);
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! detected {
    ($feature:tt) => {
        std::arch::is_x86_feature_detected!($feature)
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! detected {
    ($feature:tt) => {
        std::arch::is_aarch64_feature_detected!($feature)
    };
}

kernels! {
    #[cfg(target_arch = "x86_64")]
    "avx512-vnni": x86::X86<x86::Vnni512>, ["avx2", "f16c", "avx512f", "avx512vl", "avx512vnni"], avx512_vnni, avx512_vnni_round;
    #[cfg(target_arch = "x86_64")]
    "avx-vnni": x86::X86<x86::Vnni>, ["avx2", "f16c", "avxvnni"], avx_vnni, avx_vnni_round;
    #[cfg(target_arch = "x86_64")]
    "avx2": x86::X86<x86::Avx2>, ["avx2", "f16c"], avx2, avx2_round;
    #[cfg(target_arch = "aarch64")]
    "dotprod": arm::DotProd, ["dotprod"], dotprod, dotprod_round;
    "portable": portable::Portable, [], portable_kernels, portable_round;
}

#[inline(always)]
fn generic<I: Isa>(format: Format, w: &[u8], x: X<'_>, y: &mut [f32]) {
    match format {
        Format::F32 => streams::<Floats<I, F32>>(w, x.0, y),
        Format::F16 => streams::<Floats<I, F16>>(w, x.0, y),
        Format::BF16 => streams::<Floats<I, BF16>>(w, x.0, y),
        Format::Q8_0 => streams::<Q8_0<I>>(w, x.1, y),
        Format::Q4_0 => streams::<Q4_0<I>>(w, x.1, y),
        Format::Q4K => streams::<Q4K<I>>(w, x.2, y),
        Format::Q5K => streams::<Q5K<I>>(w, x.2, y),
        Format::Q6K => streams::<Q6K<I>>(w, x.2, y),
    }
}

/// Rows of one format.
trait Rows {
    type X;
    /// `R` rows, each with as many bytes as `x` needs.
    fn dots<const R: usize>(rows: [&[u8]; R], x: &[Self::X]) -> [f32; R];
}

/// Takes the rows by eight, a part of them each, then one by one.
#[inline(always)]
fn streams<F: Rows>(w: &[u8], x: &[F::X], y: &mut [f32]) {
    let bytes = w.len() / y.len().max(1);
    let row = |i: usize| &w[i * bytes..][..bytes];
    let apart = y.len() / STREAMS;
    for first in 0..apart {
        let mut rows = [row(first); STREAMS];
        for (r, place) in rows.iter_mut().enumerate() {
            *place = row(first + r * apart);
        }
        for (r, value) in F::dots(rows, x).into_iter().enumerate() {
            y[first + r * apart] = value;
        }
    }
    for (i, y) in y.iter_mut().enumerate().skip(apart * STREAMS) {
        [*y] = F::dots([row(i)], x);
    }
}

/// Takes a block off the front of each row: costs no bounds checks later.
#[inline(always)]
fn next<'w, const R: usize, const N: usize>(rows: &mut [&'w [u8]; R]) -> [&'w [u8; N]; R] {
    let mut blocks = [&[0; N]; R];
    for (block, row) in blocks.iter_mut().zip(rows) {
        for line in 0..N.div_ceil(64) {
            fetch(row.as_ptr().wrapping_add(AHEAD + 64 * line));
        }
        (*block, *row) = row.split_first_chunk().expect("a row has x's blocks");
    }
    blocks
}

/// The half precision numbers at `at` of the blocks.
#[inline(always)]
fn halves<I: Isa, const R: usize, const N: usize>(blocks: [&[u8; N]; R], at: usize) -> [f32; R] {
    let mut halves = [0; R];
    for r in 0..R {
        halves[r] = bits(blocks[r], at);
    }
    I::halves(halves)
}

/// Block by block: an exact integer, times both scales, added in order.
macro_rules! scaled {
    ($rows:ident, $x:ty, $dots:ident, $bytes:literal, $scale_at:literal) => {
        struct $rows<I>(PhantomData<I>);

        impl<I: Isa> Rows for $rows<I> {
            type X = $x;
            #[inline(always)]
            fn dots<const R: usize>(mut rows: [&[u8]; R], x: &[$x]) -> [f32; R] {
                let mut values = [0.0; R];
                for x in x {
                    let blocks = next::<R, $bytes>(&mut rows);
                    let (sums, scales) =
                        (I::$dots(blocks, x), halves::<I, R, $bytes>(blocks, $scale_at));
                    for r in 0..R {
                        values[r] += sums[r] as f32 * (scales[r] * x.scale);
                    }
                }
                values
            }
        }
    };
}

scaled!(Q8_0, Block32, q8_0, 34, 0);
scaled!(Q4_0, Block32, q4_0, 18, 0);
scaled!(Q6K, Block256, q6_k, 210, 208);

/// As above, less the minima's part times their own scale.
macro_rules! with_minima {
    ($rows:ident, $dots:ident, $bytes:literal) => {
        struct $rows<I>(PhantomData<I>);

        impl<I: Isa> Rows for $rows<I> {
            type X = Block256;
            #[inline(always)]
            fn dots<const R: usize>(mut rows: [&[u8]; R], x: &[Block256]) -> [f32; R] {
                let mut values = [0.0; R];
                for x in x {
                    let blocks = next::<R, $bytes>(&mut rows);
                    let (sums, minima) = I::$dots(blocks, x);
                    let d = halves::<I, R, $bytes>(blocks, 0);
                    let dmin = halves::<I, R, $bytes>(blocks, 2);
                    for r in 0..R {
                        values[r] += sums[r] as f32 * (d[r] * x.scale)
                            - minima[r] as f32 * (dmin[r] * x.scale);
                    }
                }
                values
            }
        }
    };
}

with_minima!(Q4K, q4_k, 144);
with_minima!(Q5K, q5_k, 176);

struct Floats<I, E>(PhantomData<(I, E)>);

/// Column `c` goes to sum `c % LANES`; then the sums are added as a tree, and
/// the columns after the last whole `LANES` in order.
impl<I: Isa, E: Element> Rows for Floats<I, E> {
    type X = f32;
    #[inline(always)]
    fn dots<const R: usize>(rows: [&[u8]; R], x: &[f32]) -> [f32; R] {
        let whole = x.len() / LANES * LANES;
        let mut sums = [[0.0; LANES]; R];
        for start in (0..whole).step_by(SEGMENT) {
            let end = (start + SEGMENT).min(whole);
            for (sums, row) in sums.iter_mut().zip(rows) {
                I::segment::<E>(sums, &row[start * E::BYTES..end * E::BYTES], &x[start..end]);
            }
        }
        let mut values = [0.0; R];
        for ((value, sums), row) in values.iter_mut().zip(&mut sums).zip(rows) {
            let mut half = LANES / 2;
            while half > 0 {
                for lane in 0..half {
                    sums[lane] += sums[lane + half];
                }
                half /= 2;
            }
            *value = sums[0];
            for (w, x) in row[whole * E::BYTES..].chunks_exact(E::BYTES).zip(&x[whole..]) {
                *value += E::value(w) * x;
            }
        }
        values
    }
}

#[cfg(test)]
#[path = "../../tests/unit/kernels.rs"]
mod tests;
