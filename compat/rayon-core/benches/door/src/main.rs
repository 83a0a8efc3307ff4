//! Bench `door`: shapes that programs give to rayon, over rayon's own core and
//! over this package's.
//!
//! `door-plain run` times each case once over (a median), in ns.
//! `door-plain compare PATCHED [ROUNDS] [CASE]` runs itself and the other binary
//! by turns, each round in processes of their own, and prints the ratio of the
//! medians with the middle half of the rounds' ratios.
//! `door-plain idle` prints the CPU time in µs that the process takes in one second,
//! from 200 ms after a case (Linux).

mod cases;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["run"] => run(""),
        ["run", only] => run(only),
        ["idle"] => idle(),
        ["compare", other] => compare(other, 7, ""),
        ["compare", other, rounds] => compare(other, rounds.parse().expect("a number"), ""),
        ["compare", other, rounds, only] => compare(other, rounds.parse().expect("a number"), only),
        _ => panic!("run [CASE] | idle | compare BINARY [ROUNDS [CASE]]"),
    }
}

/// Each case until it has run for 60 ms and three times; the median.
fn run(only: &str) {
    for (name, mut case) in cases::all() {
        if !name.contains(only) {
            continue;
        }
        case();
        let (begun, mut times) = (Instant::now(), Vec::new());
        while times.len() < 3 || begun.elapsed() < Duration::from_millis(60) {
            let start = Instant::now();
            case();
            times.push(start.elapsed().as_nanos() as u64);
        }
        times.sort_unstable();
        println!("{}\t{name}", times[times.len() / 2]);
    }
}

fn idle() {
    run("tiny");
    // By the scheduler's account of each thread: ns on a CPU.
    let on_cpu = || -> u64 {
        let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
        let time = |thread: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        threads.filter_map(time).sum()
    };
    std::thread::sleep(Duration::from_millis(200));
    let before = on_cpu();
    std::thread::sleep(Duration::from_secs(1));
    println!("{} us in a second", (on_cpu() - before) / 1000);
}

fn measure(binary: &str, only: &str) -> Vec<(String, f64)> {
    let output = Command::new(binary).args(["run", only]).output().expect("the binary runs");
    assert!(output.status.success(), "{binary}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let line = |line: &str| {
        let (time, name) = line.split_once('\t').expect("time and name");
        (name.to_owned(), time.parse().expect("a number"))
    };
    text.lines().map(line).collect()
}

fn compare(other: &str, rounds: usize, only: &str) {
    let this = std::env::current_exe().expect("a path");
    let this = this.to_str().expect("text");
    let mut times: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    let mut order = Vec::new();
    for round in 0..rounds {
        // Who comes first alternates too.
        let (first, second) = if round % 2 == 0 { (this, other) } else { (other, this) };
        let (a, b) = (measure(first, only), measure(second, only));
        let (plain, patched) = if round % 2 == 0 { (a, b) } else { (b, a) };
        order = plain.iter().map(|(name, _)| name.clone()).collect();
        for ((name, plain), (_, patched)) in plain.into_iter().zip(patched) {
            let entry = times.entry(name).or_default();
            entry.0.push(plain);
            entry.1.push(patched);
        }
    }
    println!("{:32} {:>10} {:>10} {:>6}  middle half", "case, ms", "rayon", "patched", "ratio");
    for name in order {
        let (plain, patched) = &times[&name];
        let ratios = sorted(plain.iter().zip(patched).map(|(plain, patched)| patched / plain));
        let (plain, patched) = (sorted(plain.iter().copied()), sorted(patched.iter().copied()));
        let (plain, patched) = (middle(&plain), middle(&patched));
        println!(
            "{name:32} {:10.3} {:10.3} {:6.2}  {:.2} to {:.2}",
            plain / 1e6,
            patched / 1e6,
            patched / plain,
            ratios[ratios.len() / 4],
            ratios[ratios.len() * 3 / 4],
        );
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
