//! Real engines on rayon, on pools of their own and on rowpool, as programs that
//! are started in turn: tokens per second of ferrox 0.25 (tg32), candle 0.9's
//! quantised products, and the token on candle 0.11's barrier pool.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench engine --
//! [FILTER] [--test]`; filters are `ferrox`, `candle` and `barrier_pool`. It builds
//! the packages in `tests/engines` first, some minutes. ferrox runs
//! the GGUF file of `ROWPOOL_BENCH_GGUF`, or one that it writes.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::candidate::BARRIER_POOLS;
use support::child::{self, Hog};
use support::prelude::*;

/// A part of the bench; `None`, with a line, where it cannot be run.
type Part = fn(target: &Path) -> Option<Vec<Row>>;

fn main() {
    child::run(|role| panic!("an unknown role: {role}"));
    let mut rows = Vec::new();
    let parts: [(&str, Part); 3] =
        [("ferrox", ferrox), ("candle", candle), ("barrier_pool", barrier_pool)];
    // Beside this program's own `release`, as `.ci/engines` does it.
    let own = std::env::current_exe().expect("this program has a path");
    let target = own.ancestors().nth(3).expect("target/release/deps/engine").join("engines");
    for (name, part) in parts.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("measuring: {name}");
        match part(&target) {
            Some(measured) => rows.extend(measured),
            None => println!("{name}: skipped"),
        }
    }
    report::print("Engines", &rows);
}

/// Builds `tests/engines/<package>`; its program. In short form only those count
/// that are there already: the builds take minutes.
fn build(target: &Path, package: &str, program: &str) -> Option<PathBuf> {
    let program = target.join("release").join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    if !short() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/engines");
        let manifest = format!("{root}/{package}/Cargo.toml");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--release", "--locked", "--quiet", "--ignore-rust-version"]);
        cargo.args(["--manifest-path", &manifest]).arg("--target-dir").arg(target);
        if !cargo.status().is_ok_and(|status| status.success()) {
            println!("{manifest} does not build");
            return None;
        }
    }
    let built = program.is_file();
    if !built {
        println!("{} is not built", program.display());
    }
    built.then_some(program)
}

