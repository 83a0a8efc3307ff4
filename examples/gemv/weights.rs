//! Made-up weights and inputs.

use rowpool::Pool;
use rowpool_gemv::{quantize_q8_0, Format};

use crate::model::Matrix;

/// Weights in F32 or Q8_0: evenly spread, with the variance that keeps a
/// product's values near its input's. The same values in both formats.
pub fn seeded(pool: &Pool, matrix: &Matrix) -> Result<Vec<u8>, String> {
    let &Matrix { format, rows, cols, .. } = matrix;
    let seed = (matrix.id as u64 + 1) << 40;
    let size = (12.0 / cols as f32).sqrt();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(matrix.bytes()).map_err(|error| error.to_string())?;
    bytes.resize(matrix.bytes(), 0);
    let row_bytes = matrix.bytes() / rows.max(1);
    let values = || vec![0.0; cols];
    pool.for_each_chunk_init(&mut bytes, row_bytes, values, |values, row, out: &mut [u8]| {
        fill(seed + (row * cols) as u64, size, values);
        match format {
            Format::Q8_0 => quantize_q8_0(values, out).expect("a row of whole blocks"),
            _ => {
                for (out, value) in out.chunks_exact_mut(4).zip(values) {
                    out.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    });
    Ok(bytes)
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
