//! One decode step of a language model, serial and on the pool: how fast, how
//! much faster, and whether the results are the same to the bit.
//!
//! A step multiplies a vector by each matrix of the model. Here each input is
//! made up (the same in every run) instead of taken from the matrix before, so
//! that any file's matrices will do; the work is the same.

mod args;
mod gguf;
mod header;
mod limits;
mod list;
mod measure;
mod memory;
mod model;
mod parts;
mod read;
mod report;
mod run;
mod step;
mod types;
mod weights;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Parsed};
use gguf::{one_line, File};
use memory::is_run;
use model::{Matrix, Source};
use report::Report;
use rowpool::Pool;
use rowpool_gemv::Format;
use run::Run;
use step::Step;

fn main() -> ExitCode {
    match run() {
        Ok((output, code)) => {
            // A reader that has seen enough (`| head`) is no error.
            let _ = std::io::stdout().write_all(output.as_bytes());
            code
        }
        Err(error) => {
            eprintln!("gemv: {}", one_line(&error));
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(String, ExitCode), String> {
    let args = match args::parse(std::env::args_os().skip(1))? {
        Parsed::Help => return Ok((args::USAGE.into(), ExitCode::SUCCESS)),
        Parsed::Run(args) => args,
    };
    let source = match &args.gguf {
        Some(path) => {
            let file = open(path, &args).map_err(|error| format!("{}: {error}", path.display()))?;
            if args.list {
                let list = if args.json { list::json(&file) } else { list::text(&file) };
                return Ok((list?, ExitCode::SUCCESS));
            }
            Source::Gguf(Box::new(file))
        }
        None => Source::Seeded(args.model),
    };
    let pool = Pool::new(args.threads).map_err(|error| error.to_string())?;
    let mut report = Report::new(&source, &pool, args.threads);
    let runs = source.runs();
    for matrices in &runs {
        let name: String = match &source {
            Source::Seeded(_) => matrices[0].format.name().into(),
            Source::Gguf(file) => file.name().into(),
        };
        match measure(&source, &pool, matrices, &name, args.seconds / runs.len() as f64, &args) {
            Ok(run) => report.runs.push(run),
            Err(error) => report.not_run.push((name, error)),
        }
    }
    if report.runs.is_empty() {
        let errors = report.not_run.iter().map(|(name, error)| format!("{name}: {error}"));
        return Err(errors.collect::<Vec<_>>().join("; "));
    }
    let output = if args.json { report.json() } else { report.text() };
    let same = report.bitwise_equal();
    Ok((output, if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// A file with something to run, or at least to list.
fn open(path: &Path, args: &Args) -> Result<File, String> {
    let file = File::open(path, !args.copy)?;
    if file.matrices().is_empty() && !args.list {
        let formats = Format::ALL.map(Format::name).join(", ");
        let left_out = file.left_out().map(|line| format!("; left out: {line}"));
        let left_out = left_out.unwrap_or_default();
        return Err(format!("no matrix of a type that is read here ({formats}){left_out}"));
    }
    Ok(file)
}

/// Loads some matrices, measures, and lets go of them.
fn measure(
    source: &Source,
    pool: &Pool,
    matrices: &[Matrix],
    name: &str,
    seconds: f64,
    args: &Args,
) -> Result<Run, String> {
    let layers = memory::layers_that_fit(matrices, args.layers, limits::available())?;
    let fit = |matrix: &&Matrix| is_run(matrix, layers.run);
    let matrices: Vec<Matrix> = matrices.iter().filter(fit).cloned().collect();
    let step = Step::load(source, pool, &matrices)?;
    let samples = measure::alternate(&step, pool, Duration::from_secs_f64(seconds))?;
    let is_file = matches!(source, Source::Gguf(_));
    Ok(Run::new(name, is_file, layers, &step, &samples))
}