/// What a program prints, standard output and standard error, with none of the
/// settings that engines read but these; `None`, with a line, where it fails.
fn run(path: &Path, args: &[&str], settings: &[(&str, &str)]) -> Option<(String, String)> {
    let mut command = Command::new(path);
    for prefix in ["ROWPOOL_", "RAYON_", "FERROX_", "CANDLE_"] {
        let of = |(name, _): &(String, String)| name.starts_with(prefix);
        for (name, _) in std::env::vars().filter(of) {
            command.env_remove(name);
        }
    }
    let done = command.args(args).envs(settings.iter().copied()).output();
    let done = done.inspect_err(|why| println!("{}: {why}", path.display())).ok()?;
    let [out, err] =
        [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if !done.status.success() {
        println!("{}: {}: {err}", path.display(), done.status);
    }
    done.status.success().then_some((out, err))
}

/// A figure, or that there is none.
fn figures(figure: Option<f64>) -> Figures {
    [figure.unwrap_or(f64::NAN); 3]
}

/// In seconds.
fn seconds(usual: f64) -> String {
    some(usual, usual / 50.0).to_string()
}

const ON_RAYON: &str = "ferrox 0.25 on rayon";
const ON_SPIN: &str = "ferrox 0.25 on its spin pool";
const ON_ROWPOOL: &str = "ferrox 0.25 on rowpool, patched";

fn ferrox(target: &Path) -> Option<Vec<Row>> {
    let model = match std::env::var_os("ROWPOOL_BENCH_GGUF") {
        Some(path) => PathBuf::from(path),
        None => target.join("smollm2-135m-shape-q8_0.gguf"),
    };
    let model = model.to_str()?;
    let plain = build(target, "ferrox", "engine-ferrox")?;
    let patched = build(target, "ferrox/patched", "engine-ferrox-patched")?;
    let tokens = some("32", "2");
    let mut cases: Vec<Case<(&str, &Path, &str)>> = Vec::new();
    for threads in ["1", "2", "4"] {
        let measure = format!("ferrox tg32, T = {threads}");
        for (name, path, pool) in [
            (ON_RAYON, &plain, "rayon"),
            (ON_SPIN, &plain, "spin"),
            (ON_ROWPOOL, &patched, "rayon"),
        ] {
            cases.push((measure.clone().into(), name, (threads, path, pool)));
        }
    }
    let mut right = None;
    let turns = Turns::of(rounds(9), &cases, |(threads, path, pool)| {
        let settings = [("RAYON_NUM_THREADS", *threads), ("FERROX_CPU_POOL", *pool)];
        figures(run(path, &[model, tokens], &settings).and_then(|(said, times)| {
            let right = right.get_or_insert_with(|| said.clone());
            let same = !said.is_empty() && *right == said;
            assert!(same, "{} computes something else", path.display());
            times.trim_end().rsplit_once("generation ")?.1.split(' ').next()?.parse().ok()
        }))
    });
    Some(turns.rows(|one| {
        let mut row = one.row("tokens/s", 0);
        let at = |threads: &str| one.measure().ends_with(threads);
        if one.candidate() == ON_ROWPOOL {
            let asked = |least| Some(Asked::AtLeast(least)).filter(|_| at("T = 2"));
            let over = |other| one.over(0, one.measure(), other);
            row = row.compared("speed over rayon", over(ON_RAYON), asked(1.0));
            row = row.compared("over spin", over(ON_SPIN), asked(1.1));
        }
        if at("T = 4") {
            let asked = Some(Asked::AtLeast(0.95)).filter(|_| one.candidate() == ON_ROWPOOL);
            let own = one.over(0, "ferrox tg32, T = 2", one.candidate());
            row = row.compared("over its T = 2", own, asked);
        }
        vec![row]
    }))
}

/// Shapes, kind, and what is asked of the patched engine at T = 2.
const PASSES: [(&str, &str, Option<f64>); 5] = [
    ("135m", "Q8_0", Some(1.1)),
    ("1b", "Q8_0", Some(1.0)),
    ("1b", "Q4K", Some(1.0)),
    ("8b", "Q8_0", None),
    ("8b", "Q4K", None),
];
const CANDLE: [&str; 2] = ["candle 0.9 on rayon", "candle 0.9 on rowpool, patched"];

fn candle(target: &Path) -> Option<Vec<Row>> {
    let plain = build(target, "candle", "engine-candle")?;
    let patched = build(target, "candle/patched", "engine-candle-patched")?;
    let mut cases: Vec<Case<(&Path, [&str; 2])>> = Vec::new();
    for &(model, kind, _) in &PASSES[..some(PASSES.len(), 1)] {
        let measure = format!("candle {kind} products, {model}");
        for (name, path) in CANDLE.into_iter().zip([&plain, &patched]) {
            cases.push((measure.clone().into(), name, (path, [model, kind])));
        }
    }
    let turns = Turns::of(rounds(9), &cases, |(path, [model, kind])| {
        let args = [*model, *kind, &seconds(0.7)];
        let said = run(path, &args, &[("RAYON_NUM_THREADS", "2")]);
        figures(said.and_then(|(said, _)| said.trim().parse().ok()))
    });
    Some(turns.rows(|one| {
        let row = one.row("ms", 0);
        if one.candidate() == CANDLE[0] {
            return vec![row];
        }
        let of = |(model, kind, _): &&(&str, &str, _)| {
            one.measure().contains(kind) && one.measure().ends_with(model)
        };
        let least = PASSES.iter().find(of).and_then(|pass| pass.2);
        let speed = one.speed(0, one.measure(), CANDLE[0]);
        vec![row.compared("speed over rayon", speed, least.map(Asked::AtLeast))]
    }))
}

/// Threads, and the CPU of a busy neighbour.
const QUIET: &str = "token, T = 2";
type Company = (usize, &'static [usize]);
const COMPANY: [(&str, Company); 3] =
    [(QUIET, (2, &[])), ("token, 4 threads", (4, &[])), ("token, T = 2, one hog", (2, &[1]))];

fn barrier_pool(target: &Path) -> Option<Vec<Row>> {
    let path = build(target, "barrier-pool", "engine-barrier-pool")?;
    let [candle, chunked] = BARRIER_POOLS;
    let mut cases: Vec<Case<(&str, Company)>> = Vec::new();
    for (measure, company) in COMPANY {
        let pools = [SERIAL.name, ROWPOOL.name, candle, chunked];
        cases.extend(pools.map(|pool| (measure.into(), pool, (pool, company))));
    }
    let turns = Turns::of(rounds(7), &cases, |&(pool, (threads, hogs))| {
        let Some(_neighbours) = Hog::on_all(hogs) else {
            return figures(None);
        };
        let form = some("--bench", "--test");
        let args = [pool, &threads.to_string(), &seconds(1.0), form];
        figures(run(&path, &args, &[]).and_then(|(said, _)| said.split(' ').next()?.parse().ok()))
    });
    Some(turns.rows(|one| {
        let mut row = one.row("ms", 0);
        if one.candidate() == ROWPOOL.name {
            let asked = Some(Asked::AtLeast(1.0));
            let speed = |pool| one.speed(0, one.measure(), pool);
            row = row.compared("speed over candle's", speed(candle), asked);
            row = row.compared("its chunked", speed(chunked), asked);
        }
        if one.measure() != QUIET {
            let own = one.speed(0, QUIET, one.candidate());
            row = row.compared("over its own quiet", own, None);
        }
        vec![row]
    }))
}
