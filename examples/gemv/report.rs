//! What has been measured, for people and as JSON.

use std::fmt::Write as _;

use rowpool::topology::{Settings, Topology, Width};
use rowpool::Pool;
use serde_json::{json, Map, Value};

use crate::measure::{median, Samples};
use crate::memory::Layers;
use crate::model::Source;
use crate::step::{Shape, Step};
use crate::weights::Format;

pub struct Report {
    name: String,
    source: String,
    width: usize,
    reason: String,
    pub formats: Vec<FormatReport>,
}

/// Medians, in µs.
#[derive(Clone, Copy)]
struct Times {
    serial: f64,
    pool: f64,
}

pub struct FormatReport {
    format: Format,
    layers: Layers,
    matrices: usize,
    steps: usize,
    bitwise_equal: bool,
    token: Times,
    rounding: Times,
    /// A step of all layers, on the pool.
    whole: f64,
    shapes: Vec<(Shape, Times)>,
}

impl Report {
    pub fn new(source: &Source, pool: &Pool, threads: usize) -> Report {
        let (name, source) = (source.name(), source.describe());
        Report {
            name,
            source,
            width: pool.active_width(),
            reason: reason(pool, threads),
            formats: vec![],
        }
    }

    pub fn bitwise_equal(&self) -> bool {
        self.formats.iter().all(|format| format.bitwise_equal)
    }

    pub fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("model".into(), json!(self.name));
        object.insert("source".into(), json!(self.source));
        object.insert("width".into(), json!(self.width));
        object.insert("reason".into(), json!(self.reason));
        object.insert("bitwise_equal".into(), json!(self.bitwise_equal()));
        for format in &self.formats {
            object.insert(format.format.name().to_lowercase(), format.json());
        }
        format!("{}\n", Value::Object(object))
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\nwidth {}: {}\n", self.source, self.width, self.reason);
        for format in &self.formats {
            // Writing to a string cannot fail.
            let _ = format.write(&mut text);
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

impl FormatReport {
    pub fn new(format: Format, layers: Layers, step: &Step, samples: &Samples) -> FormatReport {
        let times = |field: &dyn Fn(&crate::step::Sample) -> u64| Times {
            serial: median(&samples.serial, field) / 1e3,
            pool: median(&samples.pool, field) / 1e3,
        };
        let token = times(&|sample| sample.token);
        let head = times(&|sample| sample.head).pool;
        let shapes = step.shapes.iter().enumerate();
        let per_matrix = |(i, &shape): (usize, &Shape)| {
            let all = times(&|sample| sample.shapes[i]);
            let count = shape.count as f64;
            (shape, Times { serial: all.serial / count, pool: all.pool / count })
        };
        // What was not run takes as long as what was.
        let scale = layers.all as f64 / layers.run.max(1) as f64;
        let whole =
            if layers.run < layers.all { (token.pool - head) * scale + head } else { token.pool };
        FormatReport {
            format,
            layers,
            matrices: step.matrices(),
            steps: samples.pool.len(),
            bitwise_equal: samples.bitwise_equal,
            token,
            rounding: times(&|sample| sample.rounding),
            whole,
            shapes: shapes.map(per_matrix).collect(),
        }
    }

    fn weights(&self) -> f64 {
        self.shapes.iter().map(|(shape, _)| size(shape) * shape.count as f64).sum()
    }

    fn bytes(&self, weights: f64) -> f64 {
        // 32 columns are a whole number of bytes in both.
        weights / 32.0 * self.format.bytes(1, 32) as f64
    }

    fn tokens_per_s(&self) -> f64 {
        1e6 / self.whole
    }

    fn partial(&self) -> bool {
        self.layers.run < self.layers.all
    }

    fn json(&self) -> Value {
        let line = |times: Times, weights: f64| {
            let mut line = Map::new();
            line.insert("serial_us".into(), json!(times.serial));
            line.insert("pool_us".into(), json!(times.pool));
            line.insert("speedup".into(), json!(times.serial / times.pool));
            line.insert("serial_gb_per_s".into(), json!(self.bytes(weights) / times.serial / 1e3));
            line.insert("pool_gb_per_s".into(), json!(self.bytes(weights) / times.pool / 1e3));
            line.insert("serial_gflop_per_s".into(), json!(2.0 * weights / times.serial / 1e3));
            line.insert("pool_gflop_per_s".into(), json!(2.0 * weights / times.pool / 1e3));
            line
        };
        let shapes = self.shapes.iter().map(|(shape, times)| {
            let mut line = line(*times, size(shape));
            line.insert("rows".into(), json!(shape.rows));
            line.insert("cols".into(), json!(shape.cols));
            line.insert("count".into(), json!(shape.count));
            Value::Object(line)
        });
        let shapes: Vec<Value> = shapes.collect();
        let mut format = line(self.token, self.weights());
        format.remove("serial_us");
        format.remove("pool_us");
        format.insert("serial_ms".into(), json!(self.token.serial / 1e3));
        format.insert("pool_ms".into(), json!(self.token.pool / 1e3));
        format.insert("rounding_us".into(), json!(self.rounding.pool));
        format.insert("tokens_per_s".into(), json!(self.tokens_per_s()));
        format.insert("tokens_per_s_estimated".into(), json!(self.partial()));
        format.insert("layers_run".into(), json!(self.layers.run));
        format.insert("layers".into(), json!(self.layers.all));
        format.insert("matrices".into(), json!(self.matrices));
        format.insert("steps".into(), json!(self.steps));
        format.insert("shapes".into(), Value::Array(shapes));
        Value::Object(format)
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let (name, weights) = (self.format.name(), self.weights());
        write!(text, "\n{name}: {} matrices, {:.0} MB", self.matrices, self.bytes(weights) / 1e6)?;
        if self.partial() {
            let Layers { run, all, available } = self.layers;
            let why = available.map_or("as asked".into(), |bytes| {
                format!("{} MB of memory are available", bytes / 1_000_000)
            });
            write!(text, ", {run} of {all} layers ({why})")?;
        }
        writeln!(text, "; medians of {} steps", self.steps)?;
        writeln!(
            text,
            "{:>14} {:>6} {:>11} {:>11} {:>9} {:>7} {:>9}",
            "rows x columns", "times", "serial µs", "pool µs", "speed-up", "GB/s", "GFLOP/s"
        )?;
        for (shape, times) in &self.shapes {
            let label = format!("{} x {}", shape.rows, shape.cols);
            self.line(text, &label, &shape.count.to_string(), *times, size(shape))?;
        }
        if self.format == Format::Q8_0 {
            let Times { serial, pool } = self.rounding;
            writeln!(text, "{:>14} {:>6} {serial:>11.2} {pool:>11.2}", "inputs to Q8_0", "")?;
        }
        self.line(text, "token", "", self.token, weights)?;
        let estimated = if self.partial() { ", estimated for all layers" } else { "" };
        writeln!(text, "{:.1} tokens/s{estimated}", self.tokens_per_s())
    }

    fn line(
        &self,
        text: &mut String,
        label: &str,
        count: &str,
        times: Times,
        weights: f64,
    ) -> std::fmt::Result {
        let Times { serial, pool } = times;
        let (bandwidth, rate) = (self.bytes(weights) / pool / 1e3, 2.0 * weights / pool / 1e3);
        writeln!(
            text,
            "{label:>14} {count:>6} {serial:>11.2} {pool:>11.2} {:>9.2} {bandwidth:>7.1} {rate:>9.1}",
            serial / pool
        )
    }
}

/// Weights of a matrix.
fn size(shape: &Shape) -> f64 {
    shape.rows as f64 * shape.cols as f64
}
