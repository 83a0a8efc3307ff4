//! The work: one decode step of SmolLM2-135M's shape, 211 matrices, with seeded
//! weights. All candidates run the same kernels, rowpool's serial ones, on the
//! same rows of the same memory.

use super::candidate::SERIAL;
use super::fork::{share, Pool};
use super::machine::Line;
use rowpool::gemv::{self, Input};
use rowpool::Rows;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Rows and columns of the matrices of one layer, in order.
const LAYER: [(usize, usize); 7] =
    [(576, 576), (192, 576), (192, 576), (576, 576), (1536, 576), (1536, 576), (576, 1536)];
const LAYERS: usize = 30;
const HEAD: (usize, usize) = (49152, 576);

/// The different shapes, the head last.
pub const SHAPES: [(usize, usize); 5] = [(576, 576), (192, 576), (1536, 576), (576, 1536), HEAD];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Q8_0,
    F32,
}

impl Format {
    fn stored(self) -> gemv::Format {
        match self {
            Format::Q8_0 => gemv::Format::Q8_0,
            Format::F32 => gemv::Format::F32,
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Format::Q8_0 { "int8 (Q8_0)" } else { "f32" })
    }
}

#[derive(Clone, Copy)]
struct Matrix {
    rows: usize,
    cols: usize,
    /// Where it begins among the weights.
    first: usize,
    shape: (usize, usize),
}

/// A `for_each_row` of ferrox's signature but for `n_rows`, which is the length.
pub type ForEachRow = fn(&mut [f32], usize, RowFn<'_>);
pub type RowFn<'a> = &'a (dyn Fn(usize, &mut f32) + Sync + Send);

/// How the matrices of a layer are run on rowpool.
#[derive(Clone, Copy, Debug)]
pub struct Fused {
    /// One region for those that share their input, or a region for each.
    pub fused: bool,
    /// All of a layer under one turn.
    pub steps: bool,
}

/// Weights, input and output of a step.
pub struct Token {
    weights: Weights,
    matrices: Vec<Matrix>,
    /// Each matrix's output begins on a line of its own.
    output: Vec<Line<[f32; 32]>>,
}

/// How a step went.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    pub time: Duration,
    /// The longest region of it.
    pub longest: Duration,
    /// The share of its regions that were run before it was given up.
    pub done: f64,
}

/// What all threads read.
struct Weights {
    format: Format,
    bytes: Vec<u8>,
    inputs: Inputs,
}

impl Token {
    /// The whole token, or a few small layers in short form.
    pub fn new(format: Format) -> Token {
        let (layers, head) = if super::short() { (1, (1024, HEAD.1)) } else { (LAYERS, HEAD) };
        let layers = LAYER.iter().cycle().take(LAYER.len() * layers).map(|&shape| (shape, shape));
        Token::of(format, layers.chain([(head, HEAD)]))
    }

    /// One region, of a matrix of this shape.
    pub fn single(format: Format, shape: (usize, usize)) -> Token {
        Token::of(format, [(shape, shape)].into_iter())
    }

    /// So many layers, without the head.
    pub fn of_layers(format: Format, layers: usize) -> Token {
        let layers = LAYER.iter().cycle().take(LAYER.len() * layers);
        Token::of(format, layers.map(|&shape| (shape, shape)))
    }

    /// Matrices of these sizes, each with the shape that it stands for.
    fn of(format: Format, sizes: impl Iterator<Item = ((usize, usize), (usize, usize))>) -> Token {
        let mut matrices = Vec::new();
        let mut first = 0;
        for ((rows, cols), shape) in sizes {
            matrices.push(Matrix { rows, cols, first, shape });
            first += rows * cols;
        }
        let rows = matrices.iter().map(|matrix| matrix.rows.div_ceil(32)).sum();
        let output = (0..rows).map(|_| Line([0.0; 32])).collect();
        Token { weights: Weights::seeded(format, first), matrices, output }
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
        self.regions_of(pool, |_| true);
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
        let regions = self.regions_of(pool, |_| lap(Instant::now()) < limit);
        let time = lap(Instant::now());
        Paced { time, longest, done: regions as f64 / self.regions() as f64 }
    }

