//! Matrices of each format, larger than the caches: GB/s of rowpool's product and
//! of other engines' row dots on the same bytes, as shares of what the same
//! threads reach by only reading them in eight streams. Alternated rounds.
//!
//! `cargo bench -p rowpool-bench --bench formats -- [FORMAT]`, without
//! `target-cpu=native`: the kernels are chosen at run time.

#[path = "support/dots.rs"]
mod dots;
mod support;

use dots::ENGINES;
use rowpool::Pool;
use rowpool_gemv::{self as gemv, Format, Input, Matrix};
use std::hint::black_box;
use support::stats::median;

const COLS: usize = 4096;
const ROWS: usize = 4096;

fn main() {
    let (bytes, rounds) =
        if support::short() { (1 << 20, 1) } else { (320 << 20, support::rounds(9)) };
    println!(
        "\nGEMV of {ROWS}x{COLS}, {} MB each, kernels {}: GB/s (of reading)",
        bytes >> 20,
        gemv::kernels()
    );
    let pools = [1, 2].map(|threads| Pool::new(threads).expect("threads"));
    for format in Format::ALL.into_iter().filter(|format| support::wanted(format.name())) {
        let bytes = weights(format, bytes);
        for pool in &pools {
            row(format, &bytes, pool, rounds);
        }
    }
}

/// Random fields, with scales and floats near 1.
fn weights(format: Format, len: usize) -> Vec<u8> {
    let matrix = ROWS * format.row_bytes(COLS).expect("whole blocks");
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let words = (0..(len.div_ceil(matrix) * matrix).div_ceil(8)).flat_map(|_| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
    });
    let mut bytes: Vec<u8> = words.collect();
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

fn row(format: Format, bytes: &[u8], pool: &Pool, rounds: usize) {
    let len = ROWS * format.row_bytes(COLS).expect("whole blocks");
    let values: Vec<f32> = (0..COLS).map(|i| (i as f32 * 0.7).sin()).collect();
    let mut x = Input::new(&values);
    let mut y = vec![0.0; ROWS];
    let dots: Vec<_> = ENGINES
        .iter()
        .filter_map(|(name, engine)| Some((*name, engine(format, &values)?)))
        .collect();
    let names = ["reading", "rowpool"].into_iter().chain(dots.iter().map(|(name, _)| *name));
    let mut turn = |way: usize| {
        let begun = std::time::Instant::now();
        for w in bytes.chunks_exact(len) {
            match way {
                0 => pool.for_each_chunk(&mut y, ROWS.div_ceil(pool.num_threads()), |part, y| {
                    let rows = len / ROWS * y.len();
                    y[0] = black_box(read(&w[part * rows..][..rows])) as f32;
                }),
                1 => {
                    let matrix = Matrix::new(format, ROWS, COLS, w).expect("the shapes fit");
                    gemv::mul(pool, &matrix, &mut x, &mut y).expect("the shapes fit");
                }
                _ => pool.for_each_row(&mut y, |row, y| {
                    *y = dots[way - 2].1(&w[row * (len / ROWS)..][..len / ROWS]);
                }),
            }
        }
        begun.elapsed().as_secs_f64()
    };
    let ways = 2 + dots.len();
    let mut times = vec![Vec::new(); ways];
    for round in 0..rounds {
        for way in (0..ways).map(|way| (way + round) % ways) {
            times[way].push(turn(way));
        }
    }
    let speed = |times: &Vec<f64>| bytes.len() as f64 / 1e9 / median(times);
    let speeds: Vec<f64> = times.iter().map(speed).collect();
    print!("{:5} T = {}", format.name(), pool.num_threads());
    for (name, speed) in names.zip(&speeds) {
        print!("  {name} {speed:.1} ({:.2})", speed / speeds[0]);
    }
    println!();
}

/// Eight streams, as the product reads.
#[inline(never)]
fn read(bytes: &[u8]) -> u64 {
    let part = bytes.len() / 8 / 64 * 64;
    let mut sums = [[0u64; 8]; 8];
    for at in (0..part).step_by(64) {
        for (stream, sums) in sums.iter_mut().enumerate() {
            for (sum, word) in
                sums.iter_mut().zip(bytes[stream * part + at..][..64].chunks_exact(8))
            {
                *sum = sum.wrapping_add(u64::from_le_bytes(word.try_into().expect("8 bytes")));
            }
        }
    }
    sums.iter().flatten().fold(0, |all, sum| all.wrapping_add(*sum))
}
