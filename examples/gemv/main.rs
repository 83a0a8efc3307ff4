//! One decode step of a language model, serial and on the pool: how fast, how
//! much faster, and whether the results are the same to the bit.
//!
//! A step multiplies a vector by each matrix of the model. Here each input is
//! made up (the same in every run) instead of taken from the matrix before, so
//! that any file's matrices will do; the work is the same.

mod args;
mod gguf;
mod measure;
mod memory;
mod model;
mod report;
mod step;
mod weights;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Parsed};
use model::Source;
use report::{FormatReport, Report};
use rowpool::Pool;
use step::Step;
use weights::Format;

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

/// Names of files and tensors may hold anything.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn run() -> Result<(String, ExitCode), String> {
    let args = match args::parse(std::env::args_os().skip(1))? {
        Parsed::Help => return Ok((args::USAGE.into(), ExitCode::SUCCESS)),
        Parsed::Run(args) => args,
    };
    let mut source = match &args.gguf {
        Some(path) => Source::open(path)?,
        None => Source::seeded(args.model),
    };
    let pool = Pool::new(args.threads).map_err(|error| error.to_string())?;
    let mut report = Report::new(&source, &pool, args.threads);
    for format in [Format::Q8_0, Format::F32] {
        report.formats.push(run_format(&mut source, &pool, format, &args)?);
    }
    let output = if args.json { report.json() } else { report.text() };
    let same = report.bitwise_equal();
    Ok((output, if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// Loads the weights in one format, measures, and lets go of them.
fn run_format(
    source: &mut Source,
    pool: &Pool,
    format: Format,
    args: &Args,
) -> Result<FormatReport, String> {
    let layers =
        memory::layers_that_fit(source.matrices(), format, args.layers, memory::available())?;
    let step = Step::load(source, pool, format, layers.run)?;
    let time = Duration::from_secs_f64(args.seconds / 2.0);
    let samples = measure::alternate(&step, pool, time)?;
    Ok(FormatReport::new(format, layers, &step, &samples))
}
