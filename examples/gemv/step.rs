//! A decode step in one format: its weights, inputs and outputs, and a run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use rowpool::gemv::{self, BlockQ8_0, BLOCK};
use rowpool::Pool;

use crate::memory::is_run;
use crate::model::{Matrix, Source};
use crate::weights::{fill, Format, Input, Weights};

struct Product {
    weights: Weights,
    /// Into `inputs`.
    input: usize,
    /// Into the outputs.
    rows: Range<usize>,
    /// Into `shapes`.
    shape: usize,
    in_layer: bool,
}

/// How often a shape occurs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub count: usize,
}

pub struct Step {
    format: Format,
    products: Vec<Product>,
    inputs: Vec<Vec<f32>>,
    pub shapes: Vec<Shape>,
    /// Values of all outputs.
    outputs: usize,
}

/// Nanoseconds of a step.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub token: u64,
    /// Of that, rounding the inputs to Q8_0: on one thread in any case.
    pub rounding: u64,
    /// Of the token, what is in no layer.
    pub head: u64,
    /// Of the token, by shape.
    pub shapes: Vec<u64>,
}

impl Step {
    /// The first `layers` layers and what comes after them.
    pub fn load(
        source: &mut Source,
        pool: &Pool,
        format: Format,
        layers: usize,
    ) -> Result<Step, String> {
        let matrices = source.matrices().iter().filter(|matrix| is_run(matrix, layers));
        let matrices: Vec<Matrix> = matrices.cloned().collect();
        let mut step =
            Step { format, products: vec![], inputs: vec![], shapes: vec![], outputs: 0 };
        let mut inputs = BTreeMap::new();
        for matrix in &matrices {
            let weights = match source {
                Source::Seeded { .. } => Weights::seeded(pool, format, matrix),
                Source::Gguf(file) => file.load(matrix, format)?,
            };
            let known = inputs.len();
            let key = (matrix.layer, matrix.input, matrix.cols);
            let input = *inputs.entry(key).or_insert(known);
            if input == known {
                let mut values = vec![0.0; matrix.cols];
                fill((input as u64) << 32, 2.0, &mut values);
                step.inputs.push(values);
            }
            let rows = step.outputs..step.outputs + matrix.rows;
            step.outputs = rows.end;
            let (shape, in_layer) = (step.shape(matrix), matrix.layer.is_some());
            step.products.push(Product { weights, input, rows, shape, in_layer });
        }
        Ok(step)
    }

    fn shape(&mut self, matrix: &Matrix) -> usize {
        let Matrix { rows, cols, .. } = *matrix;
        let known = self.shapes.iter().position(|shape| (shape.rows, shape.cols) == (rows, cols));
        let index = known.unwrap_or_else(|| {
            self.shapes.push(Shape { rows, cols, count: 0 });
            self.shapes.len() - 1
        });
        self.shapes[index].count += 1;
        index
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    pub fn matrices(&self) -> usize {
        self.products.len()
    }

    /// Multiplies by each matrix in turn, on the pool or on this thread, and
    /// reads the clock after each (some 30 ns of it).
    pub fn run(
        &self,
        pool: Option<&Pool>,
        blocks: &mut Vec<BlockQ8_0>,
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
            let values = &self.inputs[product.input];
            let mut rounding = 0;
            if self.format == Format::Q8_0 && rounded != Some(product.input) {
                blocks.resize(values.len() / BLOCK, BlockQ8_0::ZERO);
                gemv::quantize(values, blocks).map_err(|error| error.to_string())?;
                rounded = Some(product.input);
                rounding = lap();
            }
            let x = Input { values, blocks };
            let y = &mut y[product.rows.clone()];
            product.weights.multiply(pool, x, y).map_err(|error| error.to_string())?;
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