    /// All matrices of one shape; how many there are.
    pub fn shape(&mut self, pool: &mut impl Pool, shape: (usize, usize)) -> usize {
        self.regions_of(pool, |matrix| matrix.shape == shape)
    }

    fn regions_of(
        &mut self,
        pool: &mut impl Pool,
        mut wanted: impl FnMut(&Matrix) -> bool,
    ) -> usize {
        let (weights, matrices, output) = self.parts();
        let mut regions = 0;
        for (&matrix, output) in matrices.iter().zip(output).filter(|(matrix, _)| wanted(matrix)) {
            let rows = move |rows: Range<usize>| {
                // SAFETY: ranges of one region do not overlap, and regions
                // follow each other.
                weights.multiply(matrix, rows.clone(), unsafe { output.rows(rows) });
            };
            pool.run(matrix.rows, matrix.cols, rows);
            regions += 1;
        }
        regions
    }

    /// The limit: one region, in which each thread does its rows of all the
    /// matrices.
    pub fn limit(&mut self, pool: &mut impl Pool) {
        let threads = pool.width();
        let (weights, matrices, output) = self.parts();
        let output: Vec<Output> = output.collect();
        let work: usize = matrices.iter().map(|matrix| matrix.rows * matrix.cols).sum();
        pool.slots(work, |slot| {
            for (&matrix, output) in matrices.iter().zip(&output) {
                let rows = share(matrix.rows, threads, slot);
                // SAFETY: as above; each slot has rows of its own.
                weights.multiply(matrix, rows.clone(), unsafe { output.rows(rows) });
            }
        });
    }

    /// One step by rowpool's own GEMV.
    pub fn by_gemv(&mut self, pool: &rowpool::Pool) {
        let (weights, matrices, output) = self.parts();
        let mut inputs = weights.inputs.clone();
        for (&matrix, output) in matrices.iter().zip(output) {
            // SAFETY: nobody else uses the output meanwhile.
            weights.gemv(pool, matrix, &mut inputs, unsafe { output.rows(0..matrix.rows) });
        }
    }

    /// The matrices `ops` of each layer, in groups that share their input.
    pub fn layers(&mut self, pool: &rowpool::Pool, way: Fused, ops: &[Range<usize>]) {
        let (weights, matrices, output) = self.parts();
        let output: Vec<Output> = output.collect();
        let mut inputs = weights.inputs.clone();
        let mut group = |layer: usize, ops: &Range<usize>| {
            let at = layer * LAYER.len() + ops.start..layer * LAYER.len() + ops.end;
            let (matrices, outputs) = (&matrices[at.clone()], &output[at]);
            // SAFETY: nobody else uses the outputs meanwhile, and each is another.
            let rows = outputs.iter().map(|output| unsafe { output.rows(0..output.1) });
            if way.fused {
                let mut rows: Vec<Rows<'_, f32>> = rows.map(Rows::new).collect();
                pool.with_work(matrices[0].cols).rows_of(&mut rows, |at, first, part| {
                    weights.multiply(matrices[at], first..first + part.len(), part);
                });
            } else {
                for (&matrix, rows) in matrices.iter().zip(rows) {
                    weights.gemv(pool, matrix, &mut inputs, rows);
                }
            }
        };
        for layer in 0..matrices.len() / LAYER.len() {
            let mut all = || ops.iter().for_each(|ops| group(layer, ops));
            if way.steps {
                pool.scope_steps(all);
            } else {
                all();
            }
        }
    }

    /// The same on the caller.
    pub fn layers_serial(&mut self, ops: &[Range<usize>]) {
        let (weights, matrices, output) = self.parts();
        for (i, (&matrix, output)) in matrices.iter().zip(output).enumerate() {
            if ops.iter().any(|ops| ops.contains(&(i % LAYER.len()))) {
                // SAFETY: nobody else uses the output meanwhile.
                weights.multiply(matrix, 0..matrix.rows, unsafe { output.rows(0..matrix.rows) });
            }
        }
    }

