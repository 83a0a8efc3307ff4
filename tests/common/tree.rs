//! Directories that are laid out as `/`, and the kernel's lists of CPUs; for the
//! `topology_*` tests, through `#[path]`.

#![allow(dead_code, reason = "every binary uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where Linux keeps the CPUs.
pub const SYS: &str = "sys/devices/system/cpu";

/// A directory that is laid out as `/`, removed in the end.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    pub fn empty() -> Tree {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let root = std::env::temp_dir().join(format!(
            "rowpool-{}-{}-{}",
            module_path!().replace("::", "-"),
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&root).unwrap();
        Tree { root }
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file of each of some CPUs.
    pub fn each(&self, cpus: &str, file: &str, content: impl AsRef<[u8]>) {
        for cpu in list(cpus) {
            self.write(&format!("{SYS}/cpu{cpu}/{file}"), &content);
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The CPUs of a list such as `0-3,8`; none of an empty one.
pub fn list(text: &str) -> Vec<usize> {
    let number = |text: &str| text.parse::<usize>().unwrap();
    let range = |piece: &str| match piece.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(piece)..=number(piece),
    };
    text.split(',').filter(|piece| !piece.is_empty()).flat_map(range).collect()
}
