//! What fused regions and steps save: q/k/v and gate/up as one region against
//! regions by themselves, a layer with and without `scope_steps`, and the empty
//! region as a step. Alternated rounds on one pool, medians, paired ratios.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench fused -- [FILTER]
//! [--test]`; a filter is a part of a table's name, such as `layer`.

mod support;

use rowpool::gemv::{self, BlockQ8_0, BLOCK, BLOCK_BYTES};
use rowpool::{Pool, Rows};
use std::time::{Duration, Instant};
use support::candidate::{rowpool, warm_up};
use support::rounds::{alternate, Series};
use support::stats::{median, ratios};
use support::who::empty_slots;

/// Rows and columns of one layer of SmolLM2-135M.
const LAYER: [(usize, usize); 7] =
    [(576, 576), (192, 576), (192, 576), (576, 576), (1536, 576), (1536, 576), (576, 1536)];
/// Their indices.
const QKV: [usize; 3] = [0, 1, 2];
const OUT: [usize; 1] = [3];
const GATE_UP: [usize; 2] = [4, 5];
const DOWN: [usize; 1] = [6];

/// How the operations of a layer are run.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Serial,
    /// A region for each.
    Regions,
    /// A region for those that share their input.
    Fused,
    /// A region for each, under one turn.
    Steps,
    FusedSteps,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Serial => "serial",
            Way::Regions => "a region each",
            Way::Fused => "fused",
            Way::Steps => "steps, one each",
            Way::FusedSteps => "steps, fused",
        }
    }
}

/// The weights of some layers, an input and the outputs of one.
struct Model {
    layers: Vec<[Vec<u8>; 7]>,
    x: Vec<BlockQ8_0>,
    y: [Vec<f32>; 7],
}

impl Model {
    fn new(layers: usize) -> Model {
        let mut state = 1u32;
        let mut number = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let values: Vec<f32> = (0..1536).map(|_| number()).collect();
        let mut x = vec![BlockQ8_0::ZERO; values.len() / BLOCK];
        gemv::quantize(&values, &mut x).expect("whole blocks");
        let mut matrix = |(rows, cols): (usize, usize)| {
            let values: Vec<f32> = (0..cols).map(|_| number()).collect();
            let mut row = vec![0; cols / BLOCK * BLOCK_BYTES];
            gemv::quantize_weights(&values, &mut row).expect("whole blocks");
            // Each row begins elsewhere in it: not all outputs are equal.
            (0..rows).flat_map(|i| rotated(&row, i)).collect()
        };
        let layers = (0..layers).map(|_| LAYER.map(&mut matrix)).collect();
        Model { layers, x, y: LAYER.map(|(rows, _)| vec![0.0; rows]) }
    }

    /// The operations `ops` of all layers, which share their input.
    fn alike(&mut self, pool: &Pool, way: Way, ops: &[usize]) {
        for at in 0..self.layers.len() {
            match way {
                Way::Steps | Way::FusedSteps => pool.scope_steps(|| self.op(pool, way, at, ops)),
                _ => self.op(pool, way, at, ops),
            }
        }
    }

    /// All operations of all layers.
    fn whole(&mut self, pool: &Pool, way: Way) {
        for at in 0..self.layers.len() {
            let mut layer = || {
                self.op(pool, way, at, &QKV);
                self.op(pool, way, at, &OUT);
                self.op(pool, way, at, &GATE_UP);
                self.op(pool, way, at, &DOWN);
            };
            match way {
                Way::Steps | Way::FusedSteps => pool.scope_steps(layer),
                _ => layer(),
            }
        }
    }

    fn op(&mut self, pool: &Pool, way: Way, layer: usize, ops: &[usize]) {
        let Model { layers, x, y } = self;
        let (weights, first) = (&layers[layer], ops[0]);
        let (_, cols) = LAYER[first];
        let x = &x[..cols / BLOCK];
        match way {
            Way::Serial => ops.iter().for_each(|&op| product(&weights[op], x, 0, &mut y[op])),
            Way::Regions | Way::Steps => {
                for &op in ops {
                    gemv::q8_0(pool, &weights[op], x, &mut y[op]).expect("the shapes fit");
                }
            }
            Way::Fused | Way::FusedSteps => {
                let run = |outputs: &mut [Rows<'_, f32>]| {
                    pool.with_work(cols).rows_of(outputs, |output, row, part| {
                        product(&weights[first + output], x, row, part);
                    });
                };
                match &mut y[first..first + ops.len()] {
                    [a] => run(&mut [Rows::new(a)]),
                    [a, b] => run(&mut [Rows::new(a), Rows::new(b)]),
                    [a, b, c] => run(&mut [Rows::new(a), Rows::new(b), Rows::new(c)]),
                    _ => unreachable!("one to three outputs"),
                }
            }
        }
    }

