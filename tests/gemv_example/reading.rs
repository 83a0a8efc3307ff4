//! Files as they may be: each case is written, listed by the built example, and
//! each tensor's CRC-32 compared with that of the bytes written.

use std::fs;
use std::path::PathBuf;

use crate::blocks::{self, Random};
use crate::writer::{llama, Gguf, Tensor, Value};
use crate::{listed, refused, Temp};

#[test]
fn each_type_is_listed_and_only_those_that_are_read_are_run() {
    let mut random = Random(3);
    let names: Vec<String> =
        blocks::kinds().map(|kind| format!("blk.{}.attn_q.weight", kind.number)).collect();
    let tensors = blocks::kinds().zip(&names);
    let mut tensors: Vec<Tensor> = tensors
        .map(|(kind, name)| Tensor::random(name, kind.name, &[512, 5], &mut random))
        .collect();
    // Of a type that nobody knows, so of unknown size.
    tensors.push(Tensor::raw("blk.0.odd", 1000, &[3, 3], random.bytes(77)));
    let file = Gguf::new(tensors);
    let written = Temp::new("types.gguf", &file.bytes());
    let list = written.json(&["--list"]);
    let odd = list["tensors"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&odd["name"], &odd["type"]), (&"blk.0.odd".into(), &"type 1000".into()));
    assert!(odd["bytes"].is_null() && odd["crc32"].is_null(), "{odd}");
    let known = Gguf { tensors: file.tensors.into_iter().take(names.len()).collect(), ..file };
    listed(&list, &known, "types");

    let report = written.json(&[]);
    let missing = report["left_out"].as_array().unwrap();
    for (kind, found) in blocks::kinds().zip(list["tensors"].as_array().unwrap()) {
        let why = format!("{} is not read", kind.name);
        let left_out = missing.iter().any(|it| it["type"] == kind.name && it["why"] == *why);
        assert_eq!((found["run"].as_bool().unwrap(), left_out), (kind.read, !kind.read), "{why}");
        assert_eq!(found["why"].is_null(), kind.read, "{why}");
        assert_eq!(report.get(kind.name.to_lowercase()).is_some(), kind.read, "{why}");
    }
    assert_eq!(report["token"]["matrices"], 8);
    // In one line, and no complaint.
    let text = String::from_utf8(written.run(&[]).stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("left out of the token, not read here: "))
        .unwrap();
    for (kind, name) in blocks::kinds().zip(&names) {
        assert_eq!(line.contains(&format!("{}: {name}", kind.name)), !kind.read, "{line}");
    }
    assert!(line.ends_with("type 1000: blk.0.odd"), "{line}");
}

#[test]
fn rows_that_are_no_whole_blocks_are_left_out() {
    let mut random = Random(4);
    let odd = Tensor::raw("blk.0.odd.weight", 12, &[128, 2], random.bytes(144));
    let file = Gguf::new(vec![odd, Tensor::random("output.weight", "F32", &[7, 3], &mut random)]);
    let written = Temp::new("odd.gguf", &file.bytes());
    let list = written.json(&["--list"]);
    assert_eq!(list["tensors"][0]["why"], "rows are no whole blocks of 256");
    assert!(list["tensors"][0]["crc32"].is_null());
    let report = written.json(&[]);
    assert_eq!(report["left_out"][0]["name"], "blk.0.odd.weight");
    assert_eq!(report["token"]["matrices"], 1);
}

#[test]
fn data_may_be_aligned_to_any_power_of_two() {
    for alignment in [1, 8, 16, 32, 64, 128, 256, 4096, 65536] {
        for gap in [0, 1, alignment as usize, 5 * alignment as usize] {
            let mut file = llama().aligned(alignment);
            file.gap = gap;
            let written = Temp::new("aligned.gguf", &file.bytes());
            let what = format!("aligned to {alignment}, {gap} more");
            listed(&written.json(&["--list"]), &file, &what);
            listed(&written.json(&["--list", "--copy"]), &file, &what);
        }
    }
    for alignment in [0, 3, 48, 33, u32::MAX] {
        let file = llama().pair("general.alignment", Value::u32(alignment));
        let error = refused(&Temp::new("unaligned", &file.bytes()).run(&[]), "alignment");
        let part = format!("key general.alignment: {alignment} is no power of two");
        assert!(error.contains(&part), "{error}");
    }
    // What lies beside its alignment has been meant otherwise.
    let mut file = llama().pair("general.alignment", Value::u32(64));
    file.gap = 32;
    let error = refused(&Temp::new("beside", &file.bytes()).run(&[]), "beside");
    assert!(error.contains("no multiple of the alignment, 64"), "{error}");
}

