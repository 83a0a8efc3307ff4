//! candle-core's matrix products and the loops around them on the CPU. One line
//! per operation on standard output, with a hash of the result's bits, which
//! must not depend on what runs the loops; times on standard error.
//!
//! With arguments, MODEL KIND SECONDS, it takes the time of a model's quantised
//! products instead, one pass through them after the other, and prints the
//! median in ms.

mod pass;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [model, kind, seconds] = &args[..] {
        return pass::time(model, kind, seconds);
    }
    println!("quantised");
    // Rows x columns of layers of 135M and 1B models, and odd ones.
    for (rows, cols) in
        [(576, 576), (1536, 576), (576, 1536), (2048, 2048), (8192, 2048), (97, 256)]
    {
        for kind in [GgmlDType::Q8_0, GgmlDType::Q4K] {
            if cols % kind.block_size() != 0 {
                continue;
            }
            let weights = QTensor::quantize(&values(&[rows, cols], 1)?, kind)?;
            let product = QMatMul::from_qtensor(weights)?;
            for tokens in [1, 3] {
                let x = values(&[tokens, cols], 2)?;
                let what = format!("{kind:?} {rows}x{cols} by {tokens}");
                report(&what, || product.forward(&x))?;
            }
        }
    }
    println!("f32");
    for (m, k, n) in [(1, 576, 576), (5, 2048, 512), (64, 576, 1536), (33, 65, 129)] {
        let (a, b) = (values(&[m, k], 3)?, values(&[k, n], 4)?);
        report(&format!("matmul {m}x{k}x{n}"), || a.matmul(&b))?;
    }
    let (image, kernel) = (values(&[2, 8, 24, 24], 5)?, values(&[16, 8, 3, 3], 6)?);
    report("conv2d", || image.conv2d(&kernel, 1, 1, 1, 1))?;
    report("conv2d, dilated", || image.conv2d(&kernel, 2, 1, 2, 1))?;
    let kernel = values(&[8, 16, 3, 3], 7)?;
    report("conv_transpose2d", || image.conv_transpose2d(&kernel, 1, 0, 2, 1))?;
    let rows = values(&[37, 111], 8)?;
    report("arg_sort", || rows.arg_sort_last_dim(true)?.to_dtype(candle_core::DType::F32))?;
    eprintln!("{} threads", rayon::current_num_threads());
    Ok(())
}

/// The operation's result as a hash, and the best of its times.
fn report(what: &str, f: impl Fn() -> Result<Tensor>) -> Result<()> {
    let result = f()?.flatten_all()?.to_vec1::<f32>()?;
    let hash = result.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x100_0000_01b3)
    });
    println!("{what}: {hash:016x}");
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        std::hint::black_box(f()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    eprintln!("{what}: {:.1} µs", best * 1e6);
    Ok(())
}

/// Numbers between -1 and 1 that are the same each time.
fn values(shape: &[usize], seed: u32) -> Result<Tensor> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let values = (0..shape.iter().product()).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as i32 as f32 / i32::MAX as f32
    });
    Tensor::from_vec(values.collect::<Vec<f32>>(), shape, &Device::Cpu)
}
