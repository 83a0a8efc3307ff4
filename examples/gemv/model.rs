//! Which matrices a step multiplies by, and where their weights come from.

use std::borrow::Cow;

use rowpool::Pool;
use rowpool_gemv::Format;

use crate::gguf::File;
use crate::weights::seeded;

/// A llama's shape.
#[derive(Debug)]
pub struct Model {
    pub name: &'static str,
    layers: usize,
    hidden: usize,
    /// Rows of the key and value matrices.
    keys: usize,
    ffn: usize,
    vocabulary: usize,
}

pub const MODELS: [Model; 3] = [
    Model {
        name: "smollm2-135m",
        layers: 30,
        hidden: 576,
        keys: 192,
        ffn: 1536,
        vocabulary: 49_152,
    },
    Model {
        name: "tinyllama-1.1b",
        layers: 22,
        hidden: 2048,
        keys: 256,
        ffn: 5632,
        vocabulary: 32_000,
    },
    Model {
        name: "llama3-8b",
        layers: 32,
        hidden: 4096,
        keys: 1024,
        ffn: 14_336,
        vocabulary: 128_256,
    },
];

/// One matrix of the step.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub format: Format,
    pub rows: usize,
    pub cols: usize,
    /// Its layer; `None` for what comes after all layers.
    pub layer: Option<usize>,
    /// Which of the layer's inputs it is multiplied by: those with the same
    /// number share one, which is rounded once.
    pub input: usize,
    /// The seed, or the tensor's place in the file.
    pub id: usize,
}

impl Matrix {
    /// Bytes of its weights; `usize::MAX` if that is not enough.
    pub fn bytes(&self) -> usize {
        let row = self.format.row_bytes(self.cols).unwrap_or(usize::MAX);
        row.saturating_mul(self.rows)
    }
}

impl Model {
    /// In the order of the step, by layers.
    pub fn matrices(&self, format: Format) -> Vec<Matrix> {
        let Model { layers, hidden, keys, ffn, vocabulary, .. } = *self;
        let mut matrices = Vec::new();
        let mut push = |layer, input, rows, cols| {
            let id = matrices.len();
            matrices.push(Matrix { format, rows, cols, layer, input, id });
        };
        for layer in (0..layers).map(Some) {
            push(layer, 0, hidden, hidden); // query
            push(layer, 0, keys, hidden); // key
            push(layer, 0, keys, hidden); // value
            push(layer, 1, hidden, hidden); // attention's output
            push(layer, 2, ffn, hidden); // gate
            push(layer, 2, ffn, hidden); // up
            push(layer, 3, hidden, ffn); // down
        }
        push(None, 0, vocabulary, hidden);
        matrices
    }
}

/// Where weights come from.
pub enum Source {
    Seeded(&'static Model),
    Gguf(Box<File>),
}

impl Source {
    /// What is run, one after the other: made-up weights in two formats, a file
    /// as it is.
    pub fn runs(&self) -> Vec<Vec<Matrix>> {
        match self {
            Source::Seeded(model) => {
                [Format::Q8_0, Format::F32].map(|format| model.matrices(format)).into()
            }
            Source::Gguf(file) => vec![file.matrices().to_vec()],
        }
    }

    pub fn weights(&self, pool: &Pool, matrix: &Matrix) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Source::Seeded(_) => Ok(seeded(pool, matrix)?.into()),
            Source::Gguf(file) => file.weights(matrix),
        }
    }

    pub fn name(&self) -> String {
        match self {
            Source::Seeded(model) => model.name.into(),
            Source::Gguf(file) => file.name().into(),
        }
    }
}
