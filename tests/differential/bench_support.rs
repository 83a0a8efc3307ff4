//! Tests of what the benches stand on; `cargo test -p rowpool-differential`.

#[path = "../../benches/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};
use support::candidate::{
    FUSED, GEMV, LIMIT, ROWPOOL, ROWPOOL_COMMON, ROWPOOL_MUTEX, ROWPOOL_THREADS, SCOPE, SERIAL,
    STEPS, YARDSTICK, YARDSTICK_COMMON,
};
use support::machine::{Ticks, Watch, TICK};
use support::rounds::alternate_within;
use support::stats::{median, outside, quantile, Estimate};
use support::token::{Format, Token};
use support::who::{empty_slot, forked};

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
fn every_candidate_has_a_turn_in_each_round() {
    let mut turns = Vec::new();
    let series = alternate_within(
        |_| 1.0,
        2,
        3,
        |i| {
            turns.push(i);
            Some(())
        },
    );
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
    let mut region = 0;
    let forked = forked(2, 4, || {
        empty_slot(0);
        if region == 2 {
            std::thread::scope(|scope| scope.spawn(|| empty_slot(1)).join().unwrap());
        } else {
            empty_slot(1);
        }
        region += 1;
    });
    assert_eq!(forked, 0.25);
}

/// The token here is the short one.
#[test]
fn all_ways_give_the_same_bits() {
    for format in [Format::Q8_0, Format::F32] {
        let mut token = Token::new(format);
        let right = token.right();
        assert!(right.iter().filter(|&&bits| bits != 0).count() > right.len() / 2);
        let ways = [GEMV, FUSED, STEPS, LIMIT];
        for candidate in ways.into_iter().chain([ROWPOOL, ROWPOOL_THREADS, YARDSTICK, SCOPE]) {
            token.clear();
            candidate.run(|pool| pool.decode(&mut token));
            assert_eq!(token.output(), right, "{}", candidate.name);
        }
    }
}

/// A token that takes too long is given up, and says how far it came.
#[test]
fn a_paced_token_ends_in_time() {
    let mut token = Token::new(Format::Q8_0);
    let right = token.right();
    SERIAL.run(|pool| {
        let none = pool.paced(&mut token, Duration::ZERO);
        assert_eq!((none.done, token.output().iter().max()), (0.0, Some(&0)));
        let all = pool.paced(&mut token, Duration::from_secs(60));
        assert!(all.done == 1.0 && all.longest <= all.time && token.output() == right);
    });
}

/// Two pools of a kind, and pools with several callers, do the same.
#[test]
fn pairs_and_shared_pools_run_every_item_once() {
    let mut token = Token::new(Format::Q8_0);
    let right = token.right();
    for pool in [ROWPOOL, YARDSTICK] {
        token.clear();
        pool.twice.unwrap()(2, &mut |pool| pool.decode(&mut token));
        assert_eq!(token.output(), right, "{}", pool.name);
    }
    for common in [ROWPOOL_COMMON, ROWPOOL_MUTEX, YARDSTICK_COMMON] {
        let items = std::sync::atomic::AtomicUsize::new(0);
        let count = |range: std::ops::Range<usize>| {
            items.fetch_add(range.len(), std::sync::atomic::Ordering::Relaxed);
        };
        (common.open)(&mut |pool| {
            std::thread::scope(|scope| {
                (0..3).for_each(|_| drop(scope.spawn(|| pool.region(100, &count))));
            });
        });
        assert_eq!(items.into_inner(), 300, "{}", common.name);
    }
}
