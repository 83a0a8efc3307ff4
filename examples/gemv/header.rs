//! The header of a GGUF file (version 2 or 3, little-endian): which tensors it
//! has and where they lie. Reads what is needed of the metadata and passes over
//! the rest, so that no count or length in it asks for memory.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read as _};

/// What the metadata says of the file itself.
#[derive(Debug, Default)]
pub struct Header {
    pub tensors: Vec<Tensor>,
    /// `general.alignment`, a power of two.
    pub alignment: Option<u64>,
    /// Of a model in several files, which this is, from 0, and of how many.
    pub split: Option<(u64, u64)>,
    /// Tensors in all of those files.
    pub split_tensors: Option<u64>,
    /// Bytes of the header, without the padding behind it.
    end: u64,
}

/// A tensor as the header has it; nothing is checked.
#[derive(Debug)]
pub struct Tensor {
    pub name: String,
    /// Columns first, then rows.
    pub dims: Vec<u64>,
    pub kind: u32,
    /// From the beginning of the data.
    pub offset: u64,
}

pub const TRUNCATED: &str = "truncated: the file ends before its contents do";

/// What the data is aligned to where the file does not say.
pub const ALIGNMENT: u64 = 32;

/// More dimensions than ggml has.
const MOST_DIMS: u32 = 4;
/// Longer than any name of a key (65535 bytes) or of a tensor (64).
const MOST_NAME: u64 = 1 << 20;
/// Names of parts have five digits.
const MOST_PARTS: u64 = 99_999;
/// Real files have arrays of strings, and no arrays in arrays.
const MOST_DEPTH: u32 = 16;

impl Header {
    pub fn read(file: &File) -> Result<Header, String> {
        let left = file.metadata().map_err(|error| error.to_string())?.len();
        let mut input = Input { reader: BufReader::with_capacity(1 << 16, file), left };
        let len = left;
        input.magic()?;
        let version = input.u32()?;
        match version {
            2 | 3 => {}
            _ if version.trailing_zeros() >= 16 && version != 0 => {
                return Err("a big-endian GGUF file; only little-endian ones are read".into());
            }
            _ => return Err(format!("GGUF version {version}; only 2 and 3 are read")),
        }
        let (tensors, pairs) = (input.u64()?, input.u64()?);
        let mut header = Header::default();
        let mut keys = HashSet::new();
        for _ in 0..pairs {
            let key = input.name("a key")?;
            header.pair(&key, &mut input).map_err(|error| named("key", &key, error))?;
            if let Some(twice) = keys.replace(key) {
                return Err(named("key", &twice, "is there twice".into()));
            }
        }
        let mut names = HashSet::new();
        for _ in 0..tensors {
            let tensor = input.tensor()?;
            if !names.insert(tensor.name.clone()) {
                return Err(format!("tensor {}: is there twice", tensor.name));
            }
            header.tensors.push(tensor);
        }
        header.end = len - input.left;
        Ok(header)
    }

    /// Where the data begins, so aligned.
    pub fn data(&self, alignment: u64) -> Option<u64> {
        self.end.checked_next_multiple_of(alignment)
    }

    /// Reads a value, and keeps it if it matters here.
    fn pair(&mut self, key: &str, input: &mut Input<'_>) -> Result<(), String> {
        let kind = input.u32()?;
        let known = ["general.alignment", "split.no", "split.count", "split.tensors.count"];
        if !known.contains(&key) {
            return input.skip_value(kind, 0);
        }
        let value = input.whole_number(kind)?;
        let split = self.split.unwrap_or((0, 1));
        match key {
            "split.no" | "split.count" if value > MOST_PARTS => return Err(format!("is {value}")),
            "split.no" => self.split = Some((value, split.1)),
            "split.count" => self.split = Some((split.0, value)),
            "split.tensors.count" => self.split_tensors = Some(value),
            _ if value.is_power_of_two() => self.alignment = Some(value),
            _ => return Err(format!("{value} is no power of two")),
        }
        Ok(())
    }
}

