//! Real engines on rayon, on pools of their own and on rowpool, as programs that
//! are started in turn: tokens per second of ferrox 0.25 (tg32), candle 0.9's
//! quantised products, and the token on candle 0.11's barrier pool.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench engine -- [FILTER]
//! [--test]`; filters are `ferrox`, `candle` and `barrier_pool`. It builds the
//! packages in `tests/engines` first, some minutes. ferrox needs a GGUF file,
//! from `ROWPOOL_BENCH_GGUF` or where `.ci/engines` has put one.

#[path = "scenes/report.rs"]
#[allow(dead_code)]
mod report;
mod support;

use report::{Asked, Row};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::candidate::{BARRIER_POOLS, ROWPOOL, SERIAL};
use support::child::{self, Hog};
use support::rounds::{alternate, Series};
use support::stats::ratios;
use support::{rounds, short, wanted};

/// A part of the bench; `None`, with a line, where it cannot be played.
type Part = fn(target: &Path) -> Option<Vec<Row>>;

fn main() {
    child::play(|role| panic!("an unknown role: {role}"));
    let mut rows = Vec::new();
    let parts: [(&str, Part); 3] =
        [("ferrox", ferrox), ("candle", candle), ("barrier_pool", barrier_pool)];
    let target = target();
    for (name, part) in parts.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("measuring: {name}");
        match part(&target) {
            Some(measured) => rows.extend(measured),
            None => println!("{name}: skipped"),
        }
    }
    if !rows.is_empty() {
        println!("\n## Engines");
        report::print(&rows);
    }
}

/// Where the engines are built: beside this program's own `release`, as
/// `.ci/engines` does it.
fn target() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.ancestors().nth(3).expect("target/release/deps/engine").join("engines")
}

/// Builds `tests/engines/<package>`; its program. In short form only those count
/// that are there already: the builds take minutes.
fn build(target: &Path, package: &str, program: &str) -> Option<PathBuf> {
    let program = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let program = target.join("release").join(program);
    if short() {
        let built = program.is_file();
        if !built {
            println!("{} is not built", program.display());
        }
        return built.then_some(program);
    }
    let manifest = format!("{}/../tests/engines/{package}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet", "--ignore-rust-version"])
        .args(["--manifest-path", &manifest])
        .arg("--target-dir")
        .arg(target)
        .status();
    let built = status.is_ok_and(|status| status.success());
    if !built {
        println!("{manifest} does not build");
    }
    built.then_some(program)
}

/// A program with none of the settings that engines read but these.
fn program(path: &Path, args: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    for setting in [
        "ROWPOOL_NUM_THREADS",
        "ROWPOOL_SPIN_US",
        "RAYON_NUM_THREADS",
        "FERROX_CPU_THREADS",
        "FERROX_GEMV_THREADS",
        "FERROX_CPU_POOL",
        "CANDLE_NUM_THREADS",
    ] {
        command.env_remove(setting);
    }
    command.args(args).envs(settings.iter().copied());
    command
}

/// Runs it; `None`, with a line, where it fails.
fn run(mut command: Command) -> Option<(String, String)> {
    let output = child::output(&mut command);
    output.inspect_err(|why| println!("{}: {why}", command.get_program().to_string_lossy())).ok()
}

/// In seconds.
fn seconds(usual: f64) -> String {
    (if short() { usual / 50.0 } else { usual }).to_string()
}

/// The series of some cases.
struct Turns<C> {
    cases: Vec<C>,
    series: Vec<Series<f64>>,
}

impl<C: PartialEq> Turns<C> {
    fn play(cases: Vec<C>, usual: usize, mut turn: impl FnMut(&C) -> Option<f64>) -> Turns<C> {
        let figure = |i: usize| turn(&cases[i]).unwrap_or(f64::NAN);
        let mut series = alternate(rounds(usual), cases.len(), figure);
        series.iter_mut().for_each(|series| series.drop_if(|figure| figure.is_nan()));
        Turns { cases, series }
    }

    fn figures(&self, case: &C) -> Vec<Option<f64>> {
        let at = self.cases.iter().position(|other| other == case);
        at.map_or(Vec::new(), |at| self.series[at].paired(|figure| *figure))
    }

    fn row(&self, at: usize, measure: &str, candidate: &str, unit: &str) -> Row {
        Row::new(measure, candidate, &self.series[at], unit, |figure| *figure)
    }
}

/// What runs ferrox's loops.
#[derive(Clone, Copy, PartialEq)]
enum Loops {
    Rayon,
    Spin,
    Rowpool,
}

const LOOPS: [Loops; 3] = [Loops::Rayon, Loops::Spin, Loops::Rowpool];

impl Loops {
    fn name(self) -> &'static str {
        match self {
            Loops::Rayon => "ferrox 0.25 on rayon",
            Loops::Spin => "ferrox 0.25 on its spin pool",
            Loops::Rowpool => "ferrox 0.25 on rowpool, patched",
        }
    }
}

