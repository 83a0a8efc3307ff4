//! The work: one decode step of SmolLM2-135M's shape, 211 matrices, with random
//! weights. All candidates run the same kernels, rowpool's serial ones, on the
//! same rows of the same memory.

use super::candidate::SERIAL;
use super::fork::{share, Pool};
use super::machine::Line;
use super::some;
use rowpool::Rows;
pub use rowpool_gemv::Format;
use rowpool_gemv::{self as gemv, Input};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Rows and columns of a matrix.
pub type Shape = (usize, usize);

/// The matrices of one layer, in order.
pub const fn layer(hidden: usize, kv: usize, ffn: usize) -> [Shape; 7] {
    let [square, kv, up] = [(hidden, hidden), (kv, hidden), (ffn, hidden)];
    [square, kv, kv, square, up, up, (hidden, ffn)]
}

const LAYER: [Shape; 7] = layer(576, 192, 1536);

#[derive(Clone, Copy)]
struct Matrix {
    shape: Shape,
    /// Where it begins among the weights.
    first: usize,
}

/// Those of a layer that share their input: q, k, v; out; gate, up; down.
const GROUPS: [Range<usize>; 4] = [0..3, 3..4, 4..6, 6..7];

/// How a step went.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    pub time: Duration,
    /// The longest region of it.
    pub longest: Duration,
    /// The share of its regions that were run before it was given up.
    pub done: f64,
}

/// Weights, input and output of a step.
pub struct Token {
    weights: Weights,
    matrices: Vec<Matrix>,
    /// Of each matrix, on lines of its own.
    output: Vec<Vec<Line<[f32; 32]>>>,
}

impl Token {
    /// The whole token, or one layer and a small head in short form.
    pub fn new(format: Format) -> Token {
        let mut sizes = LAYER.repeat(some(30, 1));
        sizes.push((some(49152, 1024), 576));
        Token::of(format, &sizes)
    }

    /// Of these matrices, in order.
    pub fn of(format: Format, sizes: &[Shape]) -> Token {
        let mut first = 0;
        let matrices = sizes.iter().map(|&shape| {
            let own = first;
            first += shape.0 * shape.1;
            Matrix { shape, first: own }
        });
        let matrices = matrices.collect();
        let lines = |rows: usize| (0..rows.div_ceil(32)).map(|_| Line([0.0; 32])).collect();
        let output = sizes.iter().map(|&(rows, _)| lines(rows)).collect();
        Token { weights: Weights::new(format, first, sizes), matrices, output }
    }

    pub fn format(&self) -> Format {
        self.weights.format
    }

    /// Bytes of weights.
    pub fn bytes(&self) -> usize {
        self.weights.bytes.len()
    }

    pub fn regions(&self) -> usize {
        self.matrices.len()
    }

    /// One step: a region for each matrix.
    pub fn decode(&mut self, pool: &mut impl Pool) {
        self.regions_of(pool, || true);
    }

    /// The same, given up after `limit`: with more threads than cores a spin
    /// pool may take seconds.
    pub fn paced(&mut self, pool: &mut impl Pool, limit: Duration) -> Paced {
        let begun = Instant::now();
        let (mut last, mut longest) = (begun, Duration::ZERO);
        let mut lap = |now: Instant| {
            longest = longest.max(now - last);
            last = now;
            now - begun
        };
        let regions = self.regions_of(pool, || lap(Instant::now()) < limit);
        let time = lap(Instant::now());
        Paced { time, longest, done: regions as f64 / self.regions() as f64 }
    }

    /// A region for each matrix, as long as `go_on` says so; how many.
    fn regions_of(&mut self, pool: &mut impl Pool, mut go_on: impl FnMut() -> bool) -> usize {
        let (weights, matrices, output) = self.parts();
        let mut regions = 0;
        for (&matrix, output) in matrices.iter().zip(output).take_while(|_| go_on()) {
            let rows = move |rows: Range<usize>| {
                // SAFETY: ranges of one region do not overlap, and regions
                // follow each other.
                weights.multiply(matrix, rows.start, unsafe { output.rows(rows) });
            };
            pool.run(matrix.shape.0, matrix.shape.1, rows);
            regions += 1;
        }
        regions
    }

    /// The limit: one region, in which each thread does its rows of all the
    /// matrices.
    pub fn limit(&mut self, pool: &mut impl Pool) {
        let threads = pool.width();
        let (weights, matrices, output) = self.parts();
        let output: Vec<Output<'_>> = output.collect();
        let work: usize = matrices.iter().map(|matrix| matrix.shape.0 * matrix.shape.1).sum();
        pool.slots(work, |slot| {
            for (&matrix, output) in matrices.iter().zip(&output) {
                let rows = share(matrix.shape.0, threads, slot);
                // SAFETY: as above; each slot has rows of its own.
                weights.multiply(matrix, rows.start, unsafe { output.rows(rows) });
            }
        });
    }

