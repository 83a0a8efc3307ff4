//! One set of matrices measured: its figures, as JSON and as a table.

use std::fmt::Write;

use rowpool_gemv::Format;
use serde_json::{json, Map, Value};

use crate::measure::{median, Samples};
use crate::memory::Layers;
use crate::step::{Sample, Shape, Step};

pub struct Run {
    /// The format, or the file.
    name: String,
    is_file: bool,
    layers: Layers,
    matrices: usize,
    steps: usize,
    pub bitwise_equal: bool,
    token: Figures,
    /// Serial and pool, in µs.
    rounding: [f64; 2],
    /// A step of all layers, on the pool, in µs.
    whole: f64,
    formats: Vec<(Format, Figures)>,
    /// Of one matrix each.
    shapes: Vec<(Shape, Figures)>,
}

/// Medians in µs, and what they were spent on.
#[derive(Clone, Copy, Default)]
struct Figures {
    matrices: usize,
    weights: f64,
    bytes: f64,
    serial: f64,
    pool: f64,
    /// Of only reading the same bytes.
    serial_read: f64,
    pool_read: f64,
}

impl Run {
    pub fn new(
        name: &str,
        is_file: bool,
        layers: Layers,
        step: &Step<'_>,
        samples: &Samples,
    ) -> Run {
        let token = Figures::new(samples, &step.shapes, |sample| sample.token);
        let formats = Format::ALL.into_iter().filter_map(|format| {
            let of = |shape: &Shape| shape.format == format;
            let some: Vec<Shape> = step.shapes.iter().copied().filter(of).collect();
            let time = |sample: &Sample| {
                let shapes = step.shapes.iter().zip(&sample.shapes);
                shapes.filter(|(shape, _)| of(shape)).map(|(_, time)| time).sum()
            };
            (!some.is_empty()).then(|| (format, Figures::new(samples, &some, time)))
        });
        let shapes = step.shapes.iter().enumerate().map(|(i, &shape)| {
            (shape, Figures::new(samples, &[shape], |sample| sample.shapes[i]).each())
        });
        let in_us = |samples: &[Sample], field: fn(&Sample) -> u64| median(samples, field) / 1e3;
        let head = in_us(&samples.pool, |sample| sample.head);
        // What was not run takes as long as what was.
        let scale = layers.all as f64 / layers.run.max(1) as f64;
        let whole =
            if layers.run < layers.all { (token.pool - head) * scale + head } else { token.pool };
        Run {
            name: name.into(),
            is_file,
            layers,
            matrices: token.matrices,
            steps: samples.pool.len(),
            bitwise_equal: samples.bitwise_equal,
            token,
            rounding: [&samples.serial, &samples.pool]
                .map(|samples| in_us(samples, |sample| sample.rounding)),
            whole,
            formats: formats.collect(),
            shapes: shapes.collect(),
        }
    }

    fn tokens_per_s(&self) -> f64 {
        1e6 / self.whole
    }

    fn partial(&self) -> bool {
        self.layers.run < self.layers.all
    }

    /// A seeded run under the name of its format; of a file, the token and each
    /// format.
    pub fn json(&self) -> Map<String, Value> {
        let mut token = self.token.json();
        token.insert("rounding_us".into(), json!(self.rounding[1]));
        token.insert("tokens_per_s".into(), json!(self.tokens_per_s()));
        token.insert("tokens_per_s_estimated".into(), json!(self.partial()));
        token.insert("layers_run".into(), json!(self.layers.run));
        token.insert("layers".into(), json!(self.layers.all));
        let available = self.layers.available.as_ref();
        token.insert("bytes_available".into(), json!(available.map(|it| it.bytes)));
        token.insert("steps".into(), json!(self.steps));
        token.insert("shapes".into(), self.shapes.iter().map(shape_json).collect());
        let mut object = Map::new();
        let name = if self.is_file { "token".into() } else { self.name.to_lowercase() };
        object.insert(name, Value::Object(token));
        for (format, figures) in self.formats.iter().filter(|_| self.is_file) {
            object.insert(format.name().to_lowercase(), Value::Object(figures.json()));
        }
        object
    }

