//! What a pool's edges cost: its drop, small regions after a gap by each way
//! in, spin windows, more threads than cores. (`straggler` has what pools do in
//! bad company; S2 and S13 are scenarios of docs/SCENARIOS.md.)
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench behaviour`

#[path = "support/published.rs"]
mod published;
mod support;

use published::{FORKUNION, RAYON_INSIDE};
use rowpool::Pool;
use std::hint::black_box;
use support::machine::{clock_ns, thread_clocks};
use support::prelude::*;

fn main() {
    published::set_up();
    type Part = fn() -> Vec<Row>;
    let parts: [(&str, Part); 4] = [
        ("drop", dropping),
        ("after_a_gap", after_a_gap),
        ("S13_window", window),
        ("S2_too_many_threads", too_many_threads),
    ];
    for (name, part) in parts.into_iter().filter(|(name, _)| wanted(name)) {
        report::print(name, &part());
    }
}

/// The figures of so many, or of two in short form.
fn figures(usual: usize, mut figure: impl FnMut() -> Option<f64>) -> Vec<f64> {
    (0..some(usual, 2)).filter_map(|_| figure()).collect()
}

/// Drops of a pool whose workers spin, or sleep, in µs.
fn dropping() -> Vec<Row> {
    let cases: [Case<u64>; 2] =
        [("drop, hot".into(), ROWPOOL.name, 0), ("drop, parked".into(), ROWPOOL.name, 5)];
    let turns = Turns::of(rounds(9), &cases, |&rest| {
        let times = figures(10, || {
            let mut pool = rowpool(2);
            warm_up(&mut pool, time(20));
            std::thread::sleep(Duration::from_millis(rest));
            let begun = Instant::now();
            drop(pool);
            Some(ms(begun.elapsed()) * 1e3)
        });
        [median(&times), quantile(&times, 1.0), 0.0]
    });
    turns.rows(|one| {
        let worst = format!("worst {:.0}", quantile(&one.figures(1), 1.0));
        vec![one.row("µs", 0).note(&worst).asked(one.ours(Asked::AtMost(1000.0)))]
    })
}

/// A region of 1 000 multiply-adds after the caller was busy for 5 ms, over the
/// same work without a pool.
fn after_a_gap() -> Vec<Row> {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let work = |range: std::ops::Range<usize>| {
        black_box(x[range].iter().fold(0.0, |sum, x| sum + x * 1.5));
    };
    let row = |i: usize, _: &mut f32| work(i * 500..(i + 1) * 500);
    let (clock, mut pool) = (clock_ns(), rowpool(2));
    warm_up(&mut pool, time(20));
    let name = "1000 multiply-adds after 5 ms";
    let cases: [Case<&dyn Fn()>; 5] = [
        (name.into(), "serial", &|| work(0..1000)),
        (name.into(), "for_each_range", &|| pool.for_each_range(1000, work)),
        (name.into(), "with_work(1)", &|| pool.with_work(1).for_each_range(1000, work)),
        (name.into(), "threads::for_each_row", &|| {
            rowpool::threads::for_each_row(&mut [0.0; 2], 2, 500, row)
        }),
        (name.into(), "global()", &|| rowpool::global().for_each_row(&mut [0.0; 2], row)),
    ];
    let turns = Turns::of(rounds(9), &cases, |region| {
        let times = figures(40, || {
            busy(Duration::from_millis(5));
            let begun = Instant::now();
            region();
            Some(begun.elapsed().as_nanos() as f64 - clock)
        });
        [median(&times); 3]
    });
    turns.rows(|one| {
        let over = one.minus(0, name, "serial");
        vec![one.row("ns", 0).compared("over serial", over, Some(Asked::AtMost(500.0)))]
    })
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
        [median(&figures(5, || spun(Duration::from_micros(*us)))); 3]
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
    let mut cases: Vec<Case<Candidate>> = Vec::new();
    for threads in [2, 4, 8] {
        cases.extend([ROWPOOL, FORKUNION, RAYON_INSIDE, YARDSTICK].map(|candidate| {
            let case = Candidate { threads, ..candidate };
            (format!("10 µs, {threads} threads").into(), candidate.name, case)
        }));
    }
    let turns = Turns::of(rounds(3), &cases, many);
    turns.rows(|one| {
        let slowest = quantile(&one.figures(1), 1.0);
        let row = one.row("regions/s", 0).note(&format!("slowest {slowest:.1} ms"));
        vec![match one.candidate() == ROWPOOL.name {
            true => row.required("no region over 100 ms", slowest <= 100.0),
            false => row,
        }]
    })
}
