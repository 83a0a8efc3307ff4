//! Which matrices a step multiplies by, and where their weights come from.

use std::path::Path;

use crate::gguf::File;

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

/// Where weights come from.
pub enum Source {
    Seeded { model: &'static Model, matrices: Vec<Matrix> },
    Gguf(Box<File>),
}

impl Source {
    pub fn seeded(model: &'static Model) -> Source {
        let Model { layers, hidden, keys, ffn, vocabulary, .. } = *model;
        let mut matrices = Vec::new();
        let mut push = |layer, input, rows, cols| {
            let id = matrices.len();
            matrices.push(Matrix { rows, cols, layer, input, id });
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
        Source::Seeded { model, matrices }
    }

    pub fn open(path: &Path) -> Result<Source, String> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Source::Gguf(Box::new(file)))
    }

    /// In the order of the step, by layers.
    pub fn matrices(&self) -> &[Matrix] {
        match self {
            Source::Seeded { matrices, .. } => matrices,
            Source::Gguf(file) => file.matrices(),
        }
    }

    pub fn name(&self) -> String {
        match self {
            Source::Seeded { model, .. } => model.name.into(),
            Source::Gguf(file) => file.name().into(),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Source::Seeded { model, .. } => format!("{}, seeded weights", model.name),
            Source::Gguf(file) => file.describe(),
        }
    }
}