#[test]
fn vocabularies_are_passed_over() {
    for count in [65_537usize, 128_256, 262_144] {
        let tokens = (0..count).map(|i| format!("<|token {i}|>"));
        let merges = (0..count).map(|i| format!("a{i} b"));
        let scores: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let types: Vec<u8> = (0..count).flat_map(|_| 1i32.to_le_bytes()).collect();
        // Not in UTF-8, some of them.
        let bytes = (0..count).map(|i| [0xff, 0xc0, 0x80, i as u8]);
        let mut file = llama()
            .pair("tokenizer.ggml.scores", Value::array(6, count as u64, &scores))
            .pair("tokenizer.ggml.token_type", Value::array(5, count as u64, &types))
            .pair("tokenizer.ggml.merges", Value::strings(merges))
            .pair("tokenizer.ggml.bytes", Value::strings(bytes))
            .aligned(64);
        let own = file.pairs.iter_mut().find(|(key, _)| key == b"tokenizer.ggml.tokens");
        own.unwrap().1 = Value::strings(tokens);
        let written = Temp::new("vocabulary.gguf", &file.bytes());
        listed(&written.json(&["--list"]), &file, &format!("{count} tokens"));
        assert_eq!(written.json(&[])["token"]["matrices"], 6);
    }
}

#[test]
fn strings_and_arrays_may_be_long_nested_and_empty() {
    let long = vec![b'x'; 3 << 20];
    let inner = |bytes: &[u8]| [&0u32.to_le_bytes()[..], &3u64.to_le_bytes(), bytes].concat();
    let nested = [inner(&[1, 2, 3]), inner(&[4, 5, 6])].concat();
    let mut file = llama()
        .pair("tokenizer.chat_template", Value::string(&long))
        .pair(&"k".repeat(70_000), Value::string([0xff, 0xfe, 0]))
        .pair("strings", Value::strings([&long[..70_000], &[], &long[..65_536]].iter()))
        .pair("nothing", Value::strings([""; 0].iter()))
        .pair("nested", Value::array(9, 2, &nested))
        .pair("u8", Value::plain(0, &[1]))
        .pair("bool", Value::plain(7, &[1]))
        .pair("f64", Value::plain(12, &[0; 8]));
    file.pairs.push((vec![0xff, 0xfe], Value::u32(1)));
    file.tensors.push(Tensor::random("big", "F32", &[1000, 700], &mut Random(12)));
    let written = Temp::new("long.gguf", &file.bytes());
    listed(&written.json(&["--list"]), &file, "long");
}

#[test]
fn names_that_are_not_utf_8_are_shown_by_their_bytes() {
    let mut random = Random(5);
    let mut tensors: Vec<Tensor> =
        (0..2).map(|_| Tensor::random("", "F32", &[4, 4], &mut random)).collect();
    tensors[0].name = vec![b'a', 0xff];
    tensors[1].name = vec![b'a', 0xfe, b'\n'];
    let list = Temp::new("names.gguf", &Gguf::new(tensors).bytes()).json(&["--list"]);
    assert_eq!(list["tensors"][0]["name"], "a\\xff");
    assert_eq!(list["tensors"][1]["name"], "a\\xfe\\n");
}

#[test]
fn tensors_may_share_their_data() {
    let mut file = llama();
    let mut output = Tensor::random("output.weight", "Q8_0", &[64, 256], &mut Random(6));
    output.shares = Some(0);
    // And another that lies within it.
    let part = file.tensors[0].data[..2 * 68].to_vec();
    let mut within = Tensor::raw("blk.0.attn_v.weight", 8, &[64, 2], part.clone());
    within.shares = Some(0);
    file.tensors.extend([output, within]);
    let written = Temp::new("tied.gguf", &file.bytes());
    let list = written.json(&["--list"]);
    let found = list["tensors"].as_array().unwrap();
    assert_eq!(found[8]["crc32"], blocks::crc32(&file.tensors[0].data));
    assert_eq!(found[9]["crc32"], blocks::crc32(&part));
    // The embeddings are only looked up now.
    assert_eq!((&found[0]["run"], &found[8]["run"]), (&false.into(), &true.into()));
    assert_eq!(found[0]["why"], "a table that is looked up");
    assert_eq!(written.json(&[])["token"]["matrices"], 7);
}

#[test]
fn experts_are_the_rows_of_all_of_them() {
    let mut random = Random(7);
    let file = Gguf::new(vec![
        Tensor::random("blk.0.ffn_up_exps.weight", "Q4_K", &[256, 3, 4], &mut random),
        Tensor::random("blk.0.four.weight", "F16", &[64, 2, 3, 5], &mut random),
        Tensor::random("blk.0.one.weight", "F32", &[64, 1, 1, 1], &mut random),
        Tensor::random("blk.0.scalar", "F32", &[], &mut random),
    ]);
    let written = Temp::new("experts.gguf", &file.bytes());
    listed(&written.json(&["--list"]), &file, "experts");
    let report = written.json(&[]);
    let shapes = report["token"]["shapes"].as_array().unwrap();
    let found: Vec<_> = shapes.iter().map(|it| (it["rows"].clone(), it["cols"].clone())).collect();
    assert_eq!(found, [(12, 256), (30, 64), (1, 64)].map(|(r, c)| (r.into(), c.into())));
}

