//! The tensors of a GGUF model: which a decode step multiplies by, in which
//! order, and why the others are left out.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use rowpool_gemv::Format;

use crate::header::Tensor;
use crate::model::Matrix;
use crate::parts::{self, Part};
use crate::types;

pub struct File {
    parts: Vec<Part>,
    name: String,
    tensors: Vec<Entry>,
    matrices: Vec<Matrix>,
}

/// A tensor of the file.
pub struct Entry {
    pub name: String,
    /// Columns first, then rows.
    pub dims: Vec<u64>,
    /// ggml's number of the type, and its name.
    pub kind: u32,
    pub kind_name: String,
    /// Unknown for some types that are not read.
    pub bytes: Option<u64>,
    part: usize,
    at: u64,
    pub left_out: Option<LeftOut>,
}

/// Why a tensor is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    Type,
    Blocks(usize),
    Empty,
    Vector,
    Table,
    Large,
}

impl File {
    /// Reads the headers; all tensors whose size is known lie within their
    /// files then.
    pub fn open(path: &Path, map: bool) -> Result<File, String> {
        let parts = parts::open(path, map)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = one_line(&name);
        let names = || parts.iter().flat_map(|part| &part.header.tensors).map(|it| &it.name);
        // Without a matrix of its own, the embeddings are the last one ("tied").
        let tied = !names().any(|name| name == "output.weight");
        let mut seen = HashSet::new();
        if let Some(name) = names().find(|name| !seen.insert(*name)) {
            return Err(format!("tensor {name}: is in two parts"));
        }
        let mut tensors = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            for tensor in &part.header.tensors {
                let (at, bytes) = parts::place(part, tensor)?;
                tensors.push(Entry::new(tensor, number, at, bytes, tied));
            }
        }
        let matrices = matrices(&tensors);
        Ok(File { parts, name, tensors, matrices })
    }

    /// In the order of the step.
    pub fn matrices(&self) -> &[Matrix] {
        &self.matrices
    }

    /// In the order of the file.
    pub fn tensors(&self) -> &[Entry] {
        &self.tensors
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    pub fn is_mapped(&self) -> bool {
        self.parts.iter().all(Part::is_mapped)
    }

    /// A matrix's weights: where they lie, if the file is mapped.
    pub fn weights(&self, matrix: &Matrix) -> Result<Cow<'_, [u8]>, String> {
        let tensor = &self.tensors[matrix.id];
        let bytes = self.parts[tensor.part].bytes(tensor.at, tensor.bytes.unwrap_or(0));
        bytes.map_err(|error| format!("{}: {error}", tensor.name))
    }

    /// The CRC-32 of a tensor's data; `None` where its size is not known.
    pub fn crc32(&self, tensor: &Entry) -> Result<Option<u32>, String> {
        let crc = tensor.bytes.map(|bytes| self.parts[tensor.part].crc32(tensor.at, bytes));
        crc.transpose().map_err(|error| format!("{}: {error}", tensor.name))
    }

    /// What a step should multiply by and cannot: types with their tensors, in
    /// one line.
    pub fn left_out(&self) -> Option<String> {
        let mut kinds = BTreeMap::<_, Vec<&str>>::new();
        for tensor in self.tensors.iter().filter(|tensor| tensor.is_missing()) {
            kinds.entry(&tensor.kind_name).or_default().push(&tensor.name);
        }
        let mut line = String::new();
        for (kind, names) in &kinds {
            let colon = if line.is_empty() { "" } else { "; " };
            let shown = &names[..names.len().min(SHOWN)];
            // Writing to a string cannot fail.
            let _ = write!(line, "{colon}{kind}: {}", shown.join(", "));
            if names.len() > SHOWN {
                let _ = write!(line, " and {} more", names.len() - SHOWN);
            }
        }
        (!line.is_empty()).then(|| one_line(&line))
    }
}

/// Names of files and tensors may hold anything, a text has lines.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Names of one type in the line of what is left out.
const SHOWN: usize = 4;

