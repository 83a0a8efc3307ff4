//! Reads a prompt and generates greedy tokens with ferrox: MODEL [TOKENS]. Writes
//! such a MODEL first where the file is missing.
//! Tokens and a hash of all logits on standard output, which must not depend
//! on what runs the loops; times on standard error.

mod model;

use ferrox_gguf::GgufFile;
use ferrox_models::decoder::Decoder;
use ferrox_models::ModelConfig;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: engine-ferrox MODEL [TOKENS]")?;
    let tokens: usize = args.next().map_or(Ok(32), |n| n.parse())?;

    if !std::path::Path::new(&path).exists() {
        model::write(&path)?;
    }

    ferrox_core::threads::init_cpu_pool();
    let config = ModelConfig::from_gguf(&GgufFile::open(&path)?)?;
    let decoder = Decoder::from_gguf(&path, config)?;
    let mut caches = decoder.config.new_kv_caches();
    let prompt: Vec<usize> = (0..24).map(|i| 300 + i * 37).collect();

    let start = Instant::now();
    let mut logits = decoder.forward_batch_last(&prompt, 0, &mut caches);
    let read = start.elapsed();
    let mut hash = Hash::new();
    hash.add(&logits);

    let mut chosen = Vec::new();
    let start = Instant::now();
    for position in prompt.len()..prompt.len() + tokens {
        let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        let best = best.ok_or("no logits")?;
        chosen.push(best);
        logits = decoder.forward_token(best, position, &mut caches);
        hash.add(&logits);
    }
    let wrote = start.elapsed();
    println!("tokens {chosen:?}");
    println!("logits {:016x}", hash.0);
    eprintln!(
        "{} threads: prompt {:.1} tok/s, generation {:.1} tok/s",
        rayon::current_num_threads(),
        prompt.len() as f64 / read.as_secs_f64(),
        tokens as f64 / wrote.as_secs_f64(),
    );
    Ok(())
}

/// FNV-1a over the bits of floats.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, values: &[f32]) {
        for value in values {
            self.0 = (self.0 ^ u64::from(value.to_bits())).wrapping_mul(0x100_0000_01b3);
        }
    }
}
