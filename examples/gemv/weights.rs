//! A matrix's weights in one of the two formats, and the product with them.

use rowpool::gemv::{self, BlockQ8_0, ShapeError, BLOCK, BLOCK_BYTES};
use rowpool::Pool;

use crate::model::Matrix;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Q8_0,
    F32,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Q8_0 => "Q8_0",
            Format::F32 => "f32",
        }
    }

    /// Bytes of a matrix; `usize::MAX` if that is not enough.
    pub fn bytes(self, rows: usize, cols: usize) -> usize {
        let row = match self {
            Format::Q8_0 => (cols / BLOCK).saturating_mul(BLOCK_BYTES),
            Format::F32 => cols.saturating_mul(4),
        };
        row.saturating_mul(rows)
    }
}

pub enum Weights {
    Q8_0(Vec<u8>),
    F32(Vec<f32>),
}

/// An input in both formats.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub values: &'a [f32],
    pub blocks: &'a [BlockQ8_0],
}

impl Weights {
    /// `y = w x`, on the pool or on this thread.
    pub fn multiply(
        &self,
        pool: Option<&Pool>,
        x: Input<'_>,
        y: &mut [f32],
    ) -> Result<(), ShapeError> {
        match (self, pool) {
            (Weights::Q8_0(w), Some(pool)) => gemv::q8_0(pool, w, x.blocks, y),
            (Weights::Q8_0(w), None) => gemv::q8_0_serial(w, x.blocks, y),
            (Weights::F32(w), Some(pool)) => gemv::f32(pool, w, x.values, y),
            (Weights::F32(w), None) => gemv::f32_serial(w, x.values, y),
        }
    }

    /// Made-up weights: evenly spread, with the variance that keeps a product's
    /// values near its input's. The same values in both formats.
    pub fn seeded(pool: &Pool, format: Format, matrix: &Matrix) -> Weights {
        let Matrix { rows, cols, .. } = *matrix;
        let seed = (matrix.id as u64 + 1) << 40;
        let size = (12.0 / cols as f32).sqrt();
        let fill = |row: usize, out: &mut [f32]| fill(seed + (row * cols) as u64, size, out);
        match format {
            Format::F32 => {
                let mut w = vec![0.0; rows * cols];
                pool.for_each_chunk(&mut w, cols, fill);
                Weights::F32(w)
            }
            Format::Q8_0 => {
                let row_bytes = cols / BLOCK * BLOCK_BYTES;
                let mut w = vec![0; rows * row_bytes];
                pool.for_each_chunk_init(
                    &mut w,
                    row_bytes,
                    || vec![0.0; cols],
                    |values, row, out| {
                        fill(row, values);
                        gemv::quantize_weights(values, out).expect("a row of whole blocks");
                    },
                );
                Weights::Q8_0(w)
            }
        }
    }
}

/// Values `first..` of a sequence, evenly spread in `-size/2..size/2`. Each by
/// itself from its number, so that they can be made in any order, and many at
/// once.
pub fn fill(first: u64, size: f32, out: &mut [f32]) {
    let high = (first >> 32) as u32;
    let low = first as u32;
    for (i, value) in out.iter_mut().enumerate() {
        // murmur3's finaliser.
        let mut h = low.wrapping_add(i as u32) ^ high.wrapping_mul(0x9e37_79b9);
        h ^= h >> 16;
        h = h.wrapping_mul(0x85eb_ca6b);
        h ^= h >> 13;
        h = h.wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        // 1 to 2 by its bits.
        *value = (f32::from_bits(h >> 9 | 0x3f80_0000) - 1.5) * size;
    }
}
