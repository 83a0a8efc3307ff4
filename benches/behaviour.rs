//! What a pool costs when it does little or too much is asked of it: idle,
//! drop, small regions after a gap, busy neighbours, more threads than cores,
//! many callers, spin windows. Numbers S.. are those of the project's list of
//! real faults. Each line says what is required, where something is.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench --bench behaviour`

#[path = "support/published.rs"]
mod published;
mod support;

use published::{FERROX, FORKUNION, RAYON_INSIDE};
use rowpool::Pool;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::candidate::{busy, rowpool, ROWPOOL, SERIAL, YARDSTICK};
use support::fork::{Candidate, Fork};
use support::machine::{clock_ns, own_cpu, thread_cpu, Hog, ThreadClock};
use support::rounds::{alternate, Patience, DISTURBED};
use support::stats::{median, quantile};
use support::token::{Format, Token};
use support::{rounds, short, verdict, wanted};

fn main() {
    published::set_up();
    let parts: [(&str, fn()); 8] = [
        ("idle", idle),
        ("drop", dropping),
        ("after_a_gap", after_a_gap),
        ("S13_window", window),
        ("S4_seldom", seldom),
        ("S2_too_many_threads", too_many_threads),
        ("S23_callers", callers),
        ("hogs", hogs),
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

/// CPU time of the process over 2 s, from 1 s after the last region. Others do
/// not matter here: they use CPU time of their own.
fn idle() {
    for candidate in [ROWPOOL, FORKUNION, RAYON_INSIDE, YARDSTICK] {
        let mut used = None;
        candidate.run(&mut |pool| {
            support::candidate::warm_up(pool, candidate.threads, time(20 * MS));
            std::thread::sleep(time(1000 * MS));
            let before = own_cpu();
            std::thread::sleep(time(2000 * MS));
            used = own_cpu().zip(before).map(|(now, before)| now - before);
        });
        let Some(used) = used else {
            return println!("CPU time is not known on this system");
        };
        let required = match candidate.name == ROWPOOL.name {
            true => format!("<= 0.5 ms: {}", verdict(used <= MS / 2, true)),
            false => String::new(),
        };
        println!("| {} | {:.3} ms | {required} |", candidate.name, used.as_secs_f64() * 1e3);
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

/// S4: one region per 100 ms, and per ms; the caller sleeps in between. An
/// empty region does not wake its worker at all, one of 500 µs of work does.
fn seldom() {
    let cases = [(100 * MS, 20, 0), (100 * MS, 20, 500), (MS, 1000, 0), (2 * MS, 500, 500)];
    for (every, regions, work_us) in cases {
        let measure = || {
            let pool = rowpool(2);
            warm(&pool);
            std::thread::sleep(time(20 * MS));
            let begun = Instant::now();
            let before = own_cpu()?.saturating_sub(thread_cpu()?);
            for _ in 0..if short() { 2 } else { regions } {
                pool.for_each_range(500, |range| {
                    busy(Duration::from_micros(work_us) * range.len() as u32 / 500)
                });
                std::thread::sleep(every);
            }
            let used = own_cpu()?.saturating_sub(thread_cpu()?).saturating_sub(before);
            Some(100.0 * used.as_secs_f64() / begun.elapsed().as_secs_f64())
        };
        match undisturbed(measure) {
            (Some(share), note) => {
                let required = match every > 10 * MS {
                    true => format!("<= 1%: {}", verdict(share <= 1.0, true)),
                    false => "the knob: spin_window, ROWPOOL_SPIN_US".into(),
                };
                let what = format!("{work_us} µs of work per {every:?}");
                println!("| {what} | {share:.2}% of a core per worker{note} | {required} |");
            }
            (None, _) => println!("CPU time is not known on this system"),
        }
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

/// S23: four callers of one pool.
fn callers() {
    let measure = || {
        let pool = rowpool(2);
        let stop = AtomicBool::new(false);
        let counts: [AtomicUsize; 4] = Default::default();
        std::thread::scope(|scope| {
            for count in &counts {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        pool.for_each_range(20, |range| {
                            range.for_each(|_| busy(Duration::from_micros(1)))
                        });
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(time(1000 * MS));
            stop.store(true, Ordering::Relaxed);
        });
        counts.map(|count| count.into_inner() as f64)
    };
    let (counts, note) = undisturbed(measure);
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let share = quantile(&counts, 0.0) / mean;
    let met = verdict(share >= 0.5, true);
    let share = format!("slowest/mean {share:.2} >= 0.5: {met}");
    println!("| 4 callers of one pool | {counts:?} regions{note} | {share} |");
}

/// The token beside busy loops; no requirement yet.
fn hogs() {
    let mut token = Token::new(Format::Q8_0);
    for hogs in 0..=2 {
        // Core 1 first.
        let _hogs: Vec<Hog> = (0..hogs).map(|n| Hog::on(1 - n)).collect();
        for candidate in [SERIAL, ROWPOOL, RAYON_INSIDE, FORKUNION, FERROX, YARDSTICK] {
            let mut times = Vec::new();
            let ((), note) = undisturbed(|| {
                times.clear();
                candidate.run(&mut |pool| {
                    let begun = Instant::now();
                    while times.is_empty()
                        || (begun.elapsed() < time(1200 * MS) && times.len() < 120)
                    {
                        let own = Instant::now();
                        pool.decode(&mut token);
                        times.push(own.elapsed().as_secs_f64() * 1e3);
                    }
                });
            });
            let (middle, tail) = (median(&times), quantile(&times, 0.99));
            let n = times.len();
            println!(
                "| {hogs} hogs, {} | p50 {middle:.2} ms, p99 {tail:.2} ms, {n} tokens{note} |",
                candidate.name
            );
        }
    }
}
