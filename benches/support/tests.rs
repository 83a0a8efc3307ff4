//! Tests of what the benches stand on; `cargo test --test bench_support`.

#[path = "mod.rs"]
mod support;

use std::time::{Duration, Instant};
use support::candidate::{ROWPOOL, ROWPOOL_THREADS, SCOPE, SERIAL, YARDSTICK};
use support::machine::{Ticks, Watch, TICK};
use support::rounds::alternate;
use support::stats::{median, outside, quantile, ratios, Estimate};
use support::token::{Format, Token};
use support::who::Who;

#[test]
fn medians_and_quantiles() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    assert!(median(&[]).is_nan());
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(quantile(&hundred, 0.99), 99.0);
    assert_eq!(quantile(&hundred, 0.0), 1.0);
    assert_eq!(quantile(&hundred, 1.0), 100.0);
    assert!(quantile(&[], 0.5).is_nan());
}

/// The table of any textbook on order statistics.
#[test]
fn intervals_are_the_textbooks() {
    let ranks = [(5, 1), (6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (50, 18), (100, 40)];
    for (n, first) in ranks {
        assert_eq!(outside(n) + 1, first, "n {n}");
    }
    let values: Vec<f64> = (1..=20).map(f64::from).collect();
    assert_eq!(Estimate::of(&values), Estimate { median: 10.5, low: 6.0, high: 15.0, n: 20 });
    assert_eq!(Estimate::of(&[]).n, 0);
}

#[test]
fn ratios_need_both_turns() {
    let pairs = ratios(&[Some(2.0), None, Some(9.0)], &[Some(1.0), Some(1.0), Some(3.0)]);
    assert_eq!((pairs.median, pairs.n), (2.5, 2));
}

#[test]
fn every_candidate_has_a_turn_in_each_round() {
    let mut turns = Vec::new();
    let series = alternate(2, 3, |i| turns.push(i));
    assert_eq!(turns, [0, 1, 2, 1, 2, 0]);
    assert!(series.iter().all(|series| series.kept().count() == 2));
}

#[test]
fn proc_stat_is_read() {
    let stat = "cpu  100 20 30 4000 5 6 7 8 0 0\ncpu0 1 2 3 4\n";
    let ticks = Ticks { busy: TICK * 163, stolen: TICK * 8 };
    assert_eq!(Ticks::parse(stat), Some(ticks));
    assert_eq!(
        Ticks::parse("cpu  1 2 3 4\n"),
        Some(Ticks { busy: TICK * 6, stolen: Duration::ZERO })
    );
    assert_eq!(Ticks::parse("intr 5\n"), None);
    assert_eq!(Ticks::parse(""), None);
}

#[test]
fn foreign_time_is_what_the_machine_has() {
    let watch = Watch::start();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(50) {}
    if let Some(foreign) = watch.foreign() {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get()) as u32;
        // Whole ticks may fall into it.
        assert!(foreign <= (begun.elapsed() + 2 * TICK) * cpus, "{foreign:?}");
    }
}

#[test]
fn forked_regions_are_told_from_others() {
    let who = Who::new(2, 4);
    for region in 0..4 {
        who.note(0);
        if region == 2 {
            std::thread::scope(|scope| scope.spawn(|| who.note(1)).join().unwrap());
        } else {
            who.note(1);
        }
    }
    assert_eq!(who.forked(), 0.25);
}

/// The token here is the short one.
#[test]
fn all_ways_give_the_same_bits() {
    for format in [Format::Q8_0, Format::F32] {
        let mut token = Token::new(format);
        SERIAL.run(&mut |pool| pool.decode(&mut token));
        let right = token.output();
        assert!(right.iter().filter(|&&bits| bits != 0).count() > right.len() / 2);
        for candidate in [ROWPOOL, ROWPOOL_THREADS, YARDSTICK, SCOPE] {
            token.clear();
            candidate.run(&mut |pool| pool.decode(&mut token));
            assert_eq!(token.output(), right, "{}", candidate.name);
            token.clear();
            candidate.run(&mut |pool| pool.limit(&mut token, 2));
            assert_eq!(token.output(), right, "{}", candidate.name);
        }
        token.clear();
        token.by_gemv(&rowpool::Pool::new(2).unwrap());
        assert_eq!(token.output(), right);
        token.clear();
        token.by_row(|rows, _, f| rows.iter_mut().enumerate().for_each(|(row, out)| f(row, out)));
        assert_eq!(token.output(), right);
    }
}