    /// What the last layer computed.
    fn output(&self) -> Vec<u32> {
        self.y.iter().flatten().map(|y| y.to_bits()).collect()
    }
}

fn rotated(row: &[u8], by: usize) -> Vec<u8> {
    let blocks = row.len() / BLOCK_BYTES;
    let mut row = row.to_vec();
    row.rotate_left(by % blocks * BLOCK_BYTES);
    row
}

/// Rows `first..` of a matrix times a vector.
#[inline(never)]
fn product(weights: &[u8], x: &[BlockQ8_0], first: usize, y: &mut [f32]) {
    let row = x.len() * BLOCK_BYTES;
    let weights = &weights[first * row..][..y.len() * row];
    gemv::q8_0_serial(weights, x, y).expect("the shapes fit");
}

/// One pass over all layers, in one of the ways.
type Pass<'a> = &'a mut dyn FnMut(&Pool, Way);

/// µs per layer: the median of some passes.
fn turn(pool: &mut Pool, way: Way, layers: usize, pass: Pass<'_>) -> f64 {
    if way != Way::Serial {
        warm_up(pool, 2, Duration::from_millis(if support::short() { 1 } else { 5 }));
    }
    pass(pool, way);
    let passes = if support::short() { 1 } else { 15 };
    let times: Vec<f64> = (0..passes)
        .map(|_| {
            let begun = Instant::now();
            pass(pool, way);
            begun.elapsed().as_secs_f64() * 1e6 / layers as f64
        })
        .collect();
    median(&times)
}

fn compare(title: &str, pool: &mut Pool, layers: usize, ways: &[Way], pass: Pass<'_>) {
    let rounds = support::rounds(15);
    let series = alternate(rounds, ways.len(), |i| turn(pool, ways[i], layers, pass));
    println!("\n## {title}, T = 2, int8, {layers} layers\n");
    println!("| way | median µs | speed by a region each [95%] | by serial [95%] | rounds |");
    println!("|---|---|---|---|---|");
    let times = |series: &Series<f64>| series.paired(|us| *us);
    let of = |wanted: Way| times(&series[ways.iter().position(|way| *way == wanted).unwrap()]);
    let (serial, regions) = (of(Way::Serial), of(Way::Regions));
    for (way, series) in ways.iter().zip(&series) {
        let (own, us) = (times(series), median(&series.figures(|us| *us)));
        let (gain, whole) = (ratios(&regions, &own), ratios(&serial, &own));
        println!("| {} | {us:.2} | {gain} | {whole} | {} |", way.name(), series.tally());
    }
}

/// An empty region by itself and as a step, in ns.
fn empty(pool: &mut Pool) {
    let regions = if support::short() { 10 } else { 10_000 };
    let series = alternate(support::rounds(15), 2, |i| {
        warm_up(pool, 2, Duration::from_millis(if support::short() { 1 } else { 5 }));
        let batch = || (0..regions).for_each(|_| pool.for_each_range(2, empty_slots));
        let begun = Instant::now();
        if i == 0 {
            batch();
        } else {
            pool.scope_steps(batch);
        }
        begun.elapsed().as_secs_f64() * 1e9 / regions as f64
    });
    let gain = ratios(&series[0].paired(|ns| *ns), &series[1].paired(|ns| *ns));
    println!(
        "\n## empty regions, T = 2\n\n| by itself, ns | as a step | ratio [95%] |\n|---|---|---|"
    );
    let [alone, step] = [0, 1].map(|i| median(&series[i].figures(|ns| *ns)));
    println!("| {alone:.1} | {step:.1} | {gain} |");
}

fn main() {
    let layers = if support::short() { 1 } else { 30 };
    let mut model = Model::new(layers);
    let mut pool = rowpool(2);
    let all = [Way::Serial, Way::Regions, Way::Fused, Way::Steps, Way::FusedSteps];
    let mut bits = Vec::new();
    for way in all {
        model.y.iter_mut().for_each(|y| y.fill(0.0));
        model.whole(&pool, way);
        bits.push(model.output());
    }
    assert!(bits.iter().all(|output| *output == bits[0]), "some way computes something else");
    if support::wanted("empty") {
        empty(&mut pool);
    }
    for (title, ops) in [("qkv", &QKV[..]), ("gate_up", &GATE_UP)] {
        if support::wanted(title) {
            let mut pass = |pool: &Pool, way| model.alike(pool, way, ops);
            compare(title, &mut pool, layers, &all[..4], &mut pass);
        }
    }
    if support::wanted("layer") {
        let mut pass = |pool: &Pool, way| model.whole(pool, way);
        compare("layer", &mut pool, layers, &all, &mut pass);
    }
}