fn named(what: &str, name: &str, error: String) -> String {
    // What the whole file is matters more than where that shows.
    if error == TRUNCATED {
        return error;
    }
    format!("{what} {name}: {error}")
}

/// The rest of the file.
struct Input<'f> {
    reader: BufReader<&'f File>,
    left: u64,
}

impl Input<'_> {
    fn magic(&mut self) -> Result<(), String> {
        let mut magic = [0; 4];
        let there = self.left.min(4) as usize;
        self.take(&mut magic[..there])?;
        match &magic {
            _ if b"GGUF".starts_with(&magic[..there]) && there < 4 => Err(TRUNCATED.into()),
            b"GGUF" => Ok(()),
            b"FUGG" => Err("a big-endian GGUF file; only little-endian ones are read".into()),
            _ => Err(format!(
                "not a GGUF file: it begins with \"{}\"",
                magic[..there].escape_ascii()
            )),
        }
    }

    fn count(&mut self, bytes: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or(TRUNCATED)?;
        Ok(())
    }

    fn take(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.count(bytes.len() as u64)?;
        self.reader.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => TRUNCATED.into(),
            _ => error.to_string(),
        })
    }

    fn u32(&mut self) -> Result<u32, String> {
        let mut bytes = [0; 4];
        self.take(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self) -> Result<u64, String> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        self.count(bytes)?;
        // No file is longer than an i64 counts.
        let bytes = i64::try_from(bytes).map_err(|_| TRUNCATED)?;
        self.reader.seek_relative(bytes).map_err(|error| error.to_string())
    }

    fn name(&mut self, what: &str) -> Result<String, String> {
        let len = self.u64()?;
        if len > MOST_NAME {
            return Err(format!("{what} has a name of {len} bytes"));
        }
        let mut name = vec![0; len as usize];
        self.take(&mut name)?;
        Ok(match String::from_utf8(name) {
            Ok(name) => name,
            // Other bytes must not become the same name.
            Err(error) => error.as_bytes().escape_ascii().to_string(),
        })
    }

    fn tensor(&mut self) -> Result<Tensor, String> {
        let name = self.name("a tensor")?;
        let count = self.u32()?;
        if count > MOST_DIMS {
            return Err(format!("tensor {name}: has {count} dimensions"));
        }
        let dims = (0..count).map(|_| self.u64()).collect::<Result<_, _>>()?;
        Ok(Tensor { name, dims, kind: self.u32()?, offset: self.u64()? })
    }

    fn whole_number(&mut self, kind: u32) -> Result<u64, String> {
        let (bytes, signed) = match kind {
            0 | 1 => (1, kind == 1),
            2 | 3 => (2, kind == 3),
            4 | 5 => (4, kind == 5),
            10 | 11 => (8, kind == 11),
            _ => return Err("is no whole number".into()),
        };
        let mut value = [0; 8];
        self.take(&mut value[..bytes])?;
        if signed && value[bytes - 1] >= 0x80 {
            return Err("is negative".into());
        }
        Ok(u64::from_le_bytes(value))
    }

    fn skip_value(&mut self, kind: u32, depth: u32) -> Result<(), String> {
        if let Some(bytes) = size(kind) {
            return self.skip(bytes);
        }
        match kind {
            STRING => {
                let len = self.u64()?;
                self.skip(len)
            }
            ARRAY if depth < MOST_DEPTH => {
                let (kind, count) = (self.u32()?, self.u64()?);
                if let Some(bytes) = size(kind) {
                    return self.skip(count.checked_mul(bytes).ok_or(TRUNCATED)?);
                }
                // Each takes 8 bytes at least: a wrong count ends with the file.
                (0..count).try_for_each(|_| self.skip_value(kind, depth + 1))
            }
            ARRAY => Err("has arrays in arrays, too deep".into()),
            _ => Err(format!("has a value of unknown type {kind}")),
        }
    }
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Bytes of a value that has always the same.
fn size(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}
