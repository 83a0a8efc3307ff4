//! Every kernel that this CPU has gives the portable one's bits: on random
//! blocks and at the edges. Compiled into the library, where it can ask for each.

use super::*;
use crate::{Input, Matrix};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 56) as u8).collect()
    }

    /// Any exponent up to 2^`most`.
    fn value(&mut self, most: u32) -> f32 {
        let bits = (self.next() >> 32) as u32;
        f32::from_bits(bits & 0x807f_ffff | ((bits >> 23 & 0xff) % (127 + most)) << 23)
    }
}

/// Where the half precision numbers of a block lie.
fn scales(format: Format) -> &'static [usize] {
    match format {
        Format::Q8_0 | Format::Q4_0 => &[0],
        Format::Q4K | Format::Q5K => &[0, 2],
        Format::Q6K => &[208],
        _ => &[],
    }
}

fn multiply(kernels: &Kernels, format: Format, w: &[u8], x: &Input, cols: usize) -> Vec<u32> {
    let rows = w.len() / format.row_bytes(cols).unwrap().max(1);
    let mut y = vec![7.0; rows];
    kernels.product(format, w, x.parts(format, cols).unwrap(), &mut y);
    // A NaN is a NaN.
    y.iter().map(|y| if y.is_nan() { u32::MAX } else { y.to_bits() }).collect()
}

/// The same bits from all for these bytes as rows of `cols`.
fn all_agree(format: Format, w: &[u8], x: &[f32], what: &str) {
    let mut input = Input::new(x);
    input.prepare(format).unwrap();
    let portable = ALL.last().unwrap();
    assert_eq!(portable.name, "portable");
    let expected = multiply(portable, format, w, &input, x.len());
    for kernels in usable() {
        let found = multiply(kernels, format, w, &input, x.len());
        assert_eq!(found, expected, "{} {} of {what}", kernels.name, format.name());
    }
}

fn columns(format: Format) -> Vec<usize> {
    match format.block() {
        1 => vec![33, 1, 31, 32, 127, 128, 129, 300],
        block => [1, 2, 5].map(|blocks| blocks * block).to_vec(),
    }
}

#[test]
fn all_kernels_give_the_same_bits_on_random_blocks() {
    let mut random = Random(1);
    for format in Format::ALL {
        for (i, cols) in columns(format).into_iter().enumerate() {
            // All numbers of rows once; the rest is about columns.
            for rows in if i == 0 { 1..=17 } else { 9..=10 } {
                let mut w = random.bytes(rows * format.row_bytes(cols).unwrap());
                let x: Vec<f32> = (0..cols).map(|_| random.value(3)).collect();
                all_agree(format, &w, &x, &format!("any {rows}x{cols}"));
                // With scales of a usual size, so that each value counts.
                for block in w.chunks_exact_mut(format.block_bytes()) {
                    for &at in scales(format) {
                        block[at + 1] = block[at + 1] & 0x83 | 0x28;
                    }
                }
                let x: Vec<f32> = x.iter().map(|x| x % 2.0 + x.signum()).collect();
                all_agree(format, &w, &x, &format!("usual {rows}x{cols}"));
            }
        }
    }
}

#[test]
fn all_kernels_give_the_same_bits_at_the_edges() {
    let specials = [0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3c00u16];
    for format in Format::ALL {
        let cols = if format.block() == 1 { 33 } else { format.block() };
        for fill in [0x00, 0x3f, 0x80, 0xff] {
            for special in specials {
                let mut w = vec![fill; 9 * format.row_bytes(cols).unwrap()];
                for block in w.chunks_exact_mut(format.block_bytes()) {
                    for &at in scales(format) {
                        block[at..at + 2].copy_from_slice(&special.to_le_bytes());
                    }
                }
                for x in [-1.0, 1e-30, 1e-42, 1e30, f32::INFINITY] {
                    let mut x = vec![x; cols];
                    x[cols / 2] = -0.5;
                    all_agree(format, &w, &x, &format!("{fill:#x}, scale {special:#x}"));
                }
            }
        }
    }
}

