//! `examples/gemv`: what it prints, which files it reads and how, and what it
//! does with those that are not what they should be. Runs the built example;
//! `loading` and `products` have its parts in hand.

mod blocks;
mod files;
mod loading;
mod products;
mod reading;
mod room;
mod writer;

// The example's parts, by the names that they call each other; it uses the rest.
#[allow(dead_code)]
#[path = "../../examples/gemv/gguf.rs"]
mod gguf;
#[path = "../../examples/gemv/header.rs"]
mod header;
#[allow(dead_code)]
#[path = "../../examples/gemv/limits.rs"]
mod limits;
#[allow(dead_code)]
#[path = "../../examples/gemv/measure.rs"]
mod measure;
#[allow(dead_code)]
#[path = "../../examples/gemv/memory.rs"]
mod memory;
#[allow(dead_code)]
#[path = "../../examples/gemv/model.rs"]
mod model;
#[allow(dead_code)]
#[path = "../../examples/gemv/parts.rs"]
mod parts;
#[path = "../../examples/gemv/read.rs"]
mod read;
#[allow(dead_code)]
#[path = "../../examples/gemv/step.rs"]
mod step;
#[path = "../../examples/gemv/types.rs"]
mod types;
#[path = "../../examples/gemv/weights.rs"]
mod weights;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use writer::Gguf;

/// `cargo test` builds the examples beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("gemv{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing: cargo build --example gemv", path.display());
    path
}

fn run(args: &[&str]) -> Output {
    Command::new(example()).args(args).output().unwrap()
}

/// A folder of files that is deleted in the end.
pub struct Temp(pub PathBuf);

