//! Reads small files below a directory that is laid out as `/`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::cpuset::MAX_CPUS;
use super::parse;

/// Longest text that is read of one file. The longest that a kernel writes
/// here is `/proc/mounts`: hosts of many containers reach a megabyte, with the
/// cgroup mounts near its beginning. A CPU list of 8192 CPUs takes 40 KB.
const MAX_TEXT: u64 = 1 << 20;

/// A directory that is laid out as `/`. Its symbolic links are followed.
pub(crate) struct Tree<'a> {
    root: &'a Path,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(root: &'a Path) -> Self {
        Tree { root }
    }

    /// Text of a file, by its path from the root; `None` for whatever reason
    /// it cannot be read. Only plain files: opening a pipe would wait for ever.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let path = self.below(path);
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).ok()?;
        file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The number in a file.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        parse::number(&self.text(path)?)
    }

    pub(crate) fn has_dir(&self, path: &str) -> bool {
        self.below(path).is_dir()
    }

    /// The numbers `N` below [`MAX_CPUS`] of the entries `prefixN` of a
    /// directory, ascending.
    pub(crate) fn numbered(&self, dir: &str, prefix: &str) -> Vec<usize> {
        let Ok(entries) = fs::read_dir(self.below(dir)) else {
            return Vec::new();
        };
        let mut numbers: Vec<usize> = entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                let digits = name.to_str()?.strip_prefix(prefix)?;
                digits.parse().ok().filter(|&n: &usize| n < MAX_CPUS)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The path below the root; `..` in it leads nowhere.
    fn below(&self, path: &str) -> PathBuf {
        let names =
            Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
        let mut below = self.root.to_path_buf();
        below.extend(names);
        below
    }
}
