//! The matrices of a GGUF file.

use std::fs;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use gguf_rs_lib::error::GGUFError;
use gguf_rs_lib::format::types::GGUFTensorType;
use gguf_rs_lib::reader::GGUFFileReader;
use gguf_rs_lib::tensor::TensorInfo;
use rowpool::gemv::{self, BLOCK};

use crate::model::Matrix;
use crate::weights::{Format, Weights};

pub struct File {
    reader: GGUFFileReader<BufReader<fs::File>>,
    name: String,
    matrices: Vec<Matrix>,
    /// Matrices that are in no format read here, or are no product.
    left_out: usize,
}

impl File {
    /// Reads the header; all tensors of the formats that are read here lie
    /// within the file then.
    pub fn open(path: &Path) -> Result<File, String> {
        let io = |error: std::io::Error| error.to_string();
        // Only a plain file: opening a pipe would wait for a writer.
        if !fs::metadata(path).map_err(io)?.is_file() {
            return Err("not a file".into());
        }
        let file = fs::File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        let reader = GGUFFileReader::new(BufReader::new(file)).map_err(|error| describe(&error))?;
        let begin = reader.tensor_data_offset();
        let end = |tensor: &TensorInfo| {
            let begin = begin.checked_add(tensor.data_offset())?;
            begin.checked_add(size(tensor.tensor_type(), tensor.element_count())?)
        };
        let read = |tensor: &&TensorInfo| is_read(tensor.tensor_type());
        if reader.tensor_infos().iter().filter(read).any(|it| end(it).is_none_or(|end| end > len)) {
            return Err(TRUNCATED.into());
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let (matrices, left_out) = matrices(&reader);
        if matrices.is_empty() {
            return Err("no F32, F16 or Q8_0 matrix of whole blocks of 32 columns".into());
        }
        Ok(File { reader, name, matrices, left_out })
    }

    pub fn matrices(&self) -> &[Matrix] {
        &self.matrices
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn describe(&self) -> String {
        match self.left_out {
            0 => self.name.clone(),
            n => format!("{}, {n} other matrices left out", self.name),
        }
    }

    /// A matrix's weights. Q8_0 stays as it is, the other ways are converted.
    pub fn load(&mut self, matrix: &Matrix, format: Format) -> Result<Weights, String> {
        let tensor = &self.reader.tensor_infos()[matrix.id];
        let (name, stored) = (tensor.name().to_owned(), tensor.tensor_type());
        let failed = |error: String| format!("{name}: {error}");
        let data = self.reader.load_tensor_data(&name);
        let data = data.map_err(|error| failed(describe(&error)))?;
        let bytes = data.ok_or(failed("no data".into()))?.into_owned();

        let shape = |error: gemv::ShapeError| failed(error.to_string());
        if stored == GGUFTensorType::Q8_0 && format == Format::Q8_0 {
            return Ok(Weights::Q8_0(bytes));
        }
        let mut values = vec![0.0; matrix.rows * matrix.cols];
        match stored {
            GGUFTensorType::Q8_0 => gemv::dequantize_weights(&bytes, &mut values).map_err(shape)?,
            GGUFTensorType::F16 => {
                for (value, half) in values.iter_mut().zip(bytes.chunks_exact(2)) {
                    *value = gemv::f16_to_f32(u16::from_le_bytes([half[0], half[1]]));
                }
            }
            _ => {
                for (value, four) in values.iter_mut().zip(bytes.chunks_exact(4)) {
                    *value = f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                }
            }
        }
        match format {
            Format::F32 => Ok(Weights::F32(values)),
            Format::Q8_0 => {
                let mut bytes = vec![0; format.bytes(matrix.rows, matrix.cols)];
                gemv::quantize_weights(&values, &mut bytes).map_err(shape)?;
                Ok(Weights::Q8_0(bytes))
            }
        }
    }
}

/// The matrices that a step multiplies by, in its order, and how many others
/// there are.
fn matrices(reader: &GGUFFileReader<BufReader<fs::File>>) -> (Vec<Matrix>, usize) {
    let tensors = reader.tensor_infos();
    // Without a matrix of its own, the embeddings are the last one ("tied").
    let tied = !tensors.iter().any(|tensor| tensor.name() == "output.weight");
    let mut found = Vec::new();
    let mut left_out = 0;
    for (id, tensor) in tensors.iter().enumerate() {
        let &[cols, rows] = tensor.shape().dims() else {
            left_out += usize::from(tensor.shape().ndim() > 2);
            continue;
        };
        let readable = is_read(tensor.tensor_type());
        // A table of embeddings is looked up, not multiplied by.
        let table = tensor.name().contains("_embd") || tensor.name().contains("token_types");
        let product = !table || (tied && tensor.name() == "token_embd.weight");
        match (usize::try_from(rows), usize::try_from(cols)) {
            (Ok(rows), Ok(cols)) if readable && product && rows > 0 && cols > 0 => {
                if cols % BLOCK == 0 {
                    let (number, part) = split(tensor.name());
                    found.push((
                        number,
                        role(part, id),
                        Matrix { rows, cols, layer: None, input: 0, id },
                    ));
                } else {
                    left_out += 1;
                }
            }
            _ => left_out += usize::from(product),
        }
    }
    // Layers in order, what is in none after them.
    found.sort_by_key(|&(number, role, _)| (number.is_none(), number, role));
    // Their numbers may be anything: 0, 1, 2 from here on.
    let mut numbers: Vec<u64> = found.iter().filter_map(|&(number, ..)| number).collect();
    numbers.dedup();
    let number = |(number, (input, ..), matrix): (Option<u64>, (usize, usize), Matrix)| Matrix {
        layer: number.map(|number| numbers.partition_point(|&other| other < number)),
        input,
        ..matrix
    };
    (found.into_iter().map(number).collect(), left_out)
}

fn is_read(format: GGUFTensorType) -> bool {
    matches!(format, GGUFTensorType::F32 | GGUFTensorType::F16 | GGUFTensorType::Q8_0)
}

/// Bytes of so many elements in one of the formats that are read.
fn size(format: GGUFTensorType, elements: u64) -> Option<u64> {
    match format {
        GGUFTensorType::Q8_0 => elements.div_ceil(BLOCK as u64).checked_mul(34),
        GGUFTensorType::F16 => elements.checked_mul(2),
        _ => elements.checked_mul(4),
    }
}

/// The layer's number, and the rest of the name: `blk.7.attn_q.weight`.
fn split(name: &str) -> (Option<u64>, &str) {
    let layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    match layer.and_then(|(number, part)| Some((number.parse().ok()?, part))) {
        Some((number, part)) => (Some(number), part),
        None => (None, name),
    }
}

/// The number of the layer's input that a matrix is multiplied by, and its
/// place among those. An unknown one has an input of its own, after the others.
fn role(part: &str, id: usize) -> (usize, usize) {
    const ROLES: [&[&str]; 4] = [
        &["attn_qkv.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight"],
        &["attn_output.weight"],
        &["ffn_gate.weight", "ffn_up.weight"],
        &["ffn_down.weight"],
    ];
    let place = |parts: &&[&str]| parts.iter().position(|&known| known == part);
    let known = ROLES.iter().enumerate().find_map(|(input, parts)| Some((input, place(parts)?)));
    known.unwrap_or((ROLES.len() + id, 0))
}

const TRUNCATED: &str = "truncated: the file ends before its contents do";

fn describe(error: &GGUFError) -> String {
    match error {
        GGUFError::InvalidMagic { .. } => "not a GGUF file".into(),
        GGUFError::UnsupportedVersion(version) => {
            format!("GGUF version {version}, not 3 (or not little-endian)")
        }
        GGUFError::UnexpectedEof => TRUNCATED.into(),
        GGUFError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => TRUNCATED.into(),
        other => other.to_string(),
    }
}
