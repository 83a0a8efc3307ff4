//! `rowpool_gemv`: values against other code and against f64, bitwise equality
//! at every width, shapes that do not fit, and numbers that are none.

#[macro_use]
#[path = "../../tests/common/mod.rs"]
mod common;

use common::Isolated;
use rowpool::Pool;
use rowpool_gemv::{self as gemv, Format, Input, Matrix, ShapeError};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Weights of usual size: random fields, scales and floats within 2.
    fn weights(&mut self, format: Format, rows: usize, cols: usize) -> Vec<u8> {
        let len = rows * format.row_bytes(cols).unwrap();
        let mut bytes: Vec<u8> = (0..len).map(|_| (self.next() >> 56) as u8).collect();
        for block in bytes.chunks_exact_mut(format.block_bytes()) {
            let float: &[usize] = match format {
                Format::F32 => &[2],
                Format::Q4K | Format::Q5K => &[0, 2],
                Format::Q6K => &[208],
                _ => &[0],
            };
            for at in float {
                block[at + 1] = block[at + 1] & 0x83 | 0x38;
            }
        }
        bytes
    }
}

fn serial(format: Format, rows: usize, cols: usize, w: &[u8], x: &mut Input) -> Vec<f32> {
    let mut y = vec![f32::NAN; rows];
    x.prepare(format).unwrap();
    gemv::mul_rows(&Matrix::new(format, rows, cols, w).unwrap(), 0, x, &mut y).unwrap();
    y
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn columns(format: Format) -> Vec<usize> {
    match format.block() {
        1 => vec![1, 2, 31, 32, 33, 100, 127, 128, 129, 576],
        block => [1, 2, 3, 6].map(|blocks| blocks * block).to_vec(),
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn floats(text: &str) -> Vec<f32> {
    hex(text).chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// As `gguf_vectors.py` recorded them.
#[test]
fn blocks_stand_for_what_pypi_gguf_reads_and_writes() {
    let mut seen = Vec::new();
    for line in include_str!("gguf_vectors.txt").lines() {
        let [name, from, to] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if name == "to_Q8_0" {
            let mut bytes = [0; 34];
            gemv::quantize_q8_0(&floats(from), &mut bytes).unwrap();
            assert_eq!(bytes, hex(to)[..]);
            continue;
        }
        let format = *Format::ALL.iter().find(|format| format.name() == name).unwrap();
        let (bytes, expected) = (hex(from), floats(to));
        let mut values = vec![f32::NAN; expected.len()];
        let matrix = Matrix::new(format, 1, expected.len(), &bytes).unwrap();
        matrix.dequantize(0, &mut values).unwrap();
        assert_eq!(bits(&values), bits(&expected), "{name}");
        seen.push(format);
    }
    assert!(Format::ALL.iter().all(|format| *format == Format::F32 || seen.contains(format)));
}

/// x of whole numbers up to 127, and 127 or -127 in each block: rounding leaves
/// them as they are, so that the product is that of the dequantised weights.
#[test]
fn products_are_those_of_the_values_within_their_roundings() {
    let mut random = Random(3);
    for format in Format::ALL {
        for rows in [1, 2, 7, 8, 9, 17] {
            for cols in columns(format) {
                let w = random.weights(format, rows, cols);
                let matrix = Matrix::new(format, rows, cols, &w).unwrap();
                let mut x: Vec<f32> =
                    (0..cols).map(|_| (random.number() * 127.0).round() / 4.0).collect();
                for block in x.chunks_mut(format.block().max(32)) {
                    block[0] = if random.number() < 0.0 { -127.0 } else { 127.0 } / 4.0;
                }
                let y = serial(format, rows, cols, &w, &mut Input::new(&x));
                let mut values = vec![0.0; cols];
                for (row, y) in y.iter().enumerate() {
                    matrix.dequantize(row, &mut values).unwrap();
                    let terms = values.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                    let (sum, size) =
                        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                    // Of a block: scales, products with them, the sum. What min
                    // and scale of a K-quant take from each other is 3 times `size`
                    // at most. And one rounding for each block or column.
                    let roundings = 8 + cols / format.block().max(32) + cols % 32;
                    let most = roundings as f64 * f64::from(f32::EPSILON) / 2.0 * size * 4.0;
                    let off = (f64::from(*y) - sum).abs();
                    assert!(off <= most, "{} {rows}x{cols}: {y} for {sum}", format.name());
                }
            }
        }
    }
}

#[test]
fn rounding_an_input_costs_what_8_bits_cost() {
    let mut random = Random(4);
    for format in Format::ALL {
        let (rows, cols) = (16, 1024);
        let w = random.weights(format, rows, cols);
        let x = random.numbers(cols);
        let y = serial(format, rows, cols, &w, &mut Input::new(&x));
        let matrix = Matrix::new(format, rows, cols, &w).unwrap();
        let mut values = vec![0.0; cols];
        for (row, y) in y.iter().enumerate() {
            matrix.dequantize(row, &mut values).unwrap();
            let exact: f64 = values.iter().zip(&x).map(|(w, x)| f64::from(w * x)).sum();
            let norm: f64 = values.iter().map(|w| f64::from(w * w)).sum::<f64>().sqrt();
            // Off by 1/254 each, evenly spread; six standard deviations.
            let most = 6.0 * norm / 254.0 / 3f64.sqrt();
            assert!((f64::from(*y) - exact).abs() < most, "{}: {y} for {exact}", format.name());
        }
    }
}

/// Halves 3c00, 3800, 4000 are 1, 0.5 and 2.
#[test]
fn values_by_hand() {
    let w: Vec<u8> =
        [1.0f32, 2.0, 3.0, -1.0, 0.5, 4.0].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(serial(Format::F32, 2, 3, &w, &mut Input::new(&[10.0, 20.0, 30.0])), [140.0, 120.0]);

    let counting: Vec<f32> = (0..32).map(|i| if i == 31 { 127.0 } else { i as f32 }).collect();
    let x = [&[127.0; 32][..], &counting].concat();
    let q8_0 = |d: u8, q: i8| [&[0, d][..], &[q as u8; 32]].concat();
    let w = [q8_0(0x3c, 2), q8_0(0x38, 1), q8_0(0x40, -128), q8_0(0x3c, -1)].concat();
    let y = serial(Format::Q8_0, 2, 64, &w, &mut Input::new(&x));
    // 127 * 32 = 4064; 0 + .. + 30 + 127 = 592.
    assert_eq!(y, [2.0 * 4064.0 + 0.5 * 592.0, -256.0 * 4064.0 - 592.0]);

    // Low halves 7 less 8, high ones 10 less 8; 0 + .. + 15 = 120 and 472.
    let w = [&[0x00, 0x40][..], &[0xa7; 16]].concat();
    let y = serial(Format::Q4_0, 1, 32, &w, &mut Input::new(&counting));
    assert_eq!(y, [2.0 * (2.0 * 472.0 - 120.0)]);
}

#[test]
fn bitwise_the_same_at_every_width_and_for_each_row_alone() {
    let mut random = Random(7);
    for width in [1, 2, 3, 5, 9] {
        let pool = Pool::new(width).unwrap();
        for format in Format::ALL {
            for (rows, cols) in [(1, 256), (7, 768), (65, 256), (161, 768)] {
                let w = random.weights(format, rows, cols);
                let mut x = Input::new(&random.numbers(cols));
                let serial = serial(format, rows, cols, &w, &mut x);
                let mut y = vec![f32::NAN; rows];
                let matrix = Matrix::new(format, rows, cols, &w).unwrap();
                gemv::mul(&pool, &matrix, &mut x, &mut y).unwrap();
                assert_eq!(bits(&serial), bits(&y), "{} {rows}x{cols} {width}", format.name());
                for row in (0..rows).step_by(1 + rows / 9) {
                    let mut alone = [f32::NAN];
                    gemv::mul_rows(&matrix, row, &x, &mut alone).unwrap();
                    assert_eq!(alone[0].to_bits(), y[row].to_bits());
                }
            }
        }
    }
}

/// FNV-1a over the bits of products in all formats.
fn hashes() -> String {
    let mut random = Random(13);
    let mut hashes = Vec::new();
    for format in Format::ALL {
        let (rows, cols) = (61, 1536);
        let w = random.weights(format, rows, cols);
        let y = serial(format, rows, cols, &w, &mut Input::new(&random.numbers(cols)));
        let bytes = y.iter().flat_map(|y| y.to_bits().to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        hashes.push(format!("{} {hash:016x}", format.name()));
    }
    hashes.join(", ")
}

/// As computed on x86-64 by the portable kernels.
const HASHES: &str = "F32 a1310f72dcfe44b5, F16 ebd760ed8350e561, BF16 f5daf03740c4068a, \
    Q8_0 87de9b60d40642db, Q4_0 c8b553e586a53140, Q4_K d378de25f4b147de, \
    Q5_K 8b368321a32e14e7, Q6_K b7977cd6a020f4b7";

#[test]
fn bitwise_the_same_on_every_machine() {
    assert_eq!(hashes(), HASHES);
}

#[test]
fn the_environment_names_the_kernels() {
    let body = || {
        let wish = std::env::var("ROWPOOL_KERNELS").unwrap();
        match wish.trim() {
            "portable" => assert_eq!(gemv::kernels(), "portable"),
            // Not of this CPU: as if it were absent.
            _ => assert_eq!(gemv::kernels(), std::env::var("ROWPOOL_EXPECTED").unwrap()),
        }
        assert_eq!(hashes(), HASHES);
    };
    for wish in ["portable", " portable\n", "avx2", "avx-vnni", "avx512-vnni", "dotprod", "", "?"] {
        #[cfg(target_arch = "x86_64")]
        let expected = match wish {
            "avx2" if std::is_x86_feature_detected!("avx2") => "avx2",
            "avx-vnni" if std::is_x86_feature_detected!("avxvnni") => "avx-vnni",
            _ => gemv::kernels(),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let expected = gemv::kernels();
        let child = Isolated::new(test_name!());
        child.env("ROWPOOL_KERNELS", wish).env("ROWPOOL_EXPECTED", expected).run(body);
    }
}

#[test]
fn bytes_need_no_alignment() {
    let mut random = Random(11);
    for format in Format::ALL {
        let (rows, cols) = (9, 512);
        let w = random.weights(format, rows, cols);
        let mut x = Input::new(&random.numbers(cols));
        let expected = serial(format, rows, cols, &w, &mut x);
        for shift in 1..8 {
            let moved = [&[0xff; 8][..shift], &w].concat();
            let y = serial(format, rows, cols, &moved[shift..], &mut x);
            assert_eq!(bits(&y), bits(&expected), "{} shifted by {shift}", format.name());
        }
    }
}

#[test]
fn an_input_set_again_is_a_new_one() {
    let mut random = Random(12);
    let mut x = Input::default();
    for (format, cols) in
        [(Format::Q8_0, 64), (Format::Q4K, 512), (Format::F16, 9), (Format::Q6K, 256)]
    {
        let (w, values) = (random.weights(format, 3, cols), random.numbers(cols));
        x.set(&values);
        let y = serial(format, 3, cols, &w, &mut x);
        assert_eq!(bits(&y), bits(&serial(format, 3, cols, &w, &mut Input::new(&values))));
    }
}

#[test]
fn no_rows_or_no_columns() {
    let pool = Pool::new(2).unwrap();
    for format in Format::ALL {
        let matrix = Matrix::new(format, 0, 256, &[]).unwrap();
        gemv::mul(&pool, &matrix, &mut Input::new(&[1.0; 256]), &mut []).unwrap();
        let matrix = Matrix::new(format, 5, 0, &[]).unwrap();
        let mut y = [f32::NAN; 5];
        gemv::mul(&pool, &matrix, &mut Input::default(), &mut y).unwrap();
        assert_eq!(y, [0.0; 5]);
        matrix.dequantize(4, &mut []).unwrap();
    }
}

#[test]
fn shapes_that_do_not_fit_are_errors_and_write_nothing() {
    let new = |format, rows, cols, len| Matrix::new(format, rows, cols, &vec![1; len]).map(|_| ());
    for found in [0, 34, 203, 205, 6 * 32] {
        let error = ShapeError::Weights { rows: 3, cols: 64, expected: 204, found };
        assert_eq!(new(Format::Q8_0, 3, 64, found), Err(error));
        assert!(
            error.to_string().contains("204") && error.to_string().contains(&found.to_string())
        );
    }
    let error = ShapeError::NotBlocks { format: Format::Q4K, cols: 576 };
    assert_eq!(new(Format::Q4K, 1, 576, 324), Err(error));
    assert!(error.to_string().contains("576") && error.to_string().contains("Q4_K"));
    for (rows, cols) in [(usize::MAX, 2), (1 << 32, 1 << 32), (2, usize::MAX / 4)] {
        let error = ShapeError::Overflow { rows, cols };
        assert_eq!(new(Format::F32, rows, cols, 0), Err(error));
        assert!(!error.to_string().contains('\n'));
    }
    let (pool, w) = (Pool::new(2).unwrap(), [1; 204]);
    let matrix = Matrix::new(Format::Q8_0, 3, 64, &w).unwrap();
    let (mut x, mut y) = (Input::new(&[1.0; 64]), [7.0; 4]);
    let unprepared = Err(ShapeError::Unprepared { format: Format::Q8_0 });
    assert_eq!(gemv::mul_rows(&matrix, 0, &x, &mut y[..3]), unprepared);
    let output = |expected, found| Err(ShapeError::Output { expected, found });
    assert_eq!(gemv::mul(&pool, &matrix, &mut x, &mut y), output(3, 4));
    assert_eq!(gemv::mul(&pool, &matrix, &mut x, &mut y[..2]), output(3, 2));
    x.prepare(Format::Q8_0).unwrap();
    assert_eq!(gemv::mul_rows(&matrix, 1, &x, &mut y[..3]), output(2, 3));
    assert_eq!(gemv::mul_rows(&matrix, 9, &x, &mut y[..1]), output(0, 1));
    let input = Err(ShapeError::Input { expected: 64, found: 32 });
    assert_eq!(gemv::mul(&pool, &matrix, &mut Input::new(&[1.0; 32]), &mut y[..3]), input);
    let blocks = Err(ShapeError::NotBlocks { format: Format::Q8_0, cols: 33 });
    assert_eq!(gemv::mul(&pool, &matrix, &mut Input::new(&[1.0; 33]), &mut y[..3]), blocks);
    assert_eq!(matrix.dequantize(0, &mut [7.0; 63]), output(64, 63));
    assert_eq!(gemv::quantize_q8_0(&[1.0; 64], &mut [0; 67]), output(68, 67));
    assert_eq!(y, [7.0; 4]);
}

#[test]
fn a_nan_shows_and_nothing_panics() {
    let mut random = Random(15);
    let pool = Pool::new(3).unwrap();
    for format in Format::ALL {
        let (rows, cols) = (41, 512);
        let w = random.weights(format, rows, cols);
        for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = random.numbers(cols);
            x[40] = poison;
            let y = serial(format, rows, cols, &w, &mut Input::new(&x));
            // Integers cannot hold an infinity: the block becomes NaN.
            let shows = |y: &f32| if format.block() == 1 { !y.is_finite() } else { y.is_nan() };
            assert!(y.iter().all(shows), "{} {poison}: {y:?}", format.name());
        }
        // Any bytes are weights, and a NaN is one at every width.
        for byte in [0x7c, 0x7f, 0xfc, 0xff, 0x80, 0x01] {
            let w = vec![byte; w.len()];
            let mut x = Input::new(&random.numbers(cols));
            let (serial, mut y) = (serial(format, rows, cols, &w, &mut x), vec![0.0; rows]);
            let matrix = Matrix::new(format, rows, cols, &w).unwrap();
            gemv::mul(&pool, &matrix, &mut x, &mut y).unwrap();
            for (serial, y) in serial.iter().zip(&y) {
                assert!(serial.to_bits() == y.to_bits() || serial.is_nan() && y.is_nan());
            }
        }
    }
}

/// As ggml's reference rounds: by hand after `quantize_row_q8_0_ref`.
#[test]
fn rounding_to_q8_0_is_ggmls() {
    let block = |values: &[f32]| {
        let mut all = [0.0; 32];
        all[..values.len()].copy_from_slice(values);
        let mut bytes = [0; 34];
        gemv::quantize_q8_0(&all, &mut bytes).unwrap();
        (u16::from_le_bytes([bytes[0], bytes[1]]), bytes[2..].iter().map(|&q| q as i8).collect())
    };
    // amax 254, d = 2, id = 0.5; ties go away from zero.
    let (d, q): (u16, Vec<i8>) = block(&[-254.0, 1.0, -1.0, 3.0, -5.0, 253.0, 0.99, -0.99, 252.9]);
    assert_eq!((d, &q[..9]), (0x4000, &[-127, 1, -1, 2, -3, 127, 0, 0, 126][..]));
    // d = 1/127, whose half is 2008; values are divided by it before it is rounded.
    let (d, q) = block(&[1.0, -1.0, 0.5, 0.003_937, 0.0039]);
    assert_eq!((d, &q[..5]), (0x2008, &[127, -127, 64, 0, 0][..]));
    // The ends: nothing, NaN, scales beyond half precision.
    assert_eq!(block(&[-0.0]), (0, vec![0; 32]));
    assert_eq!(block(&[3.7e-6]).0, 0);
    assert_eq!(block(&[f32::from_bits(1)]), (0, vec![0; 32]));
    assert_eq!(block(&[8.0e6]).0, 0x7bb1);
    assert_eq!(block(&[8.4e6]), (0x7c00, [&[127][..], &[0; 31]].concat()));
    for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(gemv::f16_to_f32(block(&[1.0, poison]).0).is_nan());
    }
}
