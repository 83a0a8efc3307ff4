//! What a pool's edges cost: its drop, small regions after a gap by each way
//! in, spin windows, more threads than cores. Numbers S.. are those of the
//! project's list of real faults. Each line says what is required, where
//! something is. (`straggler` has what pools do in bad company.)
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench behaviour`

#[path = "support/published.rs"]
mod published;
mod support;

use published::{FORKUNION, RAYON_INSIDE};
use rowpool::Pool;
use std::hint::black_box;
use std::time::{Duration, Instant};
use support::candidate::{busy, rowpool, ROWPOOL, YARDSTICK};
use support::fork::{Candidate, Fork};
use support::machine::{clock_ns, ThreadClock};
use support::rounds::{alternate, Patience, DISTURBED};
use support::stats::{median, quantile};
use support::{rounds, short, verdict, wanted};

fn main() {
    published::set_up();
    let parts: [(&str, fn()); 4] = [
        ("drop", dropping),
        ("after_a_gap", after_a_gap),
        ("S13_window", window),
        ("S2_too_many_threads", too_many_threads),
    ];
    for (name, part) in parts {
        if wanted(name) {
            println!("\n## {name}\n");
            part();
        }
    }
}

/// `usual`, or a token part of it in short form.
fn time(usual: Duration) -> Duration {
    if short() {
        usual / 50
    } else {
        usual
    }
}

const MS: Duration = Duration::from_millis(1);

/// Repeats a measurement until nobody else used the CPUs, some times.
fn undisturbed<T>(mut measure: impl FnMut() -> T) -> (T, &'static str) {
    match Patience::new().undisturbed(DISTURBED, &mut measure) {
        (Some(result), _) => (result, ""),
        (None, _) => (measure(), " (disturbed)"),
    }
}

fn warm(pool: &Pool) {
    let begun = Instant::now();
    while begun.elapsed() < time(20 * MS) {
        pool.for_each_index(2, |i| {
            black_box(i);
        });
    }
}

fn dropping() {
    let drop_after = |rest: Duration| {
        let drops = (0..if short() { 2 } else { 50 }).map(|_| {
            let pool = rowpool(2);
            warm(&pool);
            std::thread::sleep(rest);
            let begun = Instant::now();
            drop(pool);
            begun.elapsed().as_secs_f64() * 1e6
        });
        drops.collect::<Vec<f64>>()
    };
    for (name, rest) in [("hot", Duration::ZERO), ("parked", 5 * MS)] {
        let (times, note) = undisturbed(|| drop_after(rest));
        let (middle, worst) = (median(&times), quantile(&times, 1.0));
        let met = verdict(middle <= 1000.0, true);
        println!(
            "| drop {name} | median {middle:.0} µs, worst {worst:.0} µs{note} | <= 1 ms: {met} |"
        );
    }
}

/// A region of 1 000 multiply-adds after the caller was busy for 5 ms, over the
/// same work without a pool.
fn after_a_gap() {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let work = |range: std::ops::Range<usize>| {
        black_box(x[range].iter().fold(0.0, |sum, x| sum + x * 1.5));
    };
    let clock = clock_ns();
    let pool = rowpool(2);
    let timed = |region: &dyn Fn()| {
        let regions = (0..if short() { 2 } else { 40 }).map(|_| {
            busy(5 * MS);
            let begun = Instant::now();
            region();
            begun.elapsed().as_nanos() as f64 - clock
        });
        median(&regions.collect::<Vec<f64>>())
    };
    let row = |i: usize, _: &mut f32| work(i * 500..(i + 1) * 500);
    let ways: [(&str, &dyn Fn()); 5] = [
        ("serial", &|| work(0..1000)),
        ("pool.for_each_range", &|| pool.for_each_range(1000, work)),
        ("pool.with_work(1).for_each_range", &|| pool.with_work(1).for_each_range(1000, work)),
        ("threads::for_each_row", &|| rowpool::threads::for_each_row(&mut [0.0; 2], 2, 500, row)),
        ("global().for_each_row", &|| rowpool::global().for_each_row(&mut [0.0; 2], row)),
    ];
    warm(&pool);
    warm(rowpool::global());
    let series = alternate(rounds(9), ways.len(), |i| timed(ways[i].1));
    let serial = series[0].paired(|ns| *ns);
    for ((name, _), series) in ways.iter().zip(&series) {
        let own = series.paired(|ns| *ns);
        let over = own.iter().zip(&serial).filter_map(|(own, serial)| Some((*own)? - (*serial)?));
        let over = median(&over.collect::<Vec<f64>>());
        let met = verdict(over <= 500.0, over.is_finite());
        let ns = median(&series.figures(|ns| *ns));
        println!(
            "| {name} | {ns:.0} ns, {over:+.0} over serial | <= 500: {met} | {} |",
            series.tally()
        );
    }
}

/// CPU time that the worker of a pool uses after its last region: its spin.
fn spun(window: Duration) -> Option<Duration> {
    let (send, clocks) = std::sync::mpsc::channel();
    let start = move |_| send.send(ThreadClock::mine()).expect("it is received below");
    let pool = Pool::builder().width(2).spin_window(window).on_worker_start(start).build();
    let pool = pool.expect("a narrow pool");
    let worker = clocks.recv().ok()??;
    warm(&pool);
    let before = worker.read()?;
    std::thread::sleep(5 * MS + 4 * window);
    Some(worker.read()? - before)
}

/// S13: the window is real time, whatever the CPU.
fn window() {
    for us in [50, 300, 1000] {
        let pools = if short() { 2 } else { 15 };
        let measure = || (0..pools).filter_map(|_| spun(Duration::from_micros(us))).collect();
        let (spins, note): (Vec<Duration>, _) = undisturbed(measure);
        let spins: Vec<f64> = spins.iter().map(|spin| spin.as_secs_f64() * 1e6).collect();
        let parked = median(&spins);
        let factor = parked / us as f64;
        let met = verdict((0.5..=4.0).contains(&factor), factor.is_finite());
        let times = format!("{factor:.2}, 0.5 to 4: {met}");
        println!(
            "| window {us} µs | {parked:.0} µs until parked{note} | times the window: {times} |"
        );
    }
}

/// S2: regions of 10 µs of work with more threads than cores.
fn too_many_threads() {
    let work = |range: std::ops::Range<usize>| range.for_each(|_| busy(Duration::from_micros(1)));
    let candidates = [ROWPOOL, FORKUNION, RAYON_INSIDE, YARDSTICK];
    for candidate in candidates {
        for threads in [2, 4, 8] {
            let (mut rate, mut worst) = (0.0, Duration::ZERO);
            Candidate { threads, ..candidate }.run(&mut |pool: &mut dyn Fork| {
                pool.region(10, &work);
                let begun = Instant::now();
                let mut regions = 0;
                while begun.elapsed() < time(500 * MS) {
                    let own = Instant::now();
                    pool.region(10, &work);
                    worst = worst.max(own.elapsed());
                    regions += 1;
                }
                rate = f64::from(regions) / begun.elapsed().as_secs_f64();
            });
            let required = match candidate.name == ROWPOOL.name {
                true => format!("no region over 100 ms: {}", verdict(worst <= 100 * MS, true)),
                false => String::new(),
            };
            println!(
                "| {}, {threads} threads | {rate:.0} regions/s, slowest {worst:.1?} | {required} |",
                candidate.name
            );
        }
    }
}
