//! What has been measured, for people and as JSON.

use std::fmt::Write as _;

use rowpool::topology::{Settings, Topology, Width};
use rowpool::Pool;
use rowpool_gemv::kernels;
use serde_json::{json, Map, Value};

use crate::list::weights;
use crate::model::Source;
use crate::run::Run;

pub struct Report<'s> {
    source: &'s Source,
    width: usize,
    reason: String,
    pub runs: Vec<Run>,
    /// Formats that do not fit, and why.
    pub not_run: Vec<(String, String)>,
}

impl Report<'_> {
    pub fn new<'s>(source: &'s Source, pool: &Pool, threads: usize) -> Report<'s> {
        let (width, reason) = (pool.active_width(), reason(pool, threads));
        Report { source, width, reason, runs: vec![], not_run: vec![] }
    }

    pub fn bitwise_equal(&self) -> bool {
        self.runs.iter().all(|run| run.bitwise_equal)
    }

    pub fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("model".into(), json!(self.source.name()));
        object.insert("width".into(), json!(self.width));
        object.insert("reason".into(), json!(self.reason));
        object.insert("kernels".into(), json!(kernels()));
        object.insert("bitwise_equal".into(), json!(self.bitwise_equal()));
        match self.source {
            Source::Seeded(_) => {
                object.insert("weights".into(), json!("made up"));
                let not_run = self.not_run.iter().cloned();
                let not_run = not_run.map(|(name, why)| (name.to_lowercase(), json!(why)));
                object.insert("not_run".into(), Value::Object(not_run.collect()));
            }
            Source::Gguf(file) => {
                object.insert("weights".into(), json!(weights(file)));
                let missing = file.tensors().iter().filter(|tensor| tensor.is_missing());
                let missing = missing.map(|tensor| {
                    json!({ "name": tensor.name, "type": tensor.kind_name, "why": tensor.why() })
                });
                object.insert("left_out".into(), missing.collect());
            }
        }
        for run in &self.runs {
            object.extend(run.json());
        }
        format!("{}\n", Value::Object(object))
    }

    pub fn text(&self) -> String {
        let mut text = self.source.name();
        match self.source {
            Source::Seeded(_) => text += ", made-up weights\n",
            Source::Gguf(file) => {
                // Writing to a string cannot fail.
                let _ = writeln!(text, ", {}", weights(file));
                if let Some(line) = file.left_out() {
                    let _ = writeln!(text, "left out of the token, not read here: {line}");
                }
            }
        }
        let _ = writeln!(text, "width {}: {}\nkernels: {}", self.width, self.reason, kernels());
        for run in &self.runs {
            let _ = run.write(&mut text);
        }
        for (name, why) in &self.not_run {
            let _ = writeln!(text, "\n{name} is not run: {why}");
        }
        let equal = if self.bitwise_equal() { "the same to the bit" } else { "DIFFERENT" };
        text + &format!("\nserial and pool: {equal}\n")
    }
}

/// Why the pool has its width.
fn reason(pool: &Pool, threads: usize) -> String {
    let (made, active) = (pool.num_threads(), pool.active_width());
    let mut reason = match threads {
        0 => pool.reason().to_string(),
        // The pool only knows that the program said so.
        _ => {
            let setting = Settings { threads: Some(threads), source: "--threads".into() };
            Width::new(&Topology::detect(), &setting).reason.to_string()
        }
    };
    if made < threads {
        let _ = write!(reason, "; no more than {made} could be made");
    }
    if active < made {
        let _ = write!(reason, "; {active} of {made} threads take part: one for each usable CPU");
    }
    reason
}
