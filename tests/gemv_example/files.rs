//! Files that are not what they should be: one line that says so, exit code 2.

use std::fs;

use crate::blocks::Random;
use crate::writer::{llama, Gguf, Tensor, Value};
use crate::{refused, run, Temp};

fn error(name: &str, bytes: &[u8]) -> String {
    let file = Temp::new(name, bytes);
    let error = refused(&file.run(&["--json"]), name);
    assert_eq!(refused(&file.run(&["--list"]), name), error, "the same of --list");
    assert_eq!(refused(&file.run(&["--copy"]), name), error, "the same of --copy");
    error
}

#[test]
fn missing_and_foreign_files_are_refused() {
    let missing = refused(&run(&["--gguf", "/nonexistent/model.gguf"]), "missing");
    assert!(missing.contains("/nonexistent/model.gguf"), "{missing}");
    let folder = Temp::folder("folder");
    let error_of = |path: &str| refused(&run(&["--gguf", path]), path);
    assert!(error_of(folder.0.to_str().unwrap()).contains("not a file"));
    #[cfg(target_os = "linux")]
    assert!(error_of("/dev/zero").contains("not a file"));

    for (name, bytes, part) in [
        ("empty", &[][..], "truncated"),
        ("three", b"GGU", "truncated"),
        ("text", b"{\"model_type\": \"llama\"}\n", "not a GGUF file"),
        ("short", b"hi", "not a GGUF file"),
        ("zeros", &[0; 4096], "not a GGUF file"),
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01", "\\x89PNG"),
        ("zip", b"PK\x03\x04\x14\0\0\0\x08\0", "not a GGUF file"),
        ("safetensors", b"\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", "not a GGUF file"),
        ("ggjt", b"tjgg\x03\0\0\0", "not a GGUF file"),
    ] {
        let error = error(name, bytes);
        assert!(error.contains(part), "{name}: {error}");
    }
}

/// Root may read everything, so this can only be tried by others.
#[cfg(unix)]
#[test]
fn files_that_may_not_be_read_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = Temp::new("secret", &llama().bytes());
    fs::set_permissions(file.file(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(file.file()).is_ok() {
        eprintln!("skipped: this user reads everything");
        return;
    }
    assert!(refused(&file.run(&[]), "secret").contains("denied"));
}

#[test]
fn other_versions_are_refused_and_version_2_is_read() {
    let mut file = llama();
    for (version, part) in [
        (0, "version 0"),
        (1, "version 1"),
        (4, "version 4"),
        (u32::MAX, "version 4294967295"),
        (3u32.swap_bytes(), "big-endian"),
        (2u32.swap_bytes(), "big-endian"),
    ] {
        file.version = version;
        let error = error("version", &file.bytes());
        assert!(error.contains(part), "{version}: {error}");
    }
    file.version = 2;
    let two = Temp::new("two.gguf", &file.bytes());
    crate::listed(&two.json(&["--list"]), &file, "version 2");
    assert_eq!(two.json(&[])["token"]["matrices"], 6);
}

#[test]
fn a_file_without_a_usable_matrix_is_refused() {
    let random = &mut Random(2);
    let norm = Tensor::random("output_norm.weight", "F32", &[64], random);
    let other = Tensor::random("output.weight", "TQ2_0", &[256, 3], random);
    let empty = Tensor::raw("blk.0.attn_k.weight", 0, &[64, 0], vec![]);
    for (what, tensors) in
        [("none", vec![]), ("norm", vec![norm]), ("other", vec![other]), ("no-rows", vec![empty])]
    {
        let error = refused(&Temp::new(what, &Gguf::new(tensors).bytes()).run(&[]), what);
        assert!(error.contains("no matrix of a type that is read here (F32, F16, "), "{error}");
        assert_eq!(error.contains("left out: TQ2_0: output.weight"), what == "other", "{error}");
    }
}

#[test]
fn truncated_files_are_refused_wherever_they_end() {
    let (bytes, places) = llama().write();
    let whole = bytes.len();
    let header = (0..places.data).step_by(3);
    let tensors = (places.data..whole).step_by(whole / 60);
    let ends = [places.data - 1, places.data + 1, whole - 1];
    for (i, end) in header.chain(tensors).chain(ends).enumerate() {
        let file = Temp::new("cut", &bytes[..end]);
        let option = ["--json", "--list", "--copy"][i % 3];
        let error = refused(&file.run(&[option]), &format!("cut at {end}"));
        assert!(error.contains("truncated"), "cut at {end}: {error}");
    }
    assert!(Temp::new("whole", &bytes).run(&[]).status.success());
    // Of nothing but metadata, too: a first part may be so.
    let file = Gguf::new(vec![]).pair("last", Value::string("x".repeat(100)));
    let end = file.write().1.data - 32;
    assert_eq!(
        Temp::new("none", &file.bytes()).json(&["--list"])["tensors"],
        serde_json::json!([])
    );
    let error = refused(&Temp::new("none", &file.bytes()[..end]).run(&["--list"]), "no tensors");
    assert!(error.contains("truncated"), "{error}");
}

#[test]
fn the_last_padding_may_be_missing() {
    let mut file = llama();
    file.gap = 32;
    let bytes = file.bytes();
    let short = Temp::new("short.gguf", &bytes[..bytes.len() - 32]);
    crate::listed(&short.json(&["--list"]), &file, "short");
}

#[test]
fn absurd_counts_and_lengths_are_refused() {
    let (bytes, places) = llama().write();
    let dims = [places.first_dims + 4, places.first_dims + 12];
    let offset = places.first_dims + 24;
    for &at in places.counts.iter().chain(&dims).chain([&offset]) {
        for count in [u64::MAX, u64::MAX - 31, 1 << 63, 1 << 40, u64::MAX / 34, (1 << 32) + 32] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
            let file = Temp::new("absurd", &bytes);
            refused(&file.run(&["--list"]), &format!("{count} at {at}"));
        }
    }
    for count in [0, 5, u32::MAX] {
        let mut bytes = bytes.clone();
        bytes[places.first_dims..places.first_dims + 4].copy_from_slice(&count.to_le_bytes());
        refused(&Temp::new("dims", &bytes).run(&[]), &format!("{count} dimensions"));
    }
}

