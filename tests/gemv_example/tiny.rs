//! Writes a tiny GGUF file byte by byte, after the format's description and
//! not through the crate that reads it.

use rowpool::gemv::f32_to_f16;

/// `ggml_type` numbers.
pub const F32: u32 = 0;
pub const F16: u32 = 1;
pub const Q4_0: u32 = 2;
pub const Q8_0: u32 = 8;

pub struct Tensor {
    pub name: &'static str,
    /// As in the file: columns first.
    pub dims: Vec<u64>,
    pub kind: u32,
    pub data: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Tiny {
    pub bytes: Vec<u8>,
    /// Where the tensors' data begins.
    pub data: usize,
    /// Where the counts of tensors and of metadata lie.
    pub tensor_count: usize,
    pub metadata_count: usize,
    /// Where some length lies: of a key, a string, an array.
    pub lengths: Vec<usize>,
    /// Where the first tensor's number of dimensions and first dimension lie.
    pub first_dims: usize,
}

const ALIGNMENT: usize = 32;

/// Version 3, little-endian, with metadata of each kind that real files have.
pub fn gguf(tensors: &[Tensor]) -> Tiny {
    let mut bytes = b"GGUF".to_vec();
    let mut lengths = Vec::new();
    bytes.extend(3u32.to_le_bytes());
    let tensor_count = bytes.len();
    bytes.extend((tensors.len() as u64).to_le_bytes());
    let metadata_count = bytes.len();
    bytes.extend(4u64.to_le_bytes());

    let string = |bytes: &mut Vec<u8>, lengths: &mut Vec<usize>, text: &str| {
        lengths.push(bytes.len());
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    string(&mut bytes, &mut lengths, "general.architecture");
    bytes.extend(8u32.to_le_bytes());
    string(&mut bytes, &mut lengths, "llama");
    string(&mut bytes, &mut lengths, "llama.block_count");
    bytes.extend(4u32.to_le_bytes());
    bytes.extend(2u32.to_le_bytes());
    string(&mut bytes, &mut lengths, "llama.rope.freq_base");
    bytes.extend(6u32.to_le_bytes());
    bytes.extend(1e5f32.to_le_bytes());
    string(&mut bytes, &mut lengths, "tokenizer.ggml.tokens");
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(8u32.to_le_bytes());
    lengths.push(bytes.len());
    bytes.extend(3u64.to_le_bytes());
    for token in ["a", "", "\u{120}the"] {
        string(&mut bytes, &mut lengths, token);
    }

    let mut first_dims = 0;
    let mut data = Vec::new();
    for tensor in tensors {
        string(&mut bytes, &mut lengths, tensor.name);
        if first_dims == 0 {
            first_dims = bytes.len();
        }
        bytes.extend((tensor.dims.len() as u32).to_le_bytes());
        for dim in &tensor.dims {
            bytes.extend(dim.to_le_bytes());
        }
        bytes.extend(tensor.kind.to_le_bytes());
        bytes.extend((data.len() as u64).to_le_bytes());
        data.extend(&tensor.data);
        data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    let start = bytes.len();
    bytes.extend(data);
    Tiny { bytes, data: start, tensor_count, metadata_count, lengths, first_dims }
}

pub fn f32_tensor(name: &'static str, rows: usize, cols: usize) -> Tensor {
    let values = (0..rows * cols).map(|i| value(i).to_le_bytes());
    let data = values.flatten().collect();
    Tensor { name, dims: vec![cols as u64, rows as u64], kind: F32, data }
}

pub fn f16_tensor(name: &'static str, rows: usize, cols: usize) -> Tensor {
    let values = (0..rows * cols).map(|i| f32_to_f16(value(i)).to_le_bytes());
    let data = values.flatten().collect();
    Tensor { name, dims: vec![cols as u64, rows as u64], kind: F16, data }
}

/// Each block's scale is 2^-5, its values count up from its number.
pub fn q8_0_tensor(name: &'static str, rows: usize, cols: usize) -> Tensor {
    let mut data = Vec::new();
    for block in 0..rows * cols / 32 {
        data.extend(f32_to_f16(1.0 / 32.0).to_le_bytes());
        data.extend((0..32).map(|i| ((block + i) % 255) as u8));
    }
    Tensor { name, dims: vec![cols as u64, rows as u64], kind: Q8_0, data }
}

/// A multiple of 1/64 in -1..1, which every format here but Q8_0 holds exactly.
pub fn value(i: usize) -> f32 {
    ((i * 37 + 11) % 127) as f32 / 64.0 - 63.0 / 64.0
}

/// Two layers with matrices in all three formats, tied embeddings, and what is
/// to be left out: norms (vectors), four bits, three dimensions, columns that
/// are not whole blocks.
pub fn llama() -> Tiny {
    gguf(&[
        q8_0_tensor("token_embd.weight", 256, 64),
        Tensor { name: "output_norm.weight", dims: vec![64], kind: F32, data: vec![0; 256] },
        q8_0_tensor("blk.1.ffn_down.weight", 64, 128),
        f32_tensor("blk.1.attn_q.weight", 64, 64),
        f32_tensor("blk.0.attn_q.weight", 64, 64),
        f16_tensor("blk.0.attn_k.weight", 32, 64),
        q8_0_tensor("blk.0.ffn_down.weight", 64, 128),
        Tensor {
            name: "blk.0.ffn_gate.weight",
            dims: vec![64, 128],
            kind: Q4_0,
            data: vec![0; 128 * 64 / 32 * 18],
        },
        Tensor {
            name: "blk.0.ffn_up_exps.weight",
            dims: vec![32, 4, 2],
            kind: F32,
            data: vec![0; 4 * 32 * 4 * 2],
        },
        f32_tensor("blk.0.narrow.weight", 8, 40),
    ])
}
