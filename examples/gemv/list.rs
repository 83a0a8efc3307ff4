//! `--list`: each tensor of a file, with the CRC-32 of its data.

use std::fmt::Write as _;

use serde_json::{json, Map, Value};

use crate::gguf::{one_line, Entry, File};

pub fn json(file: &File) -> Result<String, String> {
    let tensor = |tensor: &Entry| {
        Ok(json!({
            "name": tensor.name,
            "type": tensor.kind_name,
            "shape": tensor.dims,
            "bytes": tensor.bytes,
            "crc32": file.crc32(tensor)?,
            "run": tensor.left_out.is_none(),
            "why": tensor.why(),
        }))
    };
    let tensors = file.tensors().iter().map(tensor).collect::<Result<Vec<Value>, String>>()?;
    let mut object = Map::new();
    object.insert("model".into(), json!(file.name()));
    object.insert("parts".into(), json!(file.parts()));
    object.insert("weights".into(), json!(weights(file)));
    object.insert("tensors".into(), json!(tensors));
    Ok(format!("{}\n", Value::Object(object)))
}

pub fn text(file: &File) -> Result<String, String> {
    let mut text = format!("{}\n", file.name());
    for tensor in file.tensors() {
        let or = |value: Option<String>| value.unwrap_or("unknown".into());
        let dims: Vec<String> = tensor.dims.iter().map(u64::to_string).collect();
        let bytes = or(tensor.bytes.map(|bytes| bytes.to_string()));
        let crc = or(file.crc32(tensor)?.map(|crc| format!("{crc:08x}")));
        let run = tensor.why().map_or("run".into(), |why| format!("left out: {why}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<32} {:<7} {:>16} {bytes:>12} bytes, CRC-32 {crc}: {run}",
            one_line(&tensor.name),
            tensor.kind_name,
            dims.join(" x "),
        );
    }
    Ok(text)
}

/// Where the weights of a file are read.
pub fn weights(file: &File) -> &'static str {
    if file.is_mapped() {
        "mapped"
    } else {
        "copied"
    }
}