#[test]
fn absurd_metadata_is_refused() {
    let deep = (0..40).fold(vec![], |inner: Vec<u8>, _| {
        [&9u32.to_le_bytes()[..], &1u64.to_le_bytes(), &inner].concat()
    });
    let split = |no: u16, count: u16| {
        llama().pair("split.no", Value::u16(no)).pair("split.count", Value::u16(count))
    };
    let number = |bytes: &[u8]| llama().pair("split.count", Value::plain(10, bytes));
    for (name, file, part) in [
        ("type", llama().pair("x", Value::plain(13, &[])), "key x: has a value of unknown type 13"),
        ("deep", llama().pair("x", Value::plain(9, &deep)), "key x: has arrays in arrays"),
        ("long", llama().pair("x", Value::array(12, u64::MAX / 4, &[])), "truncated"),
        ("texts", llama().pair("x", Value::array(8, u64::MAX / 4, &[])), "truncated"),
        ("twice", llama().pair("llama.block_count", Value::u32(2)), "is there twice"),
        ("-1", llama().pair("general.alignment", Value::i32(-1)), "is negative"),
        ("f32", llama().pair("general.alignment", Value::plain(6, &[0; 4])), "no whole number"),
        ("string", llama().pair("general.alignment", Value::string("32")), "no whole number"),
        ("later", split(2, 3), "a later part of a split model, 3 of 3: give the first"),
        ("named", split(0, 3), "not named ...-00001-of-00003.gguf"),
        ("parts", number(&u64::MAX.to_le_bytes()), "key split.count: is 18446744073709551615"),
    ] {
        let error = error(name, &file.bytes());
        assert!(error.contains(part), "{name}: {error}");
    }
    let mut same = llama();
    same.tensors[1].name = same.tensors[2].name.clone();
    assert!(error("same", &same.bytes()).contains("tensor blk.1.ffn_down.weight: is there twice"));
    same.tensors[1].name = b"two\nlines".to_vec();
    let lines = Temp::new("lines", &same.bytes()).run(&["--list"]).stdout;
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 1 + same.tensors.len());
    same.tensors[2].name = same.tensors[1].name.clone();
    assert!(error("same", &same.bytes()).contains("tensor two\u{fffd}lines: is there twice"));
    let mut deep = llama();
    deep.tensors[1].dims = vec![4, 2, 2, 2, 2];
    assert!(error("five", &deep.bytes()).contains("output_norm.weight: has 5 dimensions"));
}

#[test]
fn damaged_headers_never_crash() {
    let (whole, places) = llama().write();
    let mut random = Random(12345);
    for round in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            bytes[random.below(places.data)] = random.next() as u8;
        }
        let output = Temp::new("damaged", &bytes).run(&["--list"]);
        // A changed letter of a name is still a file.
        if !output.status.success() {
            refused(&output, &format!("round {round}"));
        }
    }
}
