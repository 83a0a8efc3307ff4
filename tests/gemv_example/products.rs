//! What the example computes from a file, against the values of the bytes that
//! were written.

use rowpool::Pool;
use rowpool_gemv::Input;

use crate::blocks::{self, Random};
use crate::gguf::File;
use crate::measure::same;
use crate::model::Source;
use crate::step::{Step, Work};
use crate::weights::fill;
use crate::writer::{Gguf, Tensor};
use crate::Temp;

/// Serial results and the pool's.
fn results(file: &Temp, map: bool, width: usize) -> [Vec<f32>; 2] {
    let source = Source::Gguf(Box::new(File::open(&file.file(), map).unwrap()));
    let pool = Pool::new(width).unwrap();
    let step = Step::load(&source, &pool, &source.runs()[0]).unwrap();
    [None, Some(&pool)].map(|pool| {
        let mut y = vec![f32::INFINITY; step.outputs()];
        step.run(Work::Multiply, pool, &mut Input::default(), &mut y).unwrap();
        y
    })
}

#[test]
fn products_are_those_of_the_bytes_in_the_file() {
    let mut random = Random(9);
    for (alignment, rows) in [(8, 33), (32, 1), (4096, 700)] {
        // Each in a layer, so each with an input, of its own.
        let kinds: Vec<_> = blocks::kinds().filter(|kind| kind.read).collect();
        let tensor = |(layer, kind): (usize, &blocks::Kind)| {
            let name = format!("blk.{layer}.attn_q.weight");
            Tensor::random(&name, kind.name, &[512, rows], &mut random)
        };
        let mut file = Gguf::new(kinds.iter().enumerate().map(tensor).collect()).aligned(alignment);
        file.gap = 3 * alignment as usize;
        let written = Temp::new("products.gguf", &file.bytes());
        let [serial, pool] = results(&written, true, 3);
        assert!(same(&serial, &pool));
        assert!(same(&serial, &results(&written, false, 2)[0]), "copied");

        assert_eq!(serial.len(), kinds.len() * rows as usize);
        let mut y = serial.iter();
        for (layer, (kind, tensor)) in kinds.iter().zip(&file.tensors).enumerate() {
            let mut x = vec![0.0; 512];
            fill((layer as u64) << 32, 2.0, &mut x);
            for row in blocks::values(*kind, &tensor.data).chunks(512) {
                let terms = row.iter().zip(&x).map(|(w, x)| w * f64::from(*x));
                let size: f64 = row.iter().map(|w| w.abs()).sum();
                // Inputs are below 1. Rounded to 127 steps they are half a step
                // off, and the step is a half precision number.
                let most = if kind.block > 1 { size * (0.5 / 127.0 + 1e-3) } else { size * 1e-6 };
                let (y, sum) = (f64::from(*y.next().unwrap()), terms.sum::<f64>());
                assert!((y - sum).abs() <= most, "{}: {y} for {sum}, within {most}", kind.name);
            }
        }
    }
}

#[test]
fn a_nan_is_a_nan_at_every_width() {
    // Infinities and NaNs of many payloads and both signs: their products have
    // other payloads at other widths.
    let mut random = Random(10);
    let value = |random: &mut Random| match random.below(200) {
        0 => f32::from_bits(0x7f80_0001 + random.below(0x7f_fffe) as u32),
        1 => f32::from_bits(0xff80_0001 + random.below(0x7f_fffe) as u32),
        2 => f32::INFINITY,
        3 => f32::NEG_INFINITY,
        _ => random.value(),
    };
    let data = (0..96 * 1000).flat_map(|_| value(&mut random).to_le_bytes()).collect();
    let file = Gguf::new(vec![Tensor::raw("output.weight", 0, &[1000, 96], data)]);
    let written = Temp::new("nan.gguf", &file.bytes());
    for width in [1, 2, 3, 5] {
        let [serial, pool] = results(&written, true, width);
        assert!(serial.iter().any(|y| y.is_nan()) && same(&serial, &pool), "width {width}");
    }
    assert_eq!(written.json(&[])["bitwise_equal"], true);
}

#[test]
fn same_means_the_same_bits_but_for_nan() {
    let nan = f32::from_bits(0xffc0_1234);
    assert!(same(&[1.0, f32::NAN, -0.0], &[1.0, nan, -0.0]));
    for (a, b) in [(0.0, -0.0), (1.0, 1.000_000_1), (f32::NAN, 1.0), (f32::INFINITY, f32::NAN)] {
        assert!(!same(&[a], &[b]) && !same(&[b], &[a]), "{a} and {b}");
    }
    assert!(!same(&[1.0], &[1.0, 1.0]));
}