/// Three parts of a model, the first with its tensors or without.
fn parts(alignment: Option<usize>, first: bool) -> Vec<Gguf> {
    let mut random = Random(8);
    let count = if first { 5 } else { 4 };
    let part = |number: u16| {
        let name = |part: &str| format!("blk.{number}.{part}.weight");
        let mut tensors = vec![
            Tensor::random(&name("attn_q"), "Q8_0", &[64, 3 + u64::from(number)], &mut random),
            Tensor::random(&name("attn_k"), "F16", &[32, 3], &mut random),
        ];
        match number {
            0 if first => tensors.truncate(1),
            0 => tensors.clear(),
            _ => {}
        }
        let mut file = Gguf::new(tensors)
            .pair("split.no", Value::u16(number))
            .pair("split.count", Value::u16(3))
            .pair("split.tensors.count", Value::i32(count));
        match alignment {
            // As PyPI's gguf does: only the first says so.
            Some(alignment) if number == 0 => file.aligned(alignment as u32),
            _ => {
                file.alignment = alignment.unwrap_or(32);
                // To where 64 and 32 differ, and to where they do not.
                file.pair("filler", Value::string("x".repeat(32 * usize::from(number))))
            }
        }
    };
    (0..3).map(part).collect()
}

fn write(folder: &Temp, parts: &[Gguf]) {
    for (i, part) in parts.iter().enumerate() {
        fs::write(part_path(folder, i), part.bytes()).unwrap();
    }
}

fn part_path(folder: &Temp, i: usize) -> PathBuf {
    folder.0.join(format!("m\u{f6}del \u{e9}-{:05}-of-00003.gguf", i + 1))
}

#[test]
fn split_models_are_read_by_their_first_part() {
    let run = |folder: &Temp, part: usize| {
        crate::run(&["--gguf", part_path(folder, part).to_str().unwrap(), "--list", "--json"])
    };
    for alignment in [None, Some(8), Some(64), Some(256), Some(4096)] {
        for first in [true, false] {
            let folder = Temp::folder("parts");
            let parts = parts(alignment, first);
            write(&folder, &parts);
            let list = crate::json(&run(&folder, 0));
            assert_eq!(list["parts"], 3);
            for part in &parts {
                listed(&list, part, &format!("split, {alignment:?}"));
            }
            for later in [1, 2] {
                let error = refused(&run(&folder, later), "a later part");
                let part = format!("a later part of a split model, {} of 3: give ", later + 1);
                assert!(error.contains(&part) && error.contains("-00001-of-00003.gguf"), "{error}");
            }
        }
    }
}

#[test]
fn split_models_that_are_not_whole_are_refused() {
    let error = |change: &dyn Fn(&mut Vec<Gguf>)| {
        let folder = Temp::folder("broken");
        let mut parts = parts(None, true);
        change(&mut parts);
        write(&folder, &parts);
        refused(&crate::run(&["--gguf", part_path(&folder, 0).to_str().unwrap()]), "broken")
    };
    let missing = error(&|parts| drop(parts.pop()));
    assert!(missing.contains("part 3 of 3, ") && missing.contains("os error"), "{missing}");
    for (change, part) in [
        (
            &(|parts: &mut Vec<Gguf>| parts[1].pairs.retain(|(key, _)| key != b"split.no"))
                as &dyn Fn(&mut Vec<Gguf>),
            "gguf: does not say that it is this part",
        ),
        (&|parts| drop(parts[2].tensors.pop()), "5 tensors are promised, but the parts have 4"),
        (
            &|parts| parts[2].tensors[1].name = parts[1].tensors[1].name.clone(),
            "blk.1.attn_k.weight: is in two parts",
        ),
        (&|parts| parts[1].version = 1, "gguf: GGUF version 1"),
    ] {
        let error = error(change);
        assert!(error.contains(part), "{error}");
    }
    // Neither aligned as the first nor as usual: the length shows it.
    let error = error(&|parts| {
        *parts = self::parts(Some(64), true);
        parts[1].alignment = 128;
        parts[1].pairs.push((b"more".to_vec(), Value::string("x".repeat(32))));
        parts[1].tensors[0].data.truncate(100);
    });
    assert!(error.contains("does not say what it is aligned to, 32 or 64"), "{error}");
}
