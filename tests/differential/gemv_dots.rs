//! `rowpool_gemv` against the row dots of ferrox-quant, candle and, where
//! `GGML_CPU_LIB` names its library, ggml, on the same bytes.

#[path = "../../benches/support/dots.rs"]
mod dots;

use rowpool::Pool;
use rowpool_gemv::{self as gemv, Format, Input, Matrix};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Random fields, scales and floats between 0.5 and 2.
fn weights(random: &mut Random, format: Format, rows: usize, cols: usize) -> Vec<u8> {
    let len = rows * format.row_bytes(cols).unwrap();
    let mut bytes: Vec<u8> = (0..len).map(|_| (random.next() >> 56) as u8).collect();
    for block in bytes.chunks_exact_mut(format.block_bytes()) {
        let ends: &[usize] = match format {
            Format::F32 => &[3],
            Format::Q4K | Format::Q5K => &[1, 3],
            Format::Q6K => &[209],
            _ => &[1],
        };
        ends.iter().for_each(|&at| block[at] = block[at] & 0x83 | 0x38);
    }
    bytes
}

#[test]
fn products_are_those_of_other_engines_within_their_roundings() {
    let pool = Pool::new(2).unwrap();
    let mut random = Random(21);
    let mut compared = 0;
    for format in Format::ALL {
        for (rows, cols) in [(9, 256), (16, 768), (61, 2048)] {
            let w = weights(&mut random, format, rows, cols);
            let x: Vec<f32> =
                (0..cols).map(|_| random.next() as i64 as f32 / 2f32.powi(63)).collect();
            let matrix = Matrix::new(format, rows, cols, &w).unwrap();
            let mut y = vec![f32::NAN; rows];
            gemv::mul(&pool, &matrix, &mut Input::new(&x), &mut y).unwrap();
            for (name, engine) in dots::ENGINES {
                let Some(dot) = engine(format, &x) else { continue };
                compared += 1;
                let mut values = vec![0.0; cols];
                for (row, (y, bytes)) in y.iter().zip(w.chunks_exact(w.len() / rows)).enumerate() {
                    matrix.dequantize(row, &mut values).unwrap();
                    let size: f32 = values.iter().zip(&x).map(|(w, x)| (w * x).abs()).sum();
                    let norm = values.iter().map(|w| w * w).sum::<f32>().sqrt();
                    // Sums in another order, and an input whose values at the
                    // middle between two integers, or in halves, go another way.
                    let input = match format {
                        Format::F32 => 0.0,
                        Format::F16 => 2f32.powi(-10),
                        Format::BF16 => 2f32.powi(-7),
                        // Q8_K of engines are of 127 and of 128 steps.
                        _ => 3.0 / 127.0,
                    };
                    let most = 1e-5 * size + input * norm;
                    let theirs = dot(bytes);
                    assert!(
                        (y - theirs).abs() <= most,
                        "{} {rows}x{cols}, row {row}: {y}, {name} {theirs}, {most:e}",
                        format.name()
                    );
                }
            }
        }
    }
    // ferrox-quant has five of the formats, candle all.
    assert!(compared >= 3 * (5 + 8), "{compared}");
}
