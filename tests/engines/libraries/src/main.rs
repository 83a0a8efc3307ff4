//! Crates that write parallel iterators of their own, as programs beside an engine
//! use them: a tokenizer's batches, arrays, pictures, rayon's adapters. Results go to
//! standard output, times to standard error.

use ndarray::{Array2, Axis, Zip};
use rayon::prelude::*;
use std::time::Instant;
use tokenizers::models::bpe::{BpeTrainer, BPE};
use tokenizers::models::TrainerWrapper;
use tokenizers::pre_tokenizers::whitespace::Whitespace;
use tokenizers::{AddedToken, Tokenizer};

/// Words from a seeded generator, so that both forms read the same text.
fn texts(count: usize, words: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    };
    let mut word = || {
        let letters = 2 + next() % 7;
        (0..letters).map(|_| char::from(b'a' + (next() % 11) as u8)).collect::<String>()
    };
    (0..count).map(|_| (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")).collect()
}

/// FNV-1a, to print much as little.
fn digest(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, value| {
        (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let begun = Instant::now();
    let result = work();
    eprintln!("{what} {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    result
}

fn tokens() -> tokenizers::Result<()> {
    let texts = texts(400, 60);
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(Whitespace {}));
    let unknown = vec![AddedToken::from("[UNK]", true)];
    let mut trainer: TrainerWrapper = BpeTrainer::builder()
        .vocab_size(600)
        .special_tokens(unknown)
        .show_progress(false)
        .build()
        .into();
    timed("tokenizers, train", || tokenizer.train(&mut trainer, texts.iter().map(String::as_str)))?;
    let batch = timed("tokenizers, batch", || tokenizer.encode_batch(texts.clone(), false))?;
    println!(
        "tokens {:016x}",
        digest(batch.iter().flat_map(|it| it.get_ids()).map(|&id| id.into()))
    );
    // As one by one.
    for (text, encoded) in texts.iter().zip(&batch) {
        assert_eq!(tokenizer.encode(text.as_str(), false)?.get_ids(), encoded.get_ids());
    }
    Ok(())
}

fn arrays() {
    let a = Array2::from_shape_fn((500, 300), |(i, j)| (i * 7 + j * 3) as f64 % 11.0);
    let mut b = Array2::<f64>::zeros((500, 300));
    timed("ndarray, zip", || Zip::from(&mut b).and(&a).par_for_each(|b, &a| *b = a.sqrt() + 1.0));
    let rows: Vec<f64> = timed("ndarray, rows", || {
        b.axis_iter(Axis(0)).into_par_iter().map(|row| row.iter().sum()).collect()
    });
    println!("arrays {:016x}", digest(b.iter().chain(&rows).map(|value| value.to_bits())));
}

fn images() {
    let picture = timed("image, from_par_fn", || {
        image::RgbImage::from_par_fn(640, 480, |x, y| {
            image::Rgb([(x * y % 251) as u8, (x + 3 * y) as u8, (x ^ y) as u8])
        })
    });
    let mut small = timed("image, resize", || {
        image::imageops::resize(&picture, 320, 200, image::imageops::FilterType::Lanczos3)
    });
    timed("image, par_pixels_mut", || {
        small.par_pixels_mut().for_each(|pixel| pixel.0[0] = pixel.0[0].wrapping_add(pixel.0[1]));
    });
    println!("images {:016x}", digest(small.into_raw().into_iter().map(u64::from)));
}

fn iterators() {
    let mut numbers: Vec<u64> =
        (0..200_000u64).map(|i| i.wrapping_mul(0x9e37_79b9) % 65_521).collect();
    timed("rayon, par_sort", || numbers.par_sort());
    let odd: Vec<u64> = timed("rayon, filter", || {
        numbers.par_iter().copied().filter(|n| n % 3 == 0).flat_map_iter(|n| [n, n + 1]).collect()
    });
    let mut bridged: Vec<u64> = (0..5000u64).par_bridge().map(|n| n * n).collect();
    bridged.sort_unstable();
    println!("iterators {:016x}", digest(numbers.into_iter().chain(odd).chain(bridged)));
    let first = (0..1_000_000u64).into_par_iter().find_first(|n| n * n > 1_000_000);
    println!("first {first:?}");
}

fn main() -> tokenizers::Result<()> {
    std::env::set_var("TOKENIZERS_PARALLELISM", "true");
    tokens()?;
    arrays();
    images();
    iterators();
    Ok(())
}
