//! A decode step: its weights, inputs and outputs, and a run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use rowpool::Pool;
use rowpool_gemv::{self as gemv, Format, Input};

use crate::model::{Matrix, Source};
use crate::read::read;
use crate::weights::fill;

struct Product<'s> {
    format: Format,
    weights: Cow<'s, [u8]>,
    rows: usize,
    cols: usize,
    /// Into `inputs`.
    input: usize,
    /// Into the outputs.
    outputs: Range<usize>,
    /// Into `shapes`.
    shape: usize,
    in_layer: bool,
}

/// How often a shape occurs in a format.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub format: Format,
    pub rows: usize,
    pub cols: usize,
    pub count: usize,
}

#[derive(Default)]
pub struct Step<'s> {
    products: Vec<Product<'s>>,
    inputs: Vec<Vec<f32>>,
    pub shapes: Vec<Shape>,
    /// Values of all outputs.
    outputs: usize,
}

/// Nanoseconds of a step.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub token: u64,
    /// Of that, rounding the inputs: on one thread in any case.
    pub rounding: u64,
    /// Of the token, what is in no layer.
    pub head: u64,
    /// Of the token, by shape.
    pub shapes: Vec<u64>,
}

/// What is done with the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Multiply,
    /// Their bytes are read, and no more.
    Read,
}

impl<'s> Step<'s> {
    pub fn load(source: &'s Source, pool: &Pool, matrices: &[Matrix]) -> Result<Step<'s>, String> {
        let mut step = Step::default();
        let mut inputs = BTreeMap::new();
        for matrix in matrices {
            let &Matrix { format, rows, cols, .. } = matrix;
            let weights = source.weights(pool, matrix)?;
            let known = inputs.len();
            let input = *inputs.entry((matrix.layer, matrix.input, cols)).or_insert(known);
            if input == known {
                let mut values = vec![0.0; cols];
                fill((input as u64) << 32, 2.0, &mut values);
                step.inputs.push(values);
            }
            let outputs = step.outputs..step.outputs + rows;
            step.outputs = outputs.end;
            let (shape, in_layer) = (step.shape(matrix), matrix.layer.is_some());
            let product = Product { format, weights, rows, cols, input, outputs, shape, in_layer };
            step.products.push(product);
        }
        Ok(step)
    }

    fn shape(&mut self, matrix: &Matrix) -> usize {
        let &Matrix { format, rows, cols, .. } = matrix;
        let same = |it: &Shape| (it.format, it.rows, it.cols) == (format, rows, cols);
        let index = self.shapes.iter().position(same).unwrap_or_else(|| {
            self.shapes.push(Shape { format, rows, cols, count: 0 });
            self.shapes.len() - 1
        });
        self.shapes[index].count += 1;
        index
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Takes each matrix in turn, on the pool or on this thread, and reads the
    /// clock after each (MEASUREMENTS, "clock").
    pub fn run(
        &self,
        work: Work,
        pool: Option<&Pool>,
        x: &mut Input,
        y: &mut [f32],
    ) -> Result<Sample, String> {
        let mut sample = Sample { shapes: vec![0; self.shapes.len()], ..Sample::default() };
        let start = Instant::now();
        let mut last = start;
        let mut lap = || {
            let now = Instant::now();
            let time = (now - last).as_nanos() as u64;
            last = now;
            time
        };
        let mut rounded = None;
        for product in &self.products {
            let mut rounding = 0;
            let wanted = Some((product.input, product.format.block()));
            if work == Work::Multiply && rounded != wanted {
                x.set(&self.inputs[product.input]);
                x.prepare(product.format).map_err(|error| error.to_string())?;
                rounded = wanted;
                rounding = lap();
            }
            match work {
                Work::Multiply => product.multiply(pool, x, y)?,
                Work::Read => product.read(pool),
            }
            let time = lap();
            sample.shapes[product.shape] += time;
            sample.rounding += rounding;
            if !product.in_layer {
                sample.head += time + rounding;
            }
        }
        sample.token = (last - start).as_nanos() as u64;
        Ok(sample)
    }
}

impl Product<'_> {
    fn multiply(&self, pool: Option<&Pool>, x: &mut Input, y: &mut [f32]) -> Result<(), String> {
        let y = &mut y[self.outputs.clone()];
        let done = gemv::Matrix::new(self.format, self.rows, self.cols, &self.weights).and_then(
            |matrix| match pool {
                Some(pool) => gemv::mul(pool, &matrix, x, y),
                None => gemv::mul_rows(&matrix, 0, x, y),
            },
        );
        done.map_err(|error| error.to_string())
    }

    /// The same rows to the same threads as in a product.
    fn read(&self, pool: Option<&Pool>) {
        let row = self.weights.len() / self.rows;
        let rows = |rows: Range<usize>| {
            black_box(read(&self.weights[rows.start * row..rows.end * row]));
        };
        match pool {
            Some(pool) => pool.with_work(2 * self.cols).for_each_range(self.rows, rows),
            None => rows(0..self.rows),
        }
    }
}
