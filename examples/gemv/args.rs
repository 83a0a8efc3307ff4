//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::model::{Model, MODELS};

pub const USAGE: &str = "\
usage: gemv [--threads N] [--model NAME | --gguf FILE] [--layers N]
            [--seconds S] [--copy] [--list] [--json]

  --threads N   width of the pool; 0, the default: what fits this machine
  --model NAME  smollm2-135m (the default), tinyllama-1.1b or llama3-8b: its
                shape, with made-up weights, in Q8_0 and in F32
  --gguf FILE   the F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q5_K and Q6_K matrices of a
                GGUF file (version 2 or 3), as they are; of a split model the
                first part
  --layers N    only the first N layers; without it, as many as fit in the memory
                that the machine has available and its memory limits leave
  --seconds S   how long to measure, in all; 4 by default
  --copy        copy the file's weights to memory, rather than map the file
  --list        only list the file's tensors: name, type, shape (columns first),
                bytes, CRC-32 of the data, whether it is run
  --json        print one JSON object: per format (and for the \"token\" of a file)
                times, their speed-up, GB/s, and the share of the speed at which
                the same threads only read the same bytes; \"weights\" is \"made up\",
                \"mapped\" or \"copied\"

exit code: 0; 1 if serial results and the pool's differ; 2 if nothing could be
run or listed, with one line that says why

ROWPOOL_KERNELS names other kernels than the fastest; the pool's variables apply.
";

/// What was asked for.
#[derive(Debug)]
pub struct Args {
    pub threads: usize,
    pub model: &'static Model,
    pub gguf: Option<PathBuf>,
    pub layers: Option<usize>,
    pub seconds: f64,
    pub copy: bool,
    pub list: bool,
    pub json: bool,
}

pub enum Parsed {
    Help,
    Run(Args),
}

/// Longer than anyone waits, shorter than a `Duration` overflows at.
const MOST_SECONDS: f64 = 86_400.0;

pub fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Parsed, String> {
    let (mut threads, mut model, mut gguf, mut layers) = (0, None, None, None);
    let (mut seconds, mut copy, mut list, mut json) = (4.0, false, false, false);
    while let Some(arg) = args.next() {
        let option = arg.to_str().unwrap_or_default();
        let mut value = |what: &str| args.next().ok_or(format!("{option} wants {what}"));
        match option {
            "--help" | "-h" => return Ok(Parsed::Help),
            "--copy" => copy = true,
            "--list" => list = true,
            "--json" => json = true,
            "--threads" => threads = number(option, &value("a number")?)?,
            "--layers" => match number(option, &value("a number")?)? {
                0 => return Err("--layers wants at least 1".into()),
                some => layers = Some(some),
            },
            "--model" => model = Some(named(&value("a name")?)?),
            "--gguf" => gguf = Some(PathBuf::from(value("a file")?)),
            "--seconds" => seconds = duration(&value("a number")?)?,
            _ => return Err(format!("unknown option {arg:?}; --help lists them")),
        }
    }
    if model.is_some() && gguf.is_some() {
        return Err("only one of --model and --gguf".into());
    }
    if (copy || list) && gguf.is_none() {
        return Err("--list and --copy want a --gguf file".into());
    }
    let model = model.unwrap_or(&MODELS[0]);
    Ok(Parsed::Run(Args { threads, model, gguf, layers, seconds, copy, list, json }))
}

fn number(option: &str, value: &OsString) -> Result<usize, String> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or(format!("{option} wants a number, not {value:?}"))
}

fn duration(value: &OsString) -> Result<f64, String> {
    let seconds: Option<f64> = value.to_str().and_then(|text| text.parse().ok());
    seconds
        .filter(|&seconds| seconds > 0.0 && seconds <= MOST_SECONDS)
        .ok_or(format!("--seconds wants a number above 0, at most {MOST_SECONDS}, not {value:?}"))
}

fn named(value: &OsString) -> Result<&'static Model, String> {
    MODELS.iter().find(|model| *value == model.name).ok_or_else(|| {
        let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
        format!("no model {value:?}: there are {}", names.join(", "))
    })
}