impl Entry {
    fn new(tensor: &Tensor, part: usize, at: u64, bytes: Option<u64>, tied: bool) -> Entry {
        let known = types::kind(tensor.kind).map(|kind| kind.name.to_owned());
        let kind_name = known.unwrap_or_else(|| format!("type {}", tensor.kind));
        let Tensor { name, dims, kind, .. } = tensor;
        let (name, dims) = (name.clone(), dims.clone());
        // A table of embeddings is looked up, not multiplied by.
        let table = name.contains("_embd") || name.contains("token_types");
        let table = table && !(tied && name == "token_embd.weight");
        let left_out = match Format::from_ggml(*kind) {
            None => Some(LeftOut::Type),
            Some(_) if dims.contains(&0) => Some(LeftOut::Empty),
            Some(format) if bytes.is_none() => Some(LeftOut::Blocks(format.block())),
            Some(_) if dims.len() < 2 => Some(LeftOut::Vector),
            Some(_) if table => Some(LeftOut::Table),
            Some(_) if shape(&dims).is_none() => Some(LeftOut::Large),
            Some(_) => None,
        };
        Entry { name, dims, kind: *kind, kind_name, bytes, part, at, left_out }
    }

    /// Whether it is left out for no good reason of its own.
    pub fn is_missing(&self) -> bool {
        use LeftOut::{Blocks, Large, Type};
        matches!(self.left_out, Some(Type | Blocks(_) | Large))
    }

    /// Why it is not run, in words.
    pub fn why(&self) -> Option<String> {
        Some(match self.left_out? {
            LeftOut::Type => format!("{} is not read", self.kind_name),
            LeftOut::Blocks(block) => format!("rows are no whole blocks of {block}"),
            LeftOut::Empty => "empty".into(),
            LeftOut::Vector => "a vector".into(),
            LeftOut::Table => "a table that is looked up".into(),
            LeftOut::Large => "larger than the address space".into(),
        })
    }
}

/// Rows and columns; of more dimensions (experts), the rows of all of them.
fn shape(dims: &[u64]) -> Option<(usize, usize)> {
    let (cols, rows) = dims.split_first()?;
    let rows = rows.iter().try_fold(1u64, |rows, dim| rows.checked_mul(*dim))?;
    Some((usize::try_from(rows).ok()?, usize::try_from(*cols).ok()?))
}

/// The matrices that a step multiplies by, in its order.
fn matrices(tensors: &[Entry]) -> Vec<Matrix> {
    let mut found = Vec::new();
    for (id, tensor) in tensors.iter().enumerate() {
        let format = Format::from_ggml(tensor.kind).filter(|_| tensor.left_out.is_none());
        if let (Some(format), Some((rows, cols))) = (format, shape(&tensor.dims)) {
            let (layer, part) = split(&tensor.name);
            let matrix = Matrix { format, rows, cols, layer: None, input: 0, id };
            found.push((layer, role(part, id), matrix));
        }
    }
    // Layers in order, what is in none after them.
    found.sort_by_key(|&(layer, role, _)| (layer.is_none(), layer, role));
    // Their numbers may be anything: 0, 1, 2 from here on.
    let mut layers: Vec<_> = found.iter().filter_map(|&(layer, ..)| layer).collect();
    layers.dedup();
    let number = |(layer, (input, _), matrix): (Option<Layer<'_>>, (usize, usize), Matrix)| {
        let layer = layer.map(|layer| layers.partition_point(|other| *other < layer));
        Matrix { layer, input, ..matrix }
    };
    found.iter().cloned().map(number).collect()
}

/// A stack of layers (empty, or `enc.` and `dec.`), and the number in it.
type Layer<'n> = (&'n str, u64);

/// The layer, and the rest of the name: `blk.7.attn_q.weight`.
fn split(name: &str) -> (Option<Layer<'_>>, &str) {
    let layer = name.split_once("blk.").and_then(|(stack, rest)| {
        let (number, part) = rest.split_once('.')?;
        Some(((stack, number.parse().ok()?), part))
    });
    layer.map_or((None, name), |(layer, part)| (Some(layer), part))
}

/// The number of the layer's input that a matrix is multiplied by, and its
/// place among those. An unknown one has an input of its own, after the others.
fn role(part: &str, id: usize) -> (usize, usize) {
    const ROLES: [&[&str]; 4] = [
        &["attn_qkv.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight"],
        &["attn_output.weight"],
        &[
            "ffn_gate_inp.weight",
            "ffn_gate.weight",
            "ffn_up.weight",
            "ffn_gate_exps.weight",
            "ffn_up_exps.weight",
        ],
        &["ffn_down.weight", "ffn_down_exps.weight"],
    ];
    let place = |parts: &&[&str]| parts.iter().position(|&known| known == part);
    let known = ROLES.iter().enumerate().find_map(|(input, parts)| Some((input, place(parts)?)));
    known.unwrap_or((ROLES.len() + id, 0))
}
