//! Writes a GGUF file of SmolLM2-135M's shape with made-up Q8_0 weights, the same
//! at each call: what an engine computes with it means nothing, and how fast it
//! is does not depend on that.

use std::fs::File;
use std::io::{BufWriter, Result, Write};

const HIDDEN: u64 = 576;
const FFN: u64 = 1536;
const VOCAB: u64 = 49152;
const LAYERS: u32 = 30;
const HEADS: u32 = 9;
const KV_HEADS: u32 = 3;
const ALIGNMENT: usize = 32;

/// `ggml_type`.
const F32: u32 = 0;
const Q8_0: u32 = 8;

/// A value of the metadata, by its GGUF type.
enum Value<'a> {
    U32(u32),
    F32(f32),
    Text(&'a str),
    /// Tokens by their numbers; nobody reads them.
    Tokens(u64),
}

/// A matrix in Q8_0, or a norm in F32: `rows` is 0.
struct Tensor {
    name: String,
    cols: u64,
    rows: u64,
}

impl Tensor {
    fn bytes(&self) -> u64 {
        if self.rows == 0 {
            4 * self.cols
        } else {
            self.rows * self.cols / 32 * 34
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn entry(out: &mut Vec<u8>, key: &str, value: Value<'_>) {
    text(out, key);
    match value {
        Value::U32(n) => {
            out.extend(4u32.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
        Value::F32(x) => {
            out.extend(6u32.to_le_bytes());
            out.extend(x.to_le_bytes());
        }
        Value::Text(value) => {
            out.extend(8u32.to_le_bytes());
            text(out, value);
        }
        Value::Tokens(n) => {
            out.extend(9u32.to_le_bytes());
            out.extend(8u32.to_le_bytes());
            out.extend(n.to_le_bytes());
            (0..n).for_each(|i| text(out, &format!("t{i}")));
        }
    }
}

fn tensors() -> Vec<Tensor> {
    let matrix = |name: String, rows, cols| Tensor { name, cols, rows };
    let norm = |name: String| Tensor { name, cols: HIDDEN, rows: 0 };
    let kv = HIDDEN / u64::from(HEADS) * u64::from(KV_HEADS);
    let mut all =
        vec![matrix("token_embd.weight".into(), VOCAB, HIDDEN), norm("output_norm.weight".into())];
    for layer in 0..LAYERS {
        let name = |what: &str| format!("blk.{layer}.{what}.weight");
        all.extend([
            norm(name("attn_norm")),
            matrix(name("attn_q"), HIDDEN, HIDDEN),
            matrix(name("attn_k"), kv, HIDDEN),
            matrix(name("attn_v"), kv, HIDDEN),
            matrix(name("attn_output"), HIDDEN, HIDDEN),
            norm(name("ffn_norm")),
            matrix(name("ffn_gate"), FFN, HIDDEN),
            matrix(name("ffn_up"), FFN, HIDDEN),
            matrix(name("ffn_down"), HIDDEN, FFN),
        ]);
    }
    all
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
}

fn padding(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT) - len
}

pub fn write(path: &str) -> Result<()> {
    let (tensors, mut head) = (tensors(), Vec::new());
    let values = [
        ("general.architecture", Value::Text("llama")),
        ("general.name", Value::Text("SmolLM2-135M's shape, made-up weights")),
        ("general.file_type", Value::U32(7)),
        ("general.quantization_version", Value::U32(2)),
        ("llama.context_length", Value::U32(2048)),
        ("llama.embedding_length", Value::U32(HIDDEN as u32)),
        ("llama.block_count", Value::U32(LAYERS)),
        ("llama.feed_forward_length", Value::U32(FFN as u32)),
        ("llama.attention.head_count", Value::U32(HEADS)),
        ("llama.attention.head_count_kv", Value::U32(KV_HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.freq_base", Value::F32(1e5)),
        ("llama.rope.dimension_count", Value::U32(HIDDEN as u32 / HEADS)),
        ("llama.vocab_size", Value::U32(VOCAB as u32)),
        ("tokenizer.ggml.model", Value::Text("gpt2")),
        ("tokenizer.ggml.tokens", Value::Tokens(VOCAB)),
    ];
    head.extend(b"GGUF");
    head.extend(3u32.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    head.extend((values.len() as u64).to_le_bytes());
    values.into_iter().for_each(|(key, value)| entry(&mut head, key, value));
    let mut offset = 0u64;
    for tensor in &tensors {
        text(&mut head, &tensor.name);
        let dims =
            if tensor.rows == 0 { vec![tensor.cols] } else { vec![tensor.cols, tensor.rows] };
        head.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|dim| head.extend(dim.to_le_bytes()));
        head.extend((if tensor.rows == 0 { F32 } else { Q8_0 }).to_le_bytes());
        head.extend(offset.to_le_bytes());
        offset += tensor.bytes() + padding(tensor.bytes() as usize) as u64;
    }
    head.resize(head.len() + padding(head.len()), 0);

    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&head)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for tensor in &tensors {
        if tensor.rows == 0 {
            for _ in 0..tensor.cols {
                let small = (random.next() >> 40) as f32 / (1 << 24) as f32;
                out.write_all(&(0.9 + 0.2 * small).to_le_bytes())?;
            }
        } else {
            // The values of a row have a variance of 1 / cols: int8 of all sizes
            // times a scale, which is a normal number in half precision.
            let scale = (1.0 / (73.0 * (tensor.cols as f32).sqrt())).to_bits();
            let half = (((scale >> 23) - 112) << 10 | scale >> 13 & 0x3ff) as u16;
            for _ in 0..tensor.rows * tensor.cols / 32 {
                out.write_all(&half.to_le_bytes())?;
                (0..4).try_for_each(|_| out.write_all(&random.next().to_le_bytes()))?;
            }
        }
        out.write_all(&[0; ALIGNMENT][..padding(tensor.bytes() as usize)])?;
    }
    out.into_inner()?.sync_all()
}
