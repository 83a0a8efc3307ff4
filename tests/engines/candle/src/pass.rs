//! All quantised products of one decoded token, or of a part of its layers.

use candle_core::quantized::{ggml_file, GgmlDType, QMatMul};
use candle_core::{bail, Device, Module, Result, Tensor};
use std::time::{Duration, Instant};

/// Rows and columns of a layer's matrices, of how many layers, and the head's.
struct Model {
    layer: [(usize, usize); 7],
    layers: usize,
    head: Option<(usize, usize)>,
}

/// SmolLM2-135M whole; of the larger ones so many layers that no cache holds
/// them: the head of those is as one more.
fn model(name: &str) -> Result<Model> {
    let (hidden, kv, ffn, layers, head) = match name {
        "135m" => (576, 192, 1536, 30, Some((49152, 576))),
        "1b" => (2048, 256, 5632, 4, None),
        "8b" => (4096, 1024, 14336, 1, None),
        _ => bail!("no such model: {name}"),
    };
    let layer = [
        (hidden, hidden),
        (kv, hidden),
        (kv, hidden),
        (hidden, hidden),
        (ffn, hidden),
        (ffn, hidden),
        (hidden, ffn),
    ];
    Ok(Model { layer, layers, head })
}

/// Takes passes for so many seconds, and prints the median in ms.
pub fn time(name: &str, kind: &str, seconds: &str) -> Result<()> {
    let kind = match kind {
        "Q8_0" => GgmlDType::Q8_0,
        "Q4K" => GgmlDType::Q4K,
        _ => bail!("no such kind: {kind}"),
    };
    let Model { layer, layers, head } = model(name)?;
    let shapes = layer.iter().cycle().take(layer.len() * layers).copied().chain(head);
    let products = shapes.map(|shape| product(shape, kind)).collect::<Result<Vec<_>>>()?;
    let pass = || -> Result<Duration> {
        let begun = Instant::now();
        for (product, x) in &products {
            std::hint::black_box(product.forward(x)?);
        }
        Ok(begun.elapsed())
    };
    pass()?;
    let Ok(enough) = seconds.parse().map(Duration::from_secs_f64) else {
        bail!("no number of seconds: {seconds}");
    };
    let (begun, mut times) = (Instant::now(), vec![pass()?, pass()?]);
    while begun.elapsed() < enough {
        times.push(pass()?);
    }
    times.sort_unstable();
    println!("{}", times[times.len() / 2].as_secs_f64() * 1e3);
    Ok(())
}

/// A matrix, and an input for it.
fn product((rows, cols): (usize, usize), kind: GgmlDType) -> Result<(QMatMul, Tensor)> {
    /// 0.01 as f16.
    const SCALE: [u8; 2] = [0x1f, 0x21];
    // Both kinds begin with one or two scales, and the rest may be anything.
    let scales = if kind == GgmlDType::Q4K { 2 } else { 1 };
    let mut bytes = vec![0; rows * cols / kind.block_size() * kind.type_size()];
    let mut state = 1u32;
    for block in bytes.chunks_exact_mut(kind.type_size()) {
        for byte in &mut *block {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        block[..2 * scales].copy_from_slice(&SCALE.repeat(scales));
    }
    let weights = ggml_file::qtensor_from_ggml(kind, &bytes, vec![rows, cols], &Device::Cpu)?;
    Ok((QMatMul::from_qtensor(weights)?, super::values(&[1, cols], 2)?))
}