fn ferrox(target: &Path) -> Option<Vec<Row>> {
    let model = match std::env::var_os("ROWPOOL_BENCH_GGUF") {
        Some(path) => PathBuf::from(path),
        None => target.join("smollm2-135m-shape-q8_0.gguf"),
    };
    if !model.is_file() {
        println!("{} is not there", model.display());
        return None;
    }
    let model = model.to_str()?;
    let plain = build(target, "ferrox", "engine-ferrox")?;
    let patched = build(target, "ferrox/patched", "engine-ferrox-patched")?;
    let tokens = if short() { "2" } else { "32" };
    let mut right = None;
    let cases = [1, 2, 4].into_iter().flat_map(|threads| LOOPS.map(|loops| (threads, loops)));
    let turns = Turns::play(cases.collect(), 9, |&(threads, loops): &(usize, Loops)| {
        let path = if loops == Loops::Rowpool { &patched } else { &plain };
        let pool = if loops == Loops::Spin { "spin" } else { "rayon" };
        let threads = threads.to_string();
        let settings = [("RAYON_NUM_THREADS", &threads[..]), ("FERROX_CPU_POOL", pool)];
        let (said, times) = run(program(path, &[model, tokens], &settings))?;
        let right = right.get_or_insert_with(|| said.clone());
        assert!(!said.is_empty() && *right == said, "{} computes something else", loops.name());
        let (_, rate) = times.trim_end().rsplit_once("generation ")?;
        rate.split(' ').next()?.parse().ok()
    });
    let row = |(at, &(threads, loops)): (usize, &(usize, Loops))| {
        let own = turns.figures(&(threads, loops));
        let over = |threads, loops| ratios(&own, &turns.figures(&(threads, loops)));
        let ours = |least, at| {
            Some(Asked::AtLeast(least)).filter(|_| loops == Loops::Rowpool && threads == at)
        };
        let measure = format!("ferrox tg32, T = {threads}");
        let mut row = turns.row(at, &measure, loops.name(), "tokens/s");
        if loops == Loops::Rowpool {
            let (rayon, spin) = (over(threads, Loops::Rayon), over(threads, Loops::Spin));
            row = row.compared("speed over rayon", rayon, ours(1.0, 2));
            row = row.compared("over spin", spin, ours(1.1, 2));
        }
        if threads == 4 {
            row = row.compared("over its T = 2", over(2, loops), ours(0.95, 4));
        }
        row
    };
    Some(turns.cases.iter().enumerate().map(row).collect())
}

/// Shapes, kind, and what is asked of the patched engine at T = 2.
const PASSES: [(&str, &str, Option<f64>); 5] = [
    ("135m", "Q8_0", Some(1.1)),
    ("1b", "Q8_0", Some(1.0)),
    ("1b", "Q4K", Some(1.0)),
    ("8b", "Q8_0", None),
    ("8b", "Q4K", None),
];

fn candle(target: &Path) -> Option<Vec<Row>> {
    let plain = build(target, "candle", "engine-candle")?;
    let patched = build(target, "candle/patched", "engine-candle-patched")?;
    let passes = &PASSES[..if short() { 1 } else { PASSES.len() }];
    let both = |at| [(at, false), (at, true)];
    let cases = (0..passes.len()).flat_map(both).collect();
    let turns = Turns::play(cases, 9, |&(at, rowpool): &(usize, bool)| {
        let (model, kind, _) = passes[at];
        let args = [model, kind, &seconds(0.7)];
        let path = if rowpool { &patched } else { &plain };
        let (said, _) = run(program(path, &args, &[("RAYON_NUM_THREADS", "2")]))?;
        said.trim().parse().ok()
    });
    let row = |(i, &(at, rowpool)): (usize, &(usize, bool))| {
        let (model, kind, least) = passes[at];
        let name = if rowpool { "candle 0.9 on rowpool, patched" } else { "candle 0.9 on rayon" };
        let row = turns.row(i, &format!("candle {kind} products, {model}"), name, "ms");
        if !rowpool {
            return row;
        }
        // Speeds: the inverse of the times.
        let speed = ratios(&turns.figures(&(at, false)), &turns.figures(&(at, true)));
        row.compared("speed over rayon", speed, least.map(Asked::AtLeast))
    };
    Some(turns.cases.iter().enumerate().map(row).collect())
}

/// Threads, and the CPU of a busy neighbour.
type Scene = (&'static str, usize, Option<usize>);
const QUIET: Scene = ("token, T = 2", 2, None);
const SCENES: [Scene; 3] =
    [QUIET, ("token, 4 threads", 4, None), ("token, T = 2, one hog", 2, Some(1))];

fn barrier_pool(target: &Path) -> Option<Vec<Row>> {
    let path = build(target, "barrier-pool", "engine-barrier-pool")?;
    let [candle, chunked] = BARRIER_POOLS;
    let pools = [SERIAL.name, ROWPOOL.name, candle, chunked];
    let cases = SCENES.into_iter().flat_map(|scene| pools.map(|pool| (scene, pool)));
    let turns = Turns::play(cases.collect(), 7, |&((_, threads, hog), pool): &(Scene, &str)| {
        let _hog = match hog {
            Some(cpu) => Some(Hog::on(cpu)?),
            None => None,
        };
        let form = if short() { "--test" } else { "--bench" };
        let args = [pool, &threads.to_string(), &seconds(1.0), form];
        let (said, _) = run(program(&path, &args, &[]))?;
        said.split(' ').next()?.parse().ok()
    });
    let row = |(at, &(scene, pool)): (usize, &(Scene, &str))| {
        let speed = |scene, pool| {
            let own = turns.cases[at];
            ratios(&turns.figures(&(scene, pool)), &turns.figures(&own))
        };
        let mut row = turns.row(at, scene.0, pool, "ms");
        if pool == ROWPOOL.name {
            let asked = Some(Asked::AtLeast(1.0));
            row = row.compared("speed over candle's", speed(scene, candle), asked);
            row = row.compared("its chunked", speed(scene, chunked), asked);
        }
        if scene != QUIET {
            row = row.compared("over its own quiet", speed(QUIET, pool), None);
        }
        row
    };
    Some(turns.cases.iter().enumerate().map(row).collect())
}
