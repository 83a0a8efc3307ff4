//! The example's weights: in which order a file's matrices come, what is made
//! up, and how much of a model fits.

use rowpool::Pool;
use rowpool_gemv::{quantize_q8_0, Format};

use crate::blocks::Random;
use crate::gguf::File;
use crate::limits::Available;
use crate::memory::layers_that_fit;
use crate::model::{Matrix, MODELS};
use crate::weights::seeded;
use crate::writer::{llama, Gguf, Tensor};
use crate::Temp;

fn matrices(file: &Gguf) -> Vec<Matrix> {
    let written = Temp::new("order.gguf", &file.bytes());
    File::open(&written.file(), true).unwrap().matrices().to_vec()
}

#[test]
fn matrices_come_in_the_order_of_the_step() {
    let order = |it: &Matrix| (it.layer, it.input, it.format, it.rows, it.cols);
    let found: Vec<_> = matrices(&llama()).iter().map(order).collect();
    assert_eq!(
        found[..5],
        [
            (Some(0), 0, Format::F32, 64, 64),
            (Some(0), 0, Format::F16, 32, 64),
            (Some(0), 3, Format::Q8_0, 64, 128),
            (Some(1), 0, Format::F32, 64, 64),
            (Some(1), 3, Format::Q8_0, 64, 128),
        ]
    );
    assert_eq!((found[5].0, found[5].2, found[5].3, found[5].4), (None, Format::Q8_0, 256, 64));
}

#[test]
fn embeddings_are_a_table_where_the_output_has_a_matrix() {
    let random = &mut Random(11);
    let found = matrices(&Gguf::new(vec![
        Tensor::random("token_embd.weight", "Q8_0", &[64, 256], random),
        Tensor::random("output.weight", "Q8_0", &[64, 96], random),
        Tensor::random("blk.18446744073709551615.attn_q.weight", "F32", &[64, 8], random),
        Tensor::random("dec.blk.3.attn_q.weight", "F32", &[64, 5], random),
        Tensor::random("enc.blk.3.attn_q.weight", "F32", &[64, 4], random),
        Tensor::random("blk.no.attn_q.weight", "F32", &[64, 3], random),
    ]));
    let found: Vec<_> = found.iter().map(|it| (it.layer, it.rows)).collect();
    assert_eq!(found, [(Some(0), 8), (Some(1), 5), (Some(2), 4), (None, 96), (None, 3)]);
}

#[test]
fn seeded_weights_are_the_same_in_both_formats_and_at_every_width() {
    let make = |width, format| {
        let matrix = Matrix { format, rows: 70, cols: 576, layer: None, input: 0, id: 3 };
        seeded(&Pool::new(width).unwrap(), &matrix).unwrap()
    };
    let bytes = make(1, Format::F32);
    assert_eq!(bytes, make(3, Format::F32));
    let four = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    let values: Vec<f32> = four.collect();
    let mut rounded = vec![0; values.len() / 32 * 34];
    quantize_q8_0(&values, &mut rounded).unwrap();
    assert_eq!(make(1, Format::Q8_0), rounded);
    assert_eq!(make(3, Format::Q8_0), rounded);
    // Evenly spread around 0, of variance 1/576.
    let n = values.len() as f64;
    let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
    let squares: f64 = values.iter().map(|&value| f64::from(value).powi(2)).sum();
    assert!((sum / n).abs() < 4.0 / 24.0 / n.sqrt(), "mean {}", sum / n);
    assert!((squares / n * 576.0 - 1.0).abs() < 0.02, "variance {}", squares / n * 576.0);
}

#[test]
fn models_have_their_shapes() {
    // Weights in the matrices: hidden x (2 hidden + 2 keys + 3 ffn) x layers,
    // and the vocabulary.
    for (name, matrices, weights) in [
        ("smollm2-135m", 211, 134_479_872u64),
        ("tinyllama-1.1b", 155, 1_034_420_224),
        ("llama3-8b", 225, 7_504_658_432),
    ] {
        let model = MODELS.iter().find(|model| model.name == name).unwrap();
        let found = model.matrices(Format::F32);
        let bytes = found.iter().map(|matrix| matrix.bytes() as u64);
        assert_eq!((found.len(), bytes.sum::<u64>()), (matrices, 4 * weights), "{name}");
    }
}

#[test]
fn as_many_layers_as_fit() {
    let fit = |format, wanted, bytes: Option<u64>| {
        let available = bytes.map(|bytes| Available { bytes, by: "a test".into() });
        let fit = layers_that_fit(&MODELS[2].matrices(format), wanted, available);
        fit.map(|fit| (fit.run, fit.all))
    };
    // A layer of llama3-8b has 218 103 808 weights in 43 008 rows, the head
    // 525 336 576 in 128 256; a row has two results.
    let layer = 218_103_808u64 * 4 + 43_008 * 8;
    let head = 525_336_576u64 * 4 + 128_256 * 8;
    assert_eq!(fit(Format::F32, None, None), Ok((32, 32)));
    assert_eq!(fit(Format::F32, None, Some(1 << 40)), Ok((32, 32)));
    assert_eq!(fit(Format::F32, Some(3), Some(1 << 40)), Ok((3, 32)));
    assert_eq!(fit(Format::F32, Some(99), None), Ok((32, 32)));
    let bytes = |layers: u64| Some(((head + layers * layer) as f64 / 0.8) as u64 + 2);
    assert_eq!(fit(Format::F32, None, bytes(7)), Ok((7, 32)));
    assert_eq!(fit(Format::F32, None, bytes(7).map(|bytes| bytes - 1000)), Ok((6, 32)));
    assert_eq!(fit(Format::Q8_0, None, bytes(9)), Ok((32, 32)));
    let error = fit(Format::F32, None, Some(1_000_000_000)).unwrap_err();
    for part in ["1000 MB", "(a test)", "take 800 MB", "takes 2975 MB"] {
        assert!(error.contains(part), "{error}");
    }
}