    /// One step with a closure for each row, as ferrox calls its pool.
    pub fn by_row(&mut self, for_each_row: ForEachRow) {
        let (weights, matrices, output) = self.parts();
        for (&matrix, output) in matrices.iter().zip(output) {
            let row = |row: usize, out: &mut f32| {
                weights.multiply(matrix, row..row + 1, std::slice::from_mut(out))
            };
            // SAFETY: nobody else uses the output meanwhile.
            for_each_row(unsafe { output.rows(0..matrix.rows) }, matrix.cols, &row);
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
        self.output.iter().flat_map(|line| line.0).map(f32::to_bits).collect()
    }

    pub fn clear(&mut self) {
        self.output.fill_with(|| Line([0.0; 32]));
    }

    fn parts(&mut self) -> (&Weights, &[Matrix], impl Iterator<Item = Output> + '_) {
        let mut rest = &mut self.output[..];
        let output = self.matrices.iter().map(move |matrix| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(matrix.rows.div_ceil(32));
            rest = others;
            Output(own.as_mut_ptr().cast(), matrix.rows)
        });
        (&self.weights, &self.matrices, output)
    }
}

/// The output of one matrix, to be handed out in parts.
struct Output(*mut f32, usize);

// SAFETY: hands out what `rows` is told to, whose contract is the rest.
unsafe impl Sync for Output {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Output {}

impl Output {
    /// # Safety
    /// The token is borrowed mutably, and nobody else uses these rows while the
    /// result is in use.
    #[allow(clippy::mut_from_ref)]
    unsafe fn rows(&self, rows: Range<usize>) -> &mut [f32] {
        assert!(rows.start <= rows.end && rows.end <= self.1);
        // SAFETY: in bounds, and by the contract nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(rows.start), rows.len()) }
    }
}

/// For each number of columns.
#[derive(Clone)]
struct Inputs([(usize, Input); 2]);

impl Inputs {
    fn of(&self, cols: usize) -> usize {
        self.0.iter().position(|input| input.0 == cols).expect("a shape of the model")
    }
}

impl Weights {
    fn seeded(format: Format, len: usize) -> Weights {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let inputs = Inputs([576, 1536].map(|cols| {
            let mut x = Input::new(&(0..cols).map(|_| random.number()).collect::<Vec<_>>());
            x.prepare(format.stored()).expect("whole blocks");
            (cols, x)
        }));
        let mut bytes = vec![0; format.stored().row_bytes(len).expect("whole blocks")];
        for block in bytes.chunks_exact_mut(format.stored().block_bytes()) {
            if format == Format::F32 {
                block.copy_from_slice(&random.number().to_le_bytes());
            } else {
                block.chunks_mut(8).for_each(|part| {
                    part.copy_from_slice(&random.next().to_le_bytes()[..part.len()])
                });
                // 0.01.
                block[..2].copy_from_slice(&[0x1f, 0x21]);
            }
        }
        Weights { format, bytes, inputs }
    }

    fn matrix(&self, matrix: Matrix) -> gemv::Matrix<'_> {
        let format = self.format.stored();
        let [first, len] = [matrix.first, matrix.rows * matrix.cols]
            .map(|values| format.row_bytes(values).expect("whole blocks"));
        gemv::Matrix::new(format, matrix.rows, matrix.cols, &self.bytes[first..][..len])
            .expect("the shapes fit")
    }

    /// By rowpool's own GEMV.
    fn gemv(&self, pool: &rowpool::Pool, matrix: Matrix, inputs: &mut Inputs, y: &mut [f32]) {
        let at = inputs.of(matrix.cols);
        let x = &mut inputs.0[at].1;
        gemv::mul(pool, &self.matrix(matrix), x, y).expect("the shapes fit");
    }

    /// The same code for all ways.
    #[inline(never)]
    fn multiply(&self, matrix: Matrix, rows: Range<usize>, y: &mut [f32]) {
        let x = &self.inputs.0[self.inputs.of(matrix.cols)].1;
        gemv::mul_rows(&self.matrix(matrix), rows.start, x, y).expect("the shapes fit");
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// In -1 to 1.
    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
