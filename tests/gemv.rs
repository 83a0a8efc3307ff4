//! `rowpool::gemv`: values against a reference in f64, bitwise equality at
//! every width, shapes that do not fit, and numbers that are none.

use rowpool::gemv::{self, BlockQ8_0, ShapeError, BLOCK, BLOCK_BYTES};
use rowpool::Pool;

/// Deterministic values in -1..1.
fn values(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn q8_matrix(values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() / BLOCK * BLOCK_BYTES];
    gemv::quantize_weights(values, &mut bytes).unwrap();
    bytes
}

fn q8_vector(values: &[f32]) -> Vec<BlockQ8_0> {
    let mut blocks = vec![BlockQ8_0::ZERO; values.len() / BLOCK];
    gemv::quantize(values, &mut blocks).unwrap();
    blocks
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Half a unit in the last place of 1.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

#[test]
fn f32_is_the_product_within_its_roundings() {
    // Columns around the 32 sums and the 128 of a segment; rows around the 4
    // that go together.
    for rows in [1, 2, 3, 4, 5, 8, 11] {
        for cols in [1, 2, 31, 32, 33, 63, 64, 100, 127, 128, 129, 160, 576, 1000] {
            let (w, x) = (values(rows * cols, 1), values(cols, 2));
            let mut y = vec![f32::NAN; rows];
            gemv::f32_serial(&w, &x, &mut y).unwrap();
            for (row, y) in w.chunks(cols).zip(&y) {
                let terms = row.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                let (sum, size) =
                    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                // The longest way of a term: its product, its column's sum, the
                // tree, the tail.
                let roundings = 1 + cols / 32 + 5 + cols % 32;
                let most = roundings as f64 * ROUNDING * size * 1.001;
                let off = (f64::from(*y) - sum).abs();
                assert!(off <= most, "{rows}x{cols}: {y} for {sum}, off by {off:e} of {most:e}");
            }
        }
    }
}

#[test]
fn q8_0_is_the_product_of_the_blocks_within_its_roundings() {
    for rows in [1, 3, 4, 7, 8, 9, 17] {
        for blocks in [1, 2, 3, 8, 18, 48] {
            let cols = blocks * BLOCK;
            let (w, x) = (q8_matrix(&values(rows * cols, 3)), q8_vector(&values(cols, 4)));
            let mut y = vec![f32::NAN; rows];
            gemv::q8_0_serial(&w, &x, &mut y).unwrap();
            for (row, y) in w.chunks(blocks * BLOCK_BYTES).zip(&y) {
                let (mut sum, mut size) = (0.0, 0.0);
                for (bytes, x) in row.chunks(BLOCK_BYTES).zip(&x) {
                    let w = BlockQ8_0::from_bytes(bytes.try_into().unwrap());
                    let dot: i32 =
                        w.qs.iter().zip(x.qs).map(|(&w, x)| i32::from(w) * i32::from(x)).sum();
                    let term = f64::from(dot) * f64::from(w.scale()) * f64::from(x.scale());
                    sum += term;
                    size += term.abs();
                }
                // The scales' product, the product with it, the sums. Each
                // rounds what has been added so far: at most `size`.
                let most = (blocks + 2) as f64 * ROUNDING * size * 1.001;
                let off = (f64::from(*y) - sum).abs();
                assert!(off <= most, "{rows}x{cols}: {y} for {sum}, off by {off:e} of {most:e}");
            }
        }
    }
}

#[test]
fn q8_0_is_near_f32() {
    let (rows, cols) = (64, 576);
    let (w, x) = (values(rows * cols, 5), values(cols, 6));
    let (mut exact, mut y) = (vec![0.0; rows], vec![0.0; rows]);
    gemv::f32_serial(&w, &x, &mut exact).unwrap();
    gemv::q8_0_serial(&q8_matrix(&w), &q8_vector(&x), &mut y).unwrap();
    for (exact, y) in exact.iter().zip(&y) {
        // Each of 2 x 576 values is off by up to 1/254, evenly spread: a
        // standard deviation of 1/254/sqrt(3)*sqrt(2*576/3) = 0.045.
        assert!((exact - y).abs() < 6.0 * 0.045, "{y} for {exact}");
    }
}

#[test]
fn values_by_hand() {
    // f32, 2 x 3.
    let mut y = [0.0; 2];
    gemv::f32_serial(&[1.0, 2.0, 3.0, -1.0, 0.5, 4.0], &[10.0, 20.0, 30.0], &mut y).unwrap();
    assert_eq!(y, [140.0, 120.0]);

    // Q8_0, 2 x 64. Scales 1, 0.5, 2 (halves 3c00, 3800, 4000), x's 0.25
    // (3400) and 4 (4400).
    let block = |d: u16, qs: [i8; 32]| BlockQ8_0 { d: d.to_le_bytes(), qs };
    let counting = std::array::from_fn(|i| i as i8); // 0 to 31, sum 496
    let x = [block(0x3400, [2; 32]), block(0x4400, counting)];
    let rows = [
        block(0x3c00, counting),             // 2*496 * 1*0.25 = 248
        block(0x3800, [1; 32]),              // 496 * 0.5*4 = 992
        block(0x4000, [-128; 32]),           // 32*2*-128 * 2*0.25 = -4096
        block(0x3c00, counting.map(|q| -q)), // -(31*32*63/6) = -10416, * 1*4 = -41664
    ];
    let w: Vec<u8> = rows.iter().flat_map(|block| block.to_bytes()).collect();
    let mut y = [0.0; 2];
    gemv::q8_0_serial(&w, &x, &mut y).unwrap();
    assert_eq!(y, [1240.0, -45760.0]);

    // The largest sum of a block.
    let most = block(0x3c00, [-128; 32]);
    let mut y = [0.0];
    gemv::q8_0_serial(&most.to_bytes(), &[most], &mut y).unwrap();
    assert_eq!(y, [524_288.0]);
}

#[test]
fn bitwise_the_same_at_every_width() {
    for width in 1..=9 {
        let pool = Pool::new(width).unwrap();
        for (rows, cols) in
            [(1, 64), (2, 576), (7, 576), (9, 64), (64, 32), (192, 576), (577, 1536), (1000, 96)]
        {
            let (w, x) = (values(rows * cols, 7), values(cols, 8));
            let (mut serial, mut pooled) = (vec![0.0; rows], vec![f32::NAN; rows]);
            gemv::f32_serial(&w, &x, &mut serial).unwrap();
            gemv::f32(&pool, &w, &x, &mut pooled).unwrap();
            assert_eq!(bits(&serial), bits(&pooled), "f32 {rows}x{cols} at {width}");

            let (w, x) = (q8_matrix(&w), q8_vector(&x));
            gemv::q8_0_serial(&w, &x, &mut serial).unwrap();
            pooled.fill(f32::NAN);
            gemv::q8_0(&pool, &w, &x, &mut pooled).unwrap();
            assert_eq!(bits(&serial), bits(&pooled), "q8_0 {rows}x{cols} at {width}");
        }
    }
}

#[test]
fn bitwise_the_same_on_every_machine() {
    // FNV-1a over the bits, as computed on x86-64 with SSE2.
    let hash = |values: &[f32]| {
        let bytes = values.iter().flat_map(|value| value.to_bits().to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    let (rows, cols) = (61, 1376);
    let (w, x) = (values(rows * cols, 13), values(cols, 14));
    let mut y = vec![0.0; rows];
    gemv::f32_serial(&w, &x, &mut y).unwrap();
    assert_eq!(hash(&y), 1_359_555_087_336_602_895);
    gemv::q8_0_serial(&q8_matrix(&w), &q8_vector(&x), &mut y).unwrap();
    assert_eq!(hash(&y), 15_636_453_504_562_559_347);
}

#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    let (rows, cols) = (37, 577);
    let (w, x) = (values(rows * cols, 9), values(cols, 10));
    let mut together = vec![0.0; rows];
    gemv::f32_serial(&w, &x, &mut together).unwrap();
    for (row, together) in w.chunks(cols).zip(&together) {
        let mut alone = [0.0];
        gemv::f32_serial(row, &x, &mut alone).unwrap();
        assert_eq!(alone[0].to_bits(), together.to_bits());
    }
    let cols = 576;
    let (w, x) = (q8_matrix(&w[..rows * cols]), q8_vector(&x[..cols]));
    gemv::q8_0_serial(&w, &x, &mut together).unwrap();
    for (row, together) in w.chunks(cols / BLOCK * BLOCK_BYTES).zip(&together) {
        let mut alone = [0.0];
        gemv::q8_0_serial(row, &x, &mut alone).unwrap();
        assert_eq!(alone[0].to_bits(), together.to_bits());
    }
}

#[test]
fn bytes_need_no_alignment() {
    let (rows, cols) = (9, 64);
    let (w, x) = (q8_matrix(&values(rows * cols, 11)), q8_vector(&values(cols, 12)));
    let mut expected = vec![0.0; rows];
    gemv::q8_0_serial(&w, &x, &mut expected).unwrap();
    for shift in 1..8 {
        let mut moved = vec![0; shift];
        moved.extend(&w);
        let mut y = vec![0.0; rows];
        gemv::q8_0_serial(&moved[shift..], &x, &mut y).unwrap();
        assert_eq!(bits(&y), bits(&expected), "shifted by {shift}");
    }
}

#[test]
fn no_rows_or_no_columns() {
    let pool = Pool::new(2).unwrap();
    gemv::f32(&pool, &[], &[1.0; 8], &mut []).unwrap();
    gemv::q8_0(&pool, &[], &[BlockQ8_0::ZERO; 8], &mut []).unwrap();
    gemv::f32(&pool, &[], &[], &mut []).unwrap();
    let mut y = [f32::NAN; 5];
    gemv::f32(&pool, &[], &[], &mut y).unwrap();
    assert_eq!(y, [0.0; 5]);
    y.fill(f32::NAN);
    gemv::q8_0(&pool, &[], &[], &mut y).unwrap();
    assert_eq!(y, [0.0; 5]);
}

#[test]
fn shapes_that_do_not_fit_are_errors_and_write_nothing() {
    let pool = Pool::new(2).unwrap();
    let mut y = [7.0; 3];
    for found in [0, 11, 13, 24] {
        let error = Err(ShapeError::Weights { rows: 3, cols: 4, expected: 12, found });
        assert_eq!(gemv::f32(&pool, &vec![1.0; found], &[1.0; 4], &mut y), error);
        assert_eq!(gemv::f32_serial(&vec![1.0; found], &[1.0; 4], &mut y), error);
    }
    for found in [0, 34, 203, 205, 6 * 32] {
        let error = Err(ShapeError::Weights { rows: 3, cols: 64, expected: 204, found });
        let x = [BlockQ8_0::ZERO; 2];
        assert_eq!(gemv::q8_0(&pool, &vec![1; found], &x, &mut y), error);
        assert_eq!(gemv::q8_0_serial(&vec![1; found], &x, &mut y), error);
    }
    assert_eq!(y, [7.0; 3]);
}

#[test]
fn a_nan_shows_and_nothing_panics() {
    let (rows, cols) = (5, 64);
    let w = vec![0.5; rows * cols];
    for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = vec![1.0; cols];
        x[40] = poison;
        let mut y = [0.0; 5];
        gemv::f32_serial(&w, &x, &mut y).unwrap();
        assert!(y.iter().all(|y| !y.is_finite()), "f32 {poison}: {y:?}");
        // Q8_0 cannot hold an infinity: the block becomes NaN.
        gemv::q8_0_serial(&q8_matrix(&w), &q8_vector(&x), &mut y).unwrap();
        assert!(y.iter().all(|y| y.is_nan()), "q8_0 {poison}: {y:?}");
    }
    // In one row of the weights it stays there.
    let mut w = w;
    w[2 * cols + 3] = f32::NAN;
    let mut y = [0.0; 5];
    gemv::q8_0_serial(&q8_matrix(&w), &q8_vector(&vec![1.0; cols]), &mut y).unwrap();
    assert!(y[2].is_nan() && [0, 1, 3, 4].iter().all(|&row| (y[row] - 32.0).abs() < 0.1), "{y:?}");
    // Any bytes are weights.
    for byte in [0x7c, 0x7f, 0xfc, 0xff, 0x80, 0x01] {
        let pool = Pool::new(2).unwrap();
        gemv::q8_0(&pool, &[byte; 5 * 68], &q8_vector(&vec![1.0; cols]), &mut y).unwrap();
    }
}
