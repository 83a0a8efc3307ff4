//! What fused regions and steps save: q/k/v and gate/up as one region against
//! regions by themselves, a layer with and without `scope_steps`, and the empty
//! region as a step. Alternated rounds on one pool, medians, paired ratios.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench fused --
//! [FILTER] [--test]`; a filter is a part of a table's name, such as `layer`.

mod support;

use rowpool::Pool;
use std::ops::Range;
use support::prelude::*;
use support::token::Fused;

/// How the matrices of a layer are run; `None`: on the caller.
type Way = Option<Fused>;

const EACH: &str = "a region each";
const WAYS: [(&str, Way); 5] = [
    ("serial", None),
    (EACH, Some(Fused { fused: false, steps: false })),
    ("fused", Some(Fused { fused: true, steps: false })),
    ("steps, one each", Some(Fused { fused: false, steps: true })),
    ("steps, fused", Some(Fused { fused: true, steps: true })),
];

/// One pass over the matrices `ops` of all layers, in groups that share their
/// input.
fn pass(token: &mut Token, pool: &Pool, way: Way, ops: &[Range<usize>]) {
    match way {
        Some(way) => token.layers(pool, way, ops),
        None => token.layers_serial(ops),
    }
}

fn compare(name: &'static str, ways: &[(&'static str, Way)], ops: &[Range<usize>]) -> Vec<Row> {
    let layers = some(30, 1);
    let mut token = Token::of_layers(Format::Q8_0, layers);
    let mut pool = rowpool(2);
    let case = |&(way, how): &(&'static str, Way)| (name.into(), way, how);
    let cases: Vec<Case<Way>> = ways.iter().map(case).collect();
    pass(&mut token, &pool, None, ops);
    let right = token.output();
    let turns = Turns::of(rounds(15), &cases, |way| {
        if way.is_some() {
            warm_up(&mut pool, time(5));
        }
        token.clear();
        pass(&mut token, &pool, *way, ops);
        assert!(token.output() == right, "{way:?} computes something else");
        let us = median_of(some(15, 1), || {
            let begun = Instant::now();
            pass(&mut token, &pool, *way, ops);
            begun.elapsed().as_secs_f64() * 1e6 / layers as f64
        });
        [us; 3]
    });
    turns.rows(|one| {
        let (each, serial) = (one.speed(0, name, EACH), one.speed(0, name, "serial"));
        let row = one.row("µs a layer", 0).compared("speed over a region each", each, None);
        vec![row.compared("over serial", serial, None)]
    })
}

/// An empty region by itself and as a step, in ns.
fn empty() -> Vec<Row> {
    let regions = some(10_000, 10);
    let mut pool = rowpool(2);
    let cases: [Case<bool>; 2] =
        [("empty region".into(), ROWPOOL.name, false), ("as a step".into(), ROWPOOL.name, true)];
    let turns = Turns::of(rounds(15), &cases, |step| {
        warm_up(&mut pool, time(5));
        let batch = || (0..regions).for_each(|_| pool.for_each_range(2, |_| ()));
        let begun = Instant::now();
        if *step {
            pool.scope_steps(batch);
        } else {
            batch();
        }
        [begun.elapsed().as_secs_f64() * 1e9 / regions as f64; 3]
    });
    turns.rows(|one| {
        let over = one.over(0, "empty region", ROWPOOL.name);
        vec![one.row("ns", 0).compared("over a region by itself", over, None)]
    })
}

fn main() {
    let mut rows = Vec::new();
    if wanted("empty") {
        rows.extend(empty());
    }
    // As they stand in a layer: q, k, v; out; gate, up; down.
    let (qkv, gate_up) = (0..3, 4..6);
    for (name, ways, ops) in [
        ("qkv", &WAYS[..4], std::slice::from_ref(&qkv)),
        ("gate_up", &WAYS[..4], std::slice::from_ref(&gate_up)),
        ("layer", &WAYS, &[qkv.clone(), 3..4, gate_up.clone(), 6..7]),
    ] {
        if wanted(name) {
            rows.extend(compare(name, ways, ops));
        }
    }
    report::print("Fused regions and steps, T = 2, int8", &rows);
}
