//! `examples/gemv`: what it prints, and what it does with files that are not
//! what they should be. Runs the built example; `loading` has its parts in hand.

mod loading;
mod tiny;

// The example's parts, by the names that they call each other; it uses the rest.
#[allow(dead_code)]
#[path = "../../examples/gemv/gguf.rs"]
mod gguf;
#[allow(dead_code)]
#[path = "../../examples/gemv/memory.rs"]
mod memory;
#[allow(dead_code)]
#[path = "../../examples/gemv/model.rs"]
mod model;
#[allow(dead_code)]
#[path = "../../examples/gemv/weights.rs"]
mod weights;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tiny::Tiny;

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

/// A file that is deleted in the end.
pub struct Temp(pub PathBuf);

impl Temp {
    pub fn new(name: &str, bytes: &[u8]) -> Temp {
        let path = std::env::temp_dir().join(format!("rowpool-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Temp(path)
    }

    fn run(&self) -> Output {
        run(&["--gguf", self.0.to_str().unwrap(), "--seconds", "0.001", "--json"])
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
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

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", value[key]))
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn json_has_what_it_promises() {
    let file = Temp::new("json.gguf", &tiny::llama().bytes);
    let output = file.run();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "one object, one line");
    let report: Value = serde_json::from_str(&text).unwrap();

    assert!(number(&report, "width") >= 1.0);
    assert!(!report["reason"].as_str().unwrap().is_empty());
    assert_eq!(report["bitwise_equal"], true);
    for (format, bytes) in [("q8_0", 34.0 / 32.0), ("f32", 4.0)] {
        let format = &report[format];
        let (serial, pool) = (number(format, "serial_ms"), number(format, "pool_ms"));
        assert!(serial > 0.0 && pool > 0.0);
        assert!(near(number(format, "speedup"), serial / pool));
        assert!(near(number(format, "tokens_per_s"), 1e3 / pool));
        assert_eq!(format["tokens_per_s_estimated"], false);
        assert_eq!((&format["layers_run"], &format["layers"]), (&2.into(), &2.into()));
        // Of ten tensors: not the norm, the four-bit, the 3-D and the narrow.
        assert_eq!(format["matrices"], 6);
        let shapes = format["shapes"].as_array().unwrap();
        let shape =
            |shape: &Value| ["rows", "cols", "count"].map(|key| shape[key].as_u64().unwrap());
        let shapes_found: Vec<[u64; 3]> = shapes.iter().map(shape).collect();
        // In the order of the step: layer 0, layer 1, the tied embeddings.
        assert_eq!(shapes_found, [[64, 64, 2], [32, 64, 1], [64, 128, 2], [256, 64, 1]]);
        let mut weights = 0.0;
        for shape in shapes {
            let size = number(shape, "rows") * number(shape, "cols");
            weights += size * number(shape, "count");
            for kind in ["serial", "pool"] {
                let us = number(shape, &format!("{kind}_us"));
                assert!(near(number(shape, &format!("{kind}_gb_per_s")), size * bytes / us / 1e3));
                assert!(near(number(shape, &format!("{kind}_gflop_per_s")), 2.0 * size / us / 1e3));
            }
        }
        assert!(near(number(format, "pool_gflop_per_s"), 2.0 * weights / pool / 1e6));
    }
}

#[test]
fn text_says_what_was_run_and_why() {
    let file = Temp::new("text.gguf", &tiny::llama().bytes);
    let path = file.0.to_str().unwrap();
    let output = run(&["--gguf", path, "--seconds", "0.001", "--threads", "1", "--layers", "1"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "text.gguf, 3 other matrices left out",
        "width 1: ",
        "--threads",
        "Q8_0: 4 matrices",
        "f32: 4 matrices",
        "1 of 2 layers (as asked)",
        "tokens/s, estimated for all layers",
        "32 x 64",
        "the same to the bit",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn the_reason_names_the_variable() {
    let file = Temp::new("reason.gguf", &tiny::llama().bytes);
    let path = file.0.to_str().unwrap();
    let output = Command::new(example())
        .args(["--gguf", path, "--seconds", "0.001", "--json"])
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
    ] {
        let error = refused(&run(args), &format!("{args:?}"));
        assert!(error.contains(part), "{args:?}: {error}");
    }
    let help = run(&["--help"]);
    assert!(help.status.success() && help.stdout.starts_with(b"usage: "));
}

#[test]
fn missing_and_foreign_files_are_refused() {
    let missing = refused(&run(&["--gguf", "/nonexistent/model.gguf"]), "missing");
    assert!(missing.contains("/nonexistent/model.gguf"), "{missing}");
    let folder = std::env::temp_dir();
    let folder = refused(&run(&["--gguf", folder.to_str().unwrap()]), "a folder");
    assert!(folder.contains("not a file"), "{folder}");

    let mut version = tiny::llama().bytes;
    version[4] = 2;
    for (name, bytes, part) in [
        ("empty", &[][..], "truncated"),
        ("text", b"{\"model_type\": \"llama\"}\n", "not a GGUF file"),
        ("zeros", &[0; 4096], "not a GGUF file"),
        ("version", &version, "version 2"),
    ] {
        let error = refused(&Temp::new(name, bytes).run(), name);
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn a_file_without_a_usable_matrix_is_refused() {
    let norm = || tiny::Tensor {
        name: "output_norm.weight",
        dims: vec![64],
        kind: tiny::F32,
        data: vec![0; 256],
    };
    let four_bits = tiny::Tensor {
        name: "output.weight",
        dims: vec![64, 64],
        kind: tiny::Q4_0,
        data: vec![0; 64 * 64 / 32 * 18],
    };
    let narrow = tiny::f32_tensor("blk.0.attn_q.weight", 4, 40);
    let empty = tiny::Tensor {
        name: "blk.0.attn_k.weight",
        dims: vec![64, 0],
        kind: tiny::F32,
        data: vec![],
    };
    for (what, tensors) in [
        ("none", vec![]),
        ("norm", vec![norm()]),
        ("four", vec![norm(), four_bits]),
        ("narrow", vec![narrow]),
        ("no-rows", vec![empty]),
    ] {
        let error = refused(&Temp::new(what, &tiny::gguf(&tensors).bytes).run(), what);
        assert!(error.contains("no F32, F16 or Q8_0 matrix"), "{what}: {error}");
    }
}

#[test]
fn truncated_files_are_refused_wherever_they_end() {
    let Tiny { bytes, data, .. } = tiny::llama();
    // The last tensor fills its 32 bytes: no padding at the end, whose loss
    // would be no loss.
    let header = (0..data).step_by(3);
    let tensors = (data..bytes.len()).step_by(bytes.len() / 60);
    for end in header.chain(tensors).chain([data - 1, data + 1, bytes.len() - 1]) {
        let error = refused(&Temp::new("cut", &bytes[..end]).run(), &format!("cut at {end}"));
        // A file of up to 3 bytes is no GGUF; from the magic on it is short.
        assert!(error.contains("truncated"), "cut at {end}: {error}");
    }
    assert!(Temp::new("whole", &bytes).run().status.success());
}

#[test]
fn absurd_counts_and_lengths_are_refused() {
    let tiny = tiny::llama();
    let eight = tiny.lengths.iter().chain([&tiny.tensor_count, &tiny.metadata_count]);
    let dims = [tiny.first_dims + 4, tiny.first_dims + 12];
    for &at in eight.chain(&dims) {
        for count in [u64::MAX, 1 << 63, 1 << 40, u64::MAX / 34, (1 << 32) + 1] {
            let mut bytes = tiny.bytes.clone();
            bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
            refused(&Temp::new("absurd", &bytes).run(), &format!("{count} at {at}"));
        }
    }
    for count in [0, 5, u32::MAX] {
        let mut bytes = tiny.bytes.clone();
        bytes[tiny.first_dims..tiny.first_dims + 4].copy_from_slice(&count.to_le_bytes());
        refused(&Temp::new("dims", &bytes).run(), &format!("{count} dimensions"));
    }
}

#[test]
fn damaged_headers_never_crash() {
    let tiny = tiny::llama();
    let mut state = 12345u32;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for round in 0..150 {
        let mut bytes = tiny.bytes.clone();
        for _ in 0..1 + next(3) {
            bytes[next(tiny.data)] = next(256) as u8;
        }
        let output = Temp::new("damaged", &bytes).run();
        // A changed letter of a name is still a file.
        if !output.status.success() {
            refused(&output, &format!("round {round}"));
        }
    }
}