impl Temp {
    pub fn folder(name: &str) -> Temp {
        let path = std::env::temp_dir().join(format!("rowpool-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Temp(path)
    }

    /// With one file of that name.
    pub fn new(name: &str, bytes: &[u8]) -> Temp {
        let temp = Temp::folder(name);
        std::fs::write(temp.0.join(name), bytes).unwrap();
        temp
    }

    pub fn file(&self) -> PathBuf {
        self.0.join(self.0.file_name().unwrap().to_str().unwrap().splitn(3, '-').nth(2).unwrap())
    }

    fn run(&self, args: &[&str]) -> Output {
        let file = self.file();
        run(&[&["--gguf", file.to_str().unwrap(), "--seconds", "0.001"], args].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        json(&self.run(&[&["--json"], args].concat()))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One object on one line, and no complaint.
fn json(output: &Output) -> Value {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "one object, one line");
    serde_json::from_str(text).unwrap()
}

/// Exit code 2, nothing on stdout, one line on stderr; returns it.
fn refused(output: &Output, what: &str) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{what}: {output:?}");
    assert!(output.stdout.is_empty(), "{what}: {output:?}");
    assert_eq!(error.matches('\n').count(), 1, "{what}: {error}");
    assert!(error.starts_with("gemv: ") && error.ends_with('\n'), "{what}: {error}");
    error
}

/// `--list` has each tensor of the file as it was written.
fn listed(list: &Value, file: &Gguf, what: &str) {
    let listed = list["tensors"].as_array().unwrap();
    assert!(listed.len() >= file.tensors.len(), "{what}: {list}");
    for tensor in &file.tensors {
        let name = String::from_utf8_lossy(&tensor.name);
        let found = listed.iter().find(|found| found["name"] == *name);
        let found = found.unwrap_or_else(|| panic!("{what}: no {name} in {list}"));
        let kind = blocks::kinds().find(|kind| kind.number == tensor.kind).unwrap();
        let data = tensor.shares.map_or(&tensor.data, |other| &file.tensors[other].data);
        assert_eq!(found["type"], kind.name, "{what}: {name}");
        assert_eq!(found["shape"], Value::from(tensor.dims.clone()), "{what}: {name}");
        assert_eq!(found["bytes"], data.len(), "{what}: {name}");
        assert_eq!(found["crc32"], blocks::crc32(data), "{what}: {name}");
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", value[key]))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

/// What each line of figures has.
fn consistent(line: &Value) {
    let bytes = number(line, "bytes");
    assert!(bytes > 0.0);
    for way in ["serial", "pool"] {
        let key = |unit: &str| number(line, &format!("{way}_{unit}"));
        assert!(key("us") > 0.0, "{line}");
        assert!(near(key("us"), 1e3 * key("ms")));
        assert!(near(key("gb_per_s"), bytes / key("us") / 1e3));
        assert!(near(key("share_of_read"), key("gb_per_s") / key("read_gb_per_s")));
    }
    assert!(near(number(line, "speedup"), number(line, "serial_us") / number(line, "pool_us")));
}

#[test]
fn json_has_what_it_promises() {
    let report = Temp::new("json.gguf", &writer::llama().bytes()).json(&[]);
    assert!(number(&report, "width") >= 1.0);
    assert!(!report["reason"].as_str().unwrap().is_empty());
    assert_eq!(report["kernels"], rowpool_gemv::kernels());
    assert_eq!((&report["bitwise_equal"], &report["weights"]), (&true.into(), &"mapped".into()));
    let left_out = &report["left_out"][0];
    assert_eq!(left_out["name"], "blk.0.ffn_gate.weight");
    assert_eq!(
        (&left_out["type"], &left_out["why"]),
        (&"MXFP4".into(), &"MXFP4 is not read".into())
    );

    let token = &report["token"];
    consistent(token);
    assert!(near(number(token, "tokens_per_s"), 1e3 / number(token, "pool_ms")));
    assert_eq!(token["tokens_per_s_estimated"], false);
    assert_eq!((&token["layers_run"], &token["layers"]), (&2.into(), &2.into()));
    // Of eight tensors: not the norm, not the one that is not read.
    assert_eq!(token["matrices"], 6);
    let (mut matrices, mut bytes) = (0.0, 0.0);
    for format in ["f32", "f16", "q8_0"] {
        consistent(&report[format]);
        matrices += number(&report[format], "matrices");
        bytes += number(&report[format], "bytes");
    }
    assert_eq!((matrices, bytes), (6.0, number(token, "bytes")));

    // In the order of the step: layer 0, layer 1, the tied embeddings.
    let shape = |shape: &Value| {
        consistent(shape);
        let number = |key: &str| shape[key].as_u64().unwrap();
        (
            shape["format"].as_str().unwrap().to_owned(),
            number("rows"),
            number("cols"),
            number("count"),
        )
    };
    let shapes: Vec<_> = token["shapes"].as_array().unwrap().iter().map(shape).collect();
    let expected =
        [("F32", 64, 64, 2), ("F16", 32, 64, 1), ("Q8_0", 64, 128, 2), ("Q8_0", 256, 64, 1)];
    assert_eq!(shapes, expected.map(|(format, rows, cols, n)| (format.to_owned(), rows, cols, n)));
}

#[test]
fn text_says_what_was_run_and_why() {
    let file = Temp::new("text.gguf", &writer::llama().bytes());
    let output = file.run(&["--threads", "1", "--layers", "1"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "text.gguf, mapped\n",
        "left out of the token, not read here: MXFP4: blk.0.ffn_gate.weight\n",
        "width 1: ",
        "--threads",
        "kernels: ",
        "text.gguf: 4 matrices",
        "1 of 2 layers (as asked)",
        "of reading",
        "all Q8_0",
        "tokens/s, estimated for all layers",
        "F16 32 x 64",
        "the same to the bit",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let list = String::from_utf8(file.run(&["--list"]).stdout).unwrap();
    let crc = blocks::crc32(&writer::llama().tensors[0].data);
    let line = list.lines().find(|line| line.starts_with("token_embd.weight ")).unwrap();
    for part in ["Q8_0", "64 x 256", "17408 bytes", &format!("CRC-32 {crc:08x}: run")] {
        assert!(line.contains(part), "no {part:?} in {line}");
    }
    assert!(
        list.contains(": left out: a vector\n") && list.contains(": left out: MXFP4 is not read\n")
    );
}

#[test]
fn the_reason_names_the_variable() {
    let file = Temp::new("reason.gguf", &writer::llama().bytes());
    let output = Command::new(example())
        .args(["--gguf", file.file().to_str().unwrap(), "--seconds", "0.001", "--json"])
        .env("ROWPOOL_NUM_THREADS", "1")
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["width"], 1);
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("ROWPOOL_NUM_THREADS"), "{reason}");
}

#[test]
fn bad_options_are_refused() {
    for (args, part) in [
        (&["--nope"][..], "--nope"),
        (&["stray"], "stray"),
        (&["--threads"], "--threads wants a number"),
        (&["--threads", "two"], "two"),
        (&["--threads", "-1"], "-1"),
        (&["--threads", "513"], "513"),
        (&["--layers", "0"], "--layers"),
        (&["--seconds", "0"], "--seconds"),
        (&["--seconds", "-1"], "--seconds"),
        (&["--seconds", "nan"], "--seconds"),
        (&["--seconds", "inf"], "--seconds"),
        (&["--seconds", "1e300"], "--seconds"),
        (&["--model", "gpt"], "smollm2-135m, tinyllama-1.1b, llama3-8b"),
        (&["--model"], "--model wants a name"),
        (&["--gguf"], "--gguf wants a file"),
        (&["--gguf", "x", "--model", "llama3-8b"], "only one"),
        (&["--list"], "--gguf"),
        (&["--copy"], "--gguf"),
    ] {
        let error = refused(&run(args), &format!("{args:?}"));
        assert!(error.contains(part), "{args:?}: {error}");
    }
    let help = run(&["--help"]);
    assert!(help.status.success() && help.stdout.starts_with(b"usage: "));
}
