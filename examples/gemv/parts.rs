//! The files of a model, one or several, and their bytes: mapped into memory,
//! or read from the file where that cannot be.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::header::{Header, Tensor, ALIGNMENT, TRUNCATED};
use crate::types::kind;

/// One of the files.
pub struct Part {
    pub header: Header,
    /// Where the tensors' data begins, and what they are aligned to.
    data: u64,
    alignment: u64,
    len: u64,
    bytes: Bytes,
}

enum Bytes {
    Mapped(Mmap),
    InFile(File),
}

/// Opens a file, and all the others if it is the first of several.
pub fn open(path: &Path, map: bool) -> Result<Vec<Part>, String> {
    let first = Part::open(path, None, map)?;
    let (number, count) = first.header.split.unwrap_or((0, 1));
    if number > 0 {
        let first = sibling(path, number, count, 0);
        let first = first.map_or("the first".into(), |path| path.display().to_string());
        return Err(format!(
            "a later part of a split model, {} of {count}: give {first}",
            number + 1
        ));
    }
    let mut parts = vec![first];
    for number in 1..count {
        let Some(path) = sibling(path, 0, count, number) else {
            return Err(format!(
                "the first of {count} parts, but not named ...-00001-of-{count:05}.gguf, \
                 so the others are not found"
            ));
        };
        let part = Part::open(&path, Some(parts[0].alignment), map)
            .and_then(|part| match part.header.split {
                Some(split) if split == (number, count) => Ok(part),
                _ => Err("does not say that it is this part".into()),
            })
            .map_err(|error| {
                format!("part {} of {count}, {}: {error}", number + 1, path.display())
            })?;
        parts.push(part);
    }
    let found: u64 = parts.iter().map(|part| part.header.tensors.len() as u64).sum();
    match parts[0].header.split_tensors {
        Some(promised) if count > 1 && promised != found => {
            Err(format!("{promised} tensors are promised, but the parts have {found}"))
        }
        _ => Ok(parts),
    }
}

/// The path of part `wanted`, from that of part `number`; both from 0.
fn sibling(path: &Path, number: u64, count: u64, wanted: u64) -> Option<PathBuf> {
    let end = |number: u64| format!("-{:05}-of-{count:05}.gguf", number + 1);
    let stem = path.file_name()?.to_str()?.strip_suffix(&end(number))?;
    Some(path.with_file_name(format!("{stem}{}", end(wanted))))
}

impl Part {
    fn open(path: &Path, inherited: Option<u64>, map: bool) -> Result<Part, String> {
        let io = |error: std::io::Error| error.to_string();
        // Only a plain file: opening a pipe would wait for a writer.
        if !fs::metadata(path).map_err(io)?.is_file() {
            return Err("not a file".into());
        }
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        let header = Header::read(&file)?;
        let (data, alignment) = begin(&header, inherited, len)?;
        let bytes = match map.then(|| mapped(&file, len)).flatten() {
            Some(map) => Bytes::Mapped(map),
            None => Bytes::InFile(file),
        };
        Ok(Part { header, data, alignment, len, bytes })
    }

    pub fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    /// A part of the file that lies within it.
    pub fn bytes(&self, at: u64, len: u64) -> Result<Cow<'_, [u8]>, String> {
        match &self.bytes {
            Bytes::Mapped(map) => Ok(map[at as usize..][..len as usize].into()),
            Bytes::InFile(_) => {
                let mut bytes = Vec::new();
                let len = usize::try_from(len).map_err(|error| error.to_string())?;
                bytes.try_reserve_exact(len).map_err(|error| error.to_string())?;
                bytes.resize(len, 0);
                self.copy(at, &mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// The CRC-32 of the same.
    pub fn crc32(&self, mut at: u64, mut len: u64) -> Result<u32, String> {
        let mut crc = crc32fast::Hasher::new();
        while len > 0 {
            let some = len.min(1 << 20);
            crc.update(&self.bytes(at, some)?);
            (at, len) = (at + some, len - some);
        }
        Ok(crc.finalize())
    }

    fn copy(&self, at: u64, bytes: &mut [u8]) -> Result<(), String> {
        let Bytes::InFile(file) = &self.bytes else { unreachable!("only files are copied") };
        let mut file: &File = file;
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|error| error.to_string())
    }
}

fn mapped(file: &File, len: u64) -> Option<Mmap> {
    // A file system may do without maps, and an address space be too small.
    // SAFETY: the bytes of a map must not change while they are borrowed. We
    // never write to the file. Another process that does so while this one runs
    // changes results, and one that shortens it ends this one by a signal; no
    // value that is read decides over memory, since any bytes are weights.
    let map = unsafe { Mmap::map(file) }.ok()?;
    (map.len() as u64 == len).then_some(map)
}

/// Where the data begins, and its alignment. Writers align all parts of a model
/// alike, but some say so only in the first. Where that makes a difference, the
/// length of the file tells which it was.
fn begin(header: &Header, inherited: Option<u64>, len: u64) -> Result<(u64, u64), String> {
    let usual = header.alignment.unwrap_or(ALIGNMENT);
    let other = inherited.filter(|_| header.alignment.is_none()).unwrap_or(usual);
    let fits = |&alignment: &u64| {
        let ends = header.tensors.iter().map(|tensor| tensor.offset.checked_add(size(tensor)?));
        let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max().unwrap_or(0);
        let end = end.checked_next_multiple_of(alignment)?;
        header.data(alignment)?.checked_add(end).filter(|end| *end == len)
    };
    let alignment = match [usual, other].map(|alignment| fits(&alignment).is_some()) {
        _ if usual == other => usual,
        [true, _] => usual,
        [_, true] => other,
        _ => return Err(format!("it does not say what it is aligned to, {usual} or {other}")),
    };
    Ok((header.data(alignment).ok_or(TRUNCATED)?, alignment))
}

/// Bytes of a tensor; `None` if its type has no known size, its rows are no
/// whole blocks, or the number overflows.
pub fn size(tensor: &Tensor) -> Option<u64> {
    let kind = kind(tensor.kind).filter(|kind| kind.bytes > 0)?;
    let cols = tensor.dims.first().copied().unwrap_or(1);
    if tensor.dims.contains(&0) {
        return Some(0);
    }
    if cols % kind.block != 0 {
        return None;
    }
    let row = (cols / kind.block).checked_mul(kind.bytes)?;
    tensor.dims.iter().skip(1).try_fold(row, |bytes, dim| bytes.checked_mul(*dim))
}

/// Where a tensor lies in its file: where it begins, and its bytes if they are
/// known. It lies within the file then.
pub fn place(part: &Part, tensor: &Tensor) -> Result<(u64, Option<u64>), String> {
    let &Part { alignment, data, len, .. } = part;
    if tensor.offset % alignment != 0 {
        let offset = tensor.offset;
        return Err(format!(
            "tensor {}: its offset, {offset}, is no multiple of the alignment, {alignment}",
            tensor.name
        ));
    }
    let size = size(tensor);
    let elements = tensor.dims.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
    let begin = data.checked_add(tensor.offset);
    let end = begin.and_then(|begin| begin.checked_add(size.unwrap_or(0)));
    match (begin, end) {
        (Some(begin), Some(end)) if end <= len && elements.is_some() => Ok((begin, size)),
        _ => Err(TRUNCATED.into()),
    }
}
