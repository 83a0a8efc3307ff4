//! Writes GGUF files byte by byte, after the format's description: also such as
//! no other writer would.

use crate::blocks::{self, Random};

/// Where things lie in a file that has been written.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where the tensors' data begins.
    pub data: usize,
    /// Where the counts of tensors and of pairs, and each length of a key, a
    /// string or an array lie.
    pub counts: Vec<usize>,
    /// Where the first tensor's number of dimensions lies.
    pub first_dims: usize,
}

pub struct Tensor {
    pub name: Vec<u8>,
    /// Columns first.
    pub dims: Vec<u64>,
    pub kind: u32,
    pub data: Vec<u8>,
    /// The tensor whose data this one shares.
    pub shares: Option<usize>,
}

impl Tensor {
    /// Of any bytes.
    pub fn raw(name: &str, kind: u32, dims: &[u64], data: Vec<u8>) -> Tensor {
        Tensor { name: name.into(), dims: dims.into(), kind, data, shares: None }
    }

    /// Of random blocks whose values are numbers.
    pub fn random(name: &str, kind: &str, dims: &[u64], random: &mut Random) -> Tensor {
        let kind = blocks::kind(kind);
        let blocks = dims.iter().product::<u64>() / kind.block;
        Tensor::raw(name, kind.number, dims, blocks::random(kind, blocks, random))
    }
}

/// A value of the metadata: its type, and its bytes with the places of lengths.
pub struct Value {
    kind: u32,
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Value {
    pub fn plain(kind: u32, bytes: &[u8]) -> Value {
        Value { kind, bytes: bytes.into(), lengths: vec![] }
    }

    pub fn u16(value: u16) -> Value {
        Value::plain(2, &value.to_le_bytes())
    }

    pub fn u32(value: u32) -> Value {
        Value::plain(4, &value.to_le_bytes())
    }

    pub fn i32(value: i32) -> Value {
        Value::plain(5, &value.to_le_bytes())
    }

    pub fn string(text: impl AsRef<[u8]>) -> Value {
        let mut value = Value::plain(8, &[]);
        value.push(text.as_ref());
        value
    }

    pub fn strings<T: AsRef<[u8]>>(texts: impl ExactSizeIterator<Item = T>) -> Value {
        let mut value = Value::array(8, texts.len() as u64, &[]);
        texts.for_each(|text| value.push(text.as_ref()));
        value
    }

    pub fn array(kind: u32, count: u64, elements: &[u8]) -> Value {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(count.to_le_bytes());
        bytes.extend(elements);
        Value { kind: 9, bytes, lengths: vec![4] }
    }

    fn push(&mut self, text: &[u8]) {
        self.lengths.push(self.bytes.len());
        self.bytes.extend((text.len() as u64).to_le_bytes());
        self.bytes.extend(text);
    }
}

pub struct Gguf {
    pub version: u32,
    /// What the data is aligned to; nothing says so by itself.
    pub alignment: usize,
    /// Bytes left free behind each tensor.
    pub gap: usize,
    pub pairs: Vec<(Vec<u8>, Value)>,
    pub tensors: Vec<Tensor>,
}

impl Gguf {
    /// Version 3, with metadata of the kinds that real files have.
    pub fn new(tensors: Vec<Tensor>) -> Gguf {
        let file = Gguf { version: 3, alignment: 32, gap: 0, pairs: vec![], tensors };
        file.pair("general.architecture", Value::string("llama"))
            .pair("llama.block_count", Value::u32(2))
            .pair("llama.rope.freq_base", Value::plain(6, &1e5f32.to_le_bytes()))
            .pair("tokenizer.ggml.tokens", Value::strings(["a", "", "\u{120}the"].iter()))
    }

    pub fn pair(mut self, key: &str, value: Value) -> Gguf {
        self.pairs.push((key.into(), value));
        self
    }

    /// Aligned so, and says so.
    pub fn aligned(mut self, alignment: u32) -> Gguf {
        self.alignment = alignment as usize;
        self.pair("general.alignment", Value::u32(alignment))
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.write().0
    }

    pub fn write(&self) -> (Vec<u8>, Places) {
        let mut bytes = b"GGUF".to_vec();
        let mut places = Places { counts: vec![8, 16], ..Places::default() };
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.pairs.len() as u64).to_le_bytes());
        let string = |bytes: &mut Vec<u8>, places: &mut Places, text: &[u8]| {
            places.counts.push(bytes.len());
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text);
        };
        for (key, value) in &self.pairs {
            string(&mut bytes, &mut places, key);
            bytes.extend(value.kind.to_le_bytes());
            places.counts.extend(value.lengths.iter().map(|at| bytes.len() + at));
            bytes.extend(&value.bytes);
        }
        let mut data = Vec::new();
        let mut offsets = Vec::new();
        for tensor in &self.tensors {
            let offset = tensor.shares.map_or(data.len(), |other| offsets[other]);
            offsets.push(offset);
            string(&mut bytes, &mut places, &tensor.name);
            if places.first_dims == 0 {
                places.first_dims = bytes.len();
            }
            bytes.extend((tensor.dims.len() as u32).to_le_bytes());
            tensor.dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
            bytes.extend(tensor.kind.to_le_bytes());
            bytes.extend((offset as u64).to_le_bytes());
            if tensor.shares.is_none() {
                data.extend(&tensor.data);
                // Never zeros, which could pass for weights.
                data.resize((data.len() + self.gap).next_multiple_of(self.alignment), 0xa5);
            }
        }
        bytes.resize(bytes.len().next_multiple_of(self.alignment), 0x5a);
        places.data = bytes.len();
        bytes.extend(data);
        (bytes, places)
    }
}

/// Two layers in several formats, tied embeddings, and what is to be left out: a
/// norm (a vector), a type that is not read.
pub fn llama() -> Gguf {
    let random = &mut Random(1);
    Gguf::new(vec![
        Tensor::random("token_embd.weight", "Q8_0", &[64, 256], random),
        Tensor::random("output_norm.weight", "F32", &[64], random),
        Tensor::random("blk.1.ffn_down.weight", "Q8_0", &[128, 64], random),
        Tensor::random("blk.1.attn_q.weight", "F32", &[64, 64], random),
        Tensor::random("blk.0.attn_q.weight", "F32", &[64, 64], random),
        Tensor::random("blk.0.attn_k.weight", "F16", &[64, 32], random),
        Tensor::random("blk.0.ffn_down.weight", "Q8_0", &[128, 64], random),
        Tensor::random("blk.0.ffn_gate.weight", "MXFP4", &[64, 128], random),
    ])
}
