//! The example's weights: what a file's matrices become, in which order, and
//! how much of a model fits.

use rowpool::gemv::{BlockQ8_0, BLOCK_BYTES};
use rowpool::Pool;

use crate::memory::layers_that_fit;
use crate::model::{Matrix, Source, MODELS};
use crate::weights::{Format, Weights};
use crate::{tiny, Temp};

fn q8_0(source: &mut Source, index: usize) -> Vec<u8> {
    match load(source, index, Format::Q8_0) {
        Weights::Q8_0(bytes) => bytes,
        Weights::F32(_) => panic!("asked for Q8_0"),
    }
}

fn f32(source: &mut Source, index: usize) -> Vec<f32> {
    match load(source, index, Format::F32) {
        Weights::F32(values) => values,
        Weights::Q8_0(_) => panic!("asked for f32"),
    }
}

fn load(source: &mut Source, index: usize, format: Format) -> Weights {
    let Source::Gguf(file) = source else { panic!("a file") };
    let matrix = file.matrices()[index].clone();
    file.load(&matrix, format).unwrap()
}

#[test]
fn matrices_come_in_the_order_of_the_step() {
    let file = Temp::new("order.gguf", &tiny::llama().bytes);
    let source = Source::open(&file.0).unwrap();
    let order = |matrix: &Matrix| (matrix.layer, matrix.input, matrix.rows, matrix.cols);
    let found: Vec<_> = source.matrices().iter().map(order).collect();
    let embeddings = found[5];
    assert_eq!(
        found[..5],
        [
            (Some(0), 0, 64, 64),
            (Some(0), 0, 32, 64),
            (Some(0), 3, 64, 128),
            (Some(1), 0, 64, 64),
            (Some(1), 3, 64, 128),
        ]
    );
    assert_eq!((embeddings.0, embeddings.2, embeddings.3), (None, 256, 64));
}

#[test]
fn embeddings_are_a_table_where_the_output_has_a_matrix() {
    let tiny = tiny::gguf(&[
        tiny::q8_0_tensor("token_embd.weight", 256, 64),
        tiny::q8_0_tensor("output.weight", 96, 64),
        tiny::f32_tensor("blk.18446744073709551615.attn_q.weight", 8, 64),
    ]);
    let file = Temp::new("untied.gguf", &tiny.bytes);
    let source = Source::open(&file.0).unwrap();
    let found: Vec<_> = source.matrices().iter().map(|m| (m.layer, m.rows)).collect();
    assert_eq!(found, [(Some(0), 8), (None, 96)]);
}

#[test]
fn weights_are_the_files() {
    let file = Temp::new("weights.gguf", &tiny::llama().bytes);
    let mut source = Source::open(&file.0).unwrap();
    let expected = |n: usize| (0..n).map(tiny::value).collect::<Vec<_>>();

    // F32 and F16: the values as they are, or rounded to blocks.
    for (index, rows) in [(0, 64), (1, 32)] {
        let values = expected(rows * 64);
        assert_eq!(f32(&mut source, index), values);
        let blocks =
            values.chunks(32).map(|values| BlockQ8_0::quantize(values.try_into().unwrap()));
        let bytes: Vec<u8> = blocks.flat_map(|block| block.to_bytes()).collect();
        assert_eq!(q8_0(&mut source, index), bytes);
    }
    // Q8_0: the bytes as they are, or what they stand for.
    let bytes = tiny::q8_0_tensor("", 64, 128).data;
    assert_eq!(q8_0(&mut source, 2), bytes);
    let values = f32(&mut source, 2);
    assert_eq!(values.len(), 64 * 128);
    for (block, values) in values.chunks(32).enumerate() {
        for (i, value) in values.iter().enumerate() {
            assert_eq!(*value, f32::from(((block + i) % 255) as u8 as i8) / 32.0);
        }
    }
}

#[test]
fn seeded_weights_are_the_same_in_both_formats_and_at_every_width() {
    let matrix = Matrix { rows: 70, cols: 576, layer: None, input: 0, id: 3 };
    let make = |width, format| Weights::seeded(&Pool::new(width).unwrap(), format, &matrix);
    let Weights::F32(values) = make(1, Format::F32) else { panic!("asked for f32") };
    let Weights::Q8_0(bytes) = make(1, Format::Q8_0) else { panic!("asked for Q8_0") };
    let Weights::F32(wide) = make(3, Format::F32) else { panic!("asked for f32") };
    assert_eq!(values, wide);
    let Weights::Q8_0(wide) = make(3, Format::Q8_0) else { panic!("asked for Q8_0") };
    assert_eq!(bytes, wide);
    for (values, bytes) in values.chunks(32).zip(bytes.chunks(BLOCK_BYTES)) {
        assert_eq!(BlockQ8_0::quantize(values.try_into().unwrap()).to_bytes(), bytes);
    }
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
        let source = Source::seeded(model);
        let sizes = source.matrices().iter().map(|matrix| (matrix.rows * matrix.cols) as u64);
        assert_eq!((source.matrices().len(), sizes.sum::<u64>()), (matrices, weights), "{name}");
    }
}

#[test]
fn as_many_layers_as_fit() {
    let big = Source::seeded(&MODELS[2]);
    let fit = |format, wanted, available| {
        layers_that_fit(big.matrices(), format, wanted, available).map(|fit| (fit.run, fit.all))
    };
    // A layer of llama3-8b has 218 103 808 weights, the head 525 336 576.
    let layer = 218_103_808u64 * 4;
    let head = 525_336_576u64 * 4;
    assert_eq!(fit(Format::F32, None, None), Ok((32, 32)));
    assert_eq!(fit(Format::F32, None, Some(1 << 40)), Ok((32, 32)));
    assert_eq!(fit(Format::F32, Some(3), Some(1 << 40)), Ok((3, 32)));
    assert_eq!(fit(Format::F32, Some(99), None), Ok((32, 32)));
    let bytes = |layers: u64| Some(((head + layers * layer) as f64 / 0.8) as u64 + 2);
    assert_eq!(fit(Format::F32, None, bytes(7)), Ok((7, 32)));
    assert_eq!(fit(Format::F32, None, bytes(7).map(|bytes| bytes - 1000)), Ok((6, 32)));
    assert_eq!(fit(Format::Q8_0, None, bytes(9)), Ok((32, 32)));
    let error = fit(Format::F32, None, Some(1_000_000_000)).unwrap_err();
    assert!(error.contains("1000 MB") && error.contains("2973 MB in f32"), "{error}");
}
