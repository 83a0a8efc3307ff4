//! What a pool's edges cost: spin windows, more threads than cores. (`straggler` has what pools do in
//! bad company; S2 and S13 are scenarios of docs/SCENARIOS.md.)
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench behaviour`

#[path = "support/published.rs"]
mod published;
mod support;

use published::{FORKUNION, RAYON_INSIDE};
use rowpool::Pool;
use support::machine::thread_clocks;
use support::prelude::*;

fn main() {
    type Part = fn() -> Vec<Row>;
    let parts: [(&str, Part); 2] =
        [("S13_window", window), ("S2_too_many_threads", too_many_threads)];
    for (name, part) in parts.into_iter().filter(|(name, _)| wanted(name)) {
        report::print(name, &part());
    }
}

/// CPU time that the worker of a pool uses after its last region, its spin, over
/// the window: real time, whatever the CPU (S13).
fn spun(window: Duration) -> Option<f64> {
    let builder = Pool::builder().width(2).spin_window(window).thread_name("spun");
    let mut pool = builder.build().expect("a narrow pool");
    warm_up(&mut pool, time(20));
    let before = thread_clocks("spun")?;
    std::thread::sleep(Duration::from_millis(5) + 4 * window);
    Some((thread_clocks("spun")? - before).as_secs_f64() / window.as_secs_f64())
}

fn window() -> Vec<Row> {
    let case = |us: u64| (format!("spin window of {us} µs").into(), ROWPOOL.name, us);
    let cases: [Case<u64>; 3] = [50, 300, 1000].map(case);
    let turns = Turns::of(rounds(5), &cases, |us| {
        [median_of(some(5, 1), || spun(Duration::from_micros(*us)).unwrap_or(f64::NAN)); 3]
    });
    turns.rows(|one| {
        let row = one.row("times the window", 0).asked(one.ours(Asked::AtMost(4.0)));
        vec![row.asked(one.ours(Asked::AtLeast(0.5)))]
    })
}

/// S2: regions of 10 µs of work with more threads than cores: regions a second,
/// and the slowest in ms.
fn many(candidate: &Candidate) -> Figures {
    let work = |range: std::ops::Range<usize>| range.for_each(|_| busy(Duration::from_micros(1)));
    candidate.run(|pool| {
        let (mut regions, mut slowest) = (0.0, Duration::ZERO);
        pool.region(10, &work);
        let begun = Instant::now();
        while begun.elapsed() < time(500) {
            let own = Instant::now();
            pool.region(10, &work);
            slowest = slowest.max(own.elapsed());
            regions += 1.0;
        }
        [regions / begun.elapsed().as_secs_f64(), ms(slowest), 0.0]
    })
}

fn too_many_threads() -> Vec<Row> {
    let mut cases: Vec<Case<((), Candidate)>> = Vec::new();
    for threads in [2, 4, 8] {
        let pools = [ROWPOOL, FORKUNION, RAYON_INSIDE, YARDSTICK];
        let pools = pools.map(|candidate| Candidate { threads, ..candidate });
        cases.extend(each(format!("10 µs, {threads} threads"), (), &pools));
    }
    let turns = Turns::of(rounds(3), &cases, |((), candidate)| many(candidate));
    turns.rows(|one| {
        let slowest = quantile(&one.figures(1), 1.0);
        let row = one.row("regions/s", 0).note(&format!("slowest {slowest:.1} ms"));
        vec![match one.candidate() == ROWPOOL.name {
            true => row.required("no region over 100 ms", slowest <= 100.0),
            false => row,
        }]
    })
}