    pub fn write(&self, text: &mut String) -> std::fmt::Result {
        let Run { name, matrices, layers, .. } = self;
        write!(text, "\n{name}: {matrices} matrices, {:.0} MB", self.token.bytes / 1e6)?;
        if self.partial() {
            let why = layers.available.as_ref().map_or("as asked".into(), |available| {
                format!("{} MB of memory: {}", available.bytes / 1_000_000, available.by)
            });
            write!(text, ", {} of {} layers ({why})", layers.run, layers.all)?;
        }
        writeln!(text, "; medians of {} steps", self.steps)?;
        writeln!(
            text,
            "{:>21} {:>6} {:>11} {:>11} {:>9} {:>7} {:>9} {:>10}",
            "rows x columns",
            "times",
            "serial µs",
            "pool µs",
            "speed-up",
            "GB/s",
            "GFLOP/s",
            "of reading"
        )?;
        for (shape, figures) in &self.shapes {
            let label = format!("{} {} x {}", shape.format.name(), shape.rows, shape.cols);
            figures.write(text, &label, shape.count)?;
        }
        for (format, figures) in self.formats.iter().filter(|_| self.formats.len() > 1) {
            figures.write(text, &format!("all {}", format.name()), figures.matrices)?;
        }
        let [serial, pool] = self.rounding;
        writeln!(text, "{:>21} {:>6} {serial:>11.2} {pool:>11.2}", "inputs", "")?;
        self.token.write(text, "token", 1)?;
        let estimated = if self.partial() { ", estimated for all layers" } else { "" };
        writeln!(text, "{:.1} tokens/s{estimated}", self.tokens_per_s())
    }
}

fn shape_json((shape, figures): &(Shape, Figures)) -> Value {
    let mut line = figures.json();
    line.insert("format".into(), json!(shape.format.name()));
    line.insert("rows".into(), json!(shape.rows));
    line.insert("cols".into(), json!(shape.cols));
    line.insert("count".into(), json!(shape.count));
    line.remove("matrices");
    Value::Object(line)
}

impl Figures {
    fn new(samples: &Samples, shapes: &[Shape], time: impl Fn(&Sample) -> u64) -> Figures {
        let us = |samples: &[Sample]| median(samples, &time) / 1e3;
        let mut figures = Figures {
            serial: us(&samples.serial),
            pool: us(&samples.pool),
            serial_read: us(&samples.serial_read),
            pool_read: us(&samples.pool_read),
            ..Figures::default()
        };
        for shape in shapes {
            let weights = shape.rows as f64 * shape.cols as f64 * shape.count as f64;
            figures.matrices += shape.count;
            figures.weights += weights;
            let Shape { format, .. } = shape;
            figures.bytes += weights / format.block() as f64 * format.block_bytes() as f64;
        }
        figures
    }

    /// Of one of its matrices, which are all alike.
    fn each(self) -> Figures {
        let by = self.matrices as f64;
        Figures {
            matrices: 1,
            weights: self.weights / by,
            bytes: self.bytes / by,
            serial: self.serial / by,
            pool: self.pool / by,
            serial_read: self.serial_read / by,
            pool_read: self.pool_read / by,
        }
    }

    fn json(&self) -> Map<String, Value> {
        let mut line = Map::new();
        line.insert("matrices".into(), json!(self.matrices));
        line.insert("bytes".into(), json!(self.bytes));
        line.insert("speedup".into(), json!(self.serial / self.pool));
        let both = [("serial", self.serial, self.serial_read), ("pool", self.pool, self.pool_read)];
        for (way, time, read) in both {
            line.insert(format!("{way}_us"), json!(time));
            line.insert(format!("{way}_ms"), json!(time / 1e3));
            line.insert(format!("{way}_gb_per_s"), json!(self.bytes / time / 1e3));
            line.insert(format!("{way}_gflop_per_s"), json!(2.0 * self.weights / time / 1e3));
            line.insert(format!("{way}_read_gb_per_s"), json!(self.bytes / read / 1e3));
            line.insert(format!("{way}_share_of_read"), json!(read / time));
        }
        line
    }

    fn write(&self, text: &mut String, label: &str, count: usize) -> std::fmt::Result {
        let Figures { serial, pool, bytes, weights, .. } = self;
        writeln!(
            text,
            "{label:>21} {count:>6} {serial:>11.2} {pool:>11.2} {:>9.2} {:>7.1} {:>9.1} {:>9.0}%",
            serial / pool,
            bytes / pool / 1e3,
            2.0 * weights / pool / 1e3,
            100.0 * self.pool_read / pool,
        )
    }
}