#[test]
fn sums_of_the_largest_values_are_exact() {
    // With x of 127 each: the largest sums that there are, by hand.
    for kernels in usable() {
        let product = |format: Format, w: &[u8], x: f32| {
            let mut input = Input::new(&vec![x; format.block()]);
            input.prepare(format).unwrap();
            f32::from_bits(multiply(kernels, format, &w.repeat(8), &input, format.block())[7])
        };
        let mut q8_0 = [0x80; 34];
        q8_0[..2].copy_from_slice(&[0x00, 0x3c]);
        assert_eq!(product(Format::Q8_0, &q8_0, 127.0), -128.0 * 127.0 * 32.0, "{}", kernels.name);
        assert_eq!(product(Format::Q8_0, &q8_0, -127.0), 128.0 * 127.0 * 32.0, "{}", kernels.name);
        // d 1, dmin 0, scales and minima 63, values 15 or 31.
        let mut q5_k = [0xff; 176];
        q5_k[..4].copy_from_slice(&[0x00, 0x3c, 0x00, 0x00]);
        assert_eq!(product(Format::Q5K, &q5_k, 127.0), 63.0 * 31.0 * 127.0 * 256.0);
        let mut q4_k = [0xff; 144];
        q4_k[..4].copy_from_slice(&[0x00, 0x00, 0x00, 0x3c]);
        assert_eq!(product(Format::Q4K, &q4_k, 127.0), -63.0 * 127.0 * 256.0);
        // Scales -128, values -32.
        let mut q6_k = [0x00; 210];
        q6_k[192..208].fill(0x80);
        q6_k[208..].copy_from_slice(&[0x00, 0x3c]);
        assert_eq!(product(Format::Q6K, &q6_k, 127.0), 32.0 * 128.0 * 127.0 * 256.0);
    }
}

#[test]
fn no_rows_and_no_columns_are_fine() {
    for kernels in usable() {
        for format in Format::ALL {
            let empty = Input::new(&[]);
            let mut y = [7.0; 11];
            kernels.product(format, &[], empty.parts(format, 0).unwrap(), &mut y);
            assert_eq!(y, [0.0; 11]);
            kernels.product(format, &[], empty.parts(format, 0).unwrap(), &mut []);
        }
    }
    assert!(Matrix::new(Format::Q4K, 0, 256, &[]).is_ok());
}

#[test]
fn those_that_the_cpu_has_are_usable() {
    let names: Vec<_> = usable().map(|kernels| kernels.name).collect();
    assert_eq!(names.last(), Some(&"portable"));
    assert!(names.contains(&chosen().name));
    #[cfg(target_arch = "x86_64")]
    assert_eq!(names.contains(&"avx2"), std::is_x86_feature_detected!("avx2"));
    #[cfg(target_arch = "aarch64")]
    assert_eq!(names.contains(&"dotprod"), std::arch::is_aarch64_feature_detected!("dotprod"));
}

/// What all kernels round these values to, as bits.
fn rounded(kernels: &Kernels, values: &[f32]) -> Vec<(u32, Vec<i8>, Vec<i32>)> {
    let (mut by_32, mut by_256) = (Vec::new(), Vec::new());
    kernels.round(values, Rounded::By32(&mut by_32));
    kernels.round(values, Rounded::By256(&mut by_256));
    let by_32 = by_32.iter().map(|b| (b.scale.to_bits(), b.qs.to_vec(), vec![b.sum]));
    let sums = |b: &Block256| b.sums.iter().map(|&sum| sum.into()).collect();
    by_32.chain(by_256.iter().map(|b| (b.scale.to_bits(), b.qs.to_vec(), sums(b)))).collect()
}

#[test]
fn inputs_are_rounded_to_the_same_bits() {
    let mut random = Random(0x853c_49e6_748f_ea9b);
    let mut values: Vec<f32> = (0..8192).map(|_| random.value(127)).collect();
    values.extend((0..8192).map(|_| random.value(4)));
    // Ties: the scale is one.
    values.extend((0..1024).map(|i| if i % 32 == 0 { 127.0 } else { (i % 255) as f32 - 127.5 }));
    // Zeros, subnormal numbers, NaN and infinities among others.
    values.extend((0..1024).map(|i| if i < 512 { 0.0 } else { f32::from_bits(i) }));
    for (at, odd) in [(5, f32::NAN), (300, f32::INFINITY), (700, f32::NEG_INFINITY)] {
        values[at] = odd;
    }
    let portable = rounded(ALL.last().unwrap(), &values);
    assert_eq!(portable.len(), values.len() / 32 + values.len() / 256);
    for kernels in usable() {
        // Not one `assert_eq!` of all: its message would be a MB.
        for (found, expected) in rounded(kernels, &values).iter().zip(&portable) {
            assert_eq!(found, expected, "{}", kernels.name);
        }
    }
}
