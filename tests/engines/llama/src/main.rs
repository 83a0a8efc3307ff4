//! Writes a small llama of quantised weights as a GGUF file, and lets candle's
//! transformers read a prompt and generate greedy tokens from it. Tokens and a hash
//! of all logits on standard output, which must not depend on what runs the loops;
//! times on standard error.

use candle_core::quantized::gguf_file::{self, Content, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use std::io::{Cursor, Seek};
use std::time::Instant;

const LAYERS: usize = 2;
const WIDTH: usize = 256;
const HIDDEN: usize = 768;
const VOCABULARY: usize = 1024;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;

/// Values from a seeded generator, small enough that nothing overflows.
fn weights(state: &mut u64, shape: (usize, usize)) -> Result<Tensor> {
    let mut next = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        ((*state >> 40) as f32 / (1u32 << 24) as f32 - 0.5) * 0.2
    };
    let values: Vec<f32> = (0..shape.0 * shape.1).map(|_| next()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// The file, with every format that its kernels differ for.
fn model() -> Result<Cursor<Vec<u8>>> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut tensors = Vec::new();
    let mut matrix = |name: String, rows: usize, cols: usize, format| -> Result<()> {
        let tensor = QTensor::quantize(&weights(&mut state, (rows, cols))?, format)?;
        tensors.push((name, tensor));
        Ok(())
    };
    let kv = WIDTH / HEADS * KV_HEADS;
    matrix("token_embd.weight".into(), VOCABULARY, WIDTH, GgmlDType::Q8_0)?;
    matrix("output.weight".into(), VOCABULARY, WIDTH, GgmlDType::Q6K)?;
    for layer in 0..LAYERS {
        for (name, rows, cols, format) in [
            ("attn_q", WIDTH, WIDTH, GgmlDType::Q4K),
            ("attn_k", kv, WIDTH, GgmlDType::Q8_0),
            ("attn_v", kv, WIDTH, GgmlDType::Q5K),
            ("attn_output", WIDTH, WIDTH, GgmlDType::Q4_0),
            ("ffn_gate", HIDDEN, WIDTH, GgmlDType::Q4K),
            ("ffn_up", HIDDEN, WIDTH, GgmlDType::Q8_0),
            ("ffn_down", WIDTH, HIDDEN, GgmlDType::Q6K),
        ] {
            matrix(format!("blk.{layer}.{name}.weight"), rows, cols, format)?;
        }
    }
    let norms = (0..LAYERS).flat_map(|layer| {
        ["attn_norm", "ffn_norm"].map(|name| format!("blk.{layer}.{name}.weight"))
    });
    for name in norms.chain(["output_norm.weight".into()]) {
        let ones = Tensor::ones(WIDTH, candle_core::DType::F32, &Device::Cpu)?;
        tensors.push((name, QTensor::quantize(&ones, GgmlDType::F32)?));
    }
    let number = |n: usize| Value::U32(n as u32);
    let facts = [
        ("general.architecture", Value::String("llama".into())),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(KV_HEADS)),
        ("llama.block_count", number(LAYERS)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.rope.dimension_count", number(WIDTH / HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
    ];
    let facts: Vec<(&str, &Value)> = facts.iter().map(|(name, value)| (*name, value)).collect();
    let tensors: Vec<(&str, &QTensor)> =
        tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &facts, &tensors)?;
    file.rewind()?;
    Ok(file)
}

fn main() -> Result<()> {
    let mut file = model()?;
    let content = Content::read(&mut file)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut step = |tokens: &[u32], position: usize| -> Result<u32> {
        let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        let logits = model.forward(&input, position)?.flatten_all()?.to_vec1::<f32>()?;
        for value in &logits {
            hash = (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        Ok(best.expect("there are logits") as u32)
    };
    let prompt: Vec<u32> = (0..24).map(|i| 3 + i * 37).collect();
    let begun = Instant::now();
    let mut tokens = vec![step(&prompt, 0)?];
    eprintln!("llama, prompt {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    let begun = Instant::now();
    for position in prompt.len()..prompt.len() + 31 {
        tokens.push(step(&[tokens[tokens.len() - 1]], position)?);
    }
    eprintln!("llama, token {:.2} ms", begun.elapsed().as_secs_f64() * 1e3 / 31.0);
    println!("tokens {tokens:?}\nlogits {hash:016x}");
    Ok(())
}
