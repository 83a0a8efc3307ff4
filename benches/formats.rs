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
use rowpool_gemv::{self as gemv, Input, Matrix};
use std::hint::black_box;
use support::prelude::*;
use support::token::random;

const COLS: usize = 4096;
const ROWS: usize = 4096;
const READING: &str = "reading";

fn main() {
    let mut rows = Vec::new();
    for format in Format::ALL.into_iter().filter(|format| wanted(format.name())) {
        let matrix = ROWS * format.row_bytes(COLS).expect("whole blocks");
        let matrices = some((320usize << 20).div_ceil(matrix), 1);
        let bytes = random(format, matrices * ROWS * COLS);
        rows.extend([1, 2].iter().flat_map(|&threads| table(format, &bytes, threads)));
    }
    report::print(&format!("GEMV of {ROWS}x{COLS}, kernels {}", gemv::kernels()), &rows);
}

fn table(format: Format, bytes: &[u8], threads: usize) -> Vec<Row> {
    let pool = &Pool::new(threads).expect("a narrow pool");
    let row = format.row_bytes(COLS).expect("whole blocks");
    let values: Vec<f32> = (0..COLS).map(|i| (i as f32 * 0.7).sin()).collect();
    let (mut x, mut y) = (Input::new(&values), vec![0.0; ROWS]);
    type Way<'a> = Box<dyn FnMut(&[u8], &mut [f32]) + 'a>;
    let read: Way<'_> = Box::new(|w, y| {
        pool.for_each_chunk(y, ROWS.div_ceil(threads), |part, y| {
            let rows = row * y.len();
            y[0] = black_box(read(&w[part * rows..][..rows])) as f32;
        });
    });
    let mul: Way<'_> = Box::new(|w, y| {
        let matrix = Matrix::new(format, ROWS, COLS, w).expect("the shapes fit");
        gemv::mul(pool, &matrix, &mut x, y).expect("the shapes fit");
    });
    let mut ways = vec![(READING, read), (ROWPOOL.name, mul)];
    for (name, engine) in ENGINES {
        if let Some(dot) = engine(format, &values) {
            let by_row: Way<'_> = Box::new(move |w, y| {
                pool.for_each_row(y, |at, y| *y = dot(&w[at * row..][..row]));
            });
            ways.push((name, by_row));
        }
    }
    let measure = format!("{}, T = {threads}", format.name());
    let names = ways.iter().enumerate();
    let cases: Vec<Case<usize>> =
        names.map(|(way, (name, _))| (measure.clone().into(), *name, way)).collect();
    let turns = Turns::of(rounds(9), &cases, |&way| {
        let begun = Instant::now();
        bytes.chunks_exact(ROWS * row).for_each(|w| ways[way].1(w, &mut y));
        [bytes.len() as f64 / begun.elapsed().as_secs_f64() / 1e9; 3]
    });
    turns.rows(|one| {
        let share = one.over(0, &measure, READING);
        vec![one.row("GB/s", 0).compared("of reading", share, None)]
    })
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