    /// One step by rowpool's own GEMV: `fused`, with one region for matrices that
    /// share their input; `steps`, with a layer's regions in one scope.
    pub fn by_layers(&mut self, pool: &rowpool::Pool, fused: bool, steps: bool) {
        let (weights, matrices, output) = self.parts();
        let mut output: Vec<&mut [f32]> = output.map(Output::all).collect();
        let mut inputs = weights.inputs.clone();
        let mut group = |matrices: &[Matrix], output: &mut [&mut [f32]]| {
            if fused && matrices.len() > 1 {
                let mut rows: Vec<_> = output.iter_mut().map(|rows| Rows::new(rows)).collect();
                pool.with_work(matrices[0].shape.1).rows_of(&mut rows, |at, first, part| {
                    weights.multiply(matrices[at], first, part);
                });
                return;
            }
            for (&matrix, rows) in matrices.iter().zip(output) {
                weights.gemv(pool, matrix, &mut inputs, rows);
            }
        };
        // The head is left for a last one.
        let layers = matrices.chunks(LAYER.len()).zip(output.chunks_mut(LAYER.len()));
        for (matrices, output) in layers {
            let mut all = || {
                for own in &GROUPS {
                    let own = own.start..own.end.min(matrices.len());
                    if !own.is_empty() {
                        group(&matrices[own.clone()], &mut output[own]);
                    }
                }
            };
            if steps {
                pool.scope_steps(all);
            } else {
                all();
            }
        }
    }

    /// What serial code computes, and nothing is left of.
    pub fn right(&mut self) -> Vec<u32> {
        SERIAL.run(|pool| pool.decode(self));
        let right = self.output();
        self.clear();
        right
    }

    /// What the last step computed.
    pub fn output(&self) -> Vec<u32> {
        self.output.iter().flatten().flat_map(|line| line.0).map(f32::to_bits).collect()
    }

    pub fn clear(&mut self) {
        self.output.iter_mut().flatten().for_each(|line| line.0.fill(0.0));
    }

    fn parts(&mut self) -> (&Weights, &[Matrix], impl Iterator<Item = Output<'_>>) {
        let lines = self.output.iter_mut().zip(&self.matrices);
        let output = lines
            .map(|(lines, matrix)| Output(lines.as_mut_ptr().cast(), matrix.shape.0, PhantomData));
        (&self.weights, &self.matrices, output)
    }
}

/// The output of one matrix, borrowed from the token to be handed out in parts.
struct Output<'a>(*mut f32, usize, PhantomData<&'a mut f32>);

// SAFETY: hands out what `rows` is told to, whose contract is the rest.
unsafe impl Sync for Output<'_> {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Output<'_> {}

impl<'a> Output<'a> {
    /// # Safety
    /// Nobody else uses these rows while the result is in use.
    #[allow(clippy::mut_from_ref)]
    unsafe fn rows(&self, rows: Range<usize>) -> &mut [f32] {
        assert!(rows.start <= rows.end && rows.end <= self.1);
        // SAFETY: in bounds, and by the contract nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(rows.start), rows.len()) }
    }

    fn all(self) -> &'a mut [f32] {
        // SAFETY: in bounds; borrowed mutably for 'a, by this value alone, which ends here.
        unsafe { std::slice::from_raw_parts_mut(self.0, self.1) }
    }
}

/// What all threads read.
struct Weights {
    format: Format,
    bytes: Vec<u8>,
    inputs: Inputs,
}

/// By their lengths, the numbers of columns.
type Inputs = BTreeMap<usize, Input>;

/// `len` weights, by xorshift64*: random fields, with scales and floats below 2.
pub fn random(format: Format, len: usize) -> Vec<u8> {
    let len = format.row_bytes(len).expect("whole blocks");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = (0..len.div_ceil(8)).flat_map(|_| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
    });
    let mut bytes: Vec<u8> = words.collect();
    bytes.truncate(len);
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

impl Weights {
    fn new(format: Format, len: usize, sizes: &[Shape]) -> Weights {
        let input = |cols: usize| {
            let mut x = Input::new(&(0..cols).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<_>>());
            x.prepare(format).expect("whole blocks");
            (cols, x)
        };
        let inputs = sizes.iter().map(|&(_, cols)| input(cols)).collect();
        Weights { format, bytes: random(format, len), inputs }
    }

    fn matrix(&self, Matrix { shape: (rows, cols), first }: Matrix) -> gemv::Matrix<'_> {
        let bytes = |values| self.format.row_bytes(values).expect("whole blocks");
        let bytes = &self.bytes[bytes(first)..][..bytes(rows * cols)];
        gemv::Matrix::new(self.format, rows, cols, bytes).expect("the shapes fit")
    }

    /// By rowpool's own GEMV.
    fn gemv(&self, pool: &rowpool::Pool, matrix: Matrix, inputs: &mut Inputs, y: &mut [f32]) {
        let x = inputs.get_mut(&matrix.shape.1).expect("of each shape");
        gemv::mul(pool, &self.matrix(matrix), x, y).expect("the shapes fit");
    }

    /// Rows from `first` on: the same code for all ways.
    #[inline(never)]
    fn multiply(&self, matrix: Matrix, first: usize, y: &mut [f32]) {
        let x = &self.inputs[&matrix.shape.1];
        gemv::mul_rows(&self.matrix(matrix), first, x, y).expect("the shapes fit");
    }
}
