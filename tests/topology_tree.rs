//! Writes the text form of a machine (`path<TAB>content` lines) as files; used
//! by the other `topology_*` tests through `#[path]`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory that is laid out as `/`, removed in the end.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// An empty tree.
    pub fn empty() -> Tree {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let root = std::env::temp_dir().join(format!(
            "rowpool-topology-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&root).unwrap();
        Tree { root }
    }

    /// A tree of the files of a text: one `path<TAB>content` a line, with `\n`
    /// and `\0` escaped; a line `SOURCE` is left out.
    pub fn of(text: &str) -> Tree {
        let tree = Tree::empty();
        for line in text.lines() {
            match line.split_once('\t') {
                Some(("SOURCE", _)) | None => {}
                Some((path, content)) => {
                    let content = content.replace("\\n", "\n").replace("\\0", "\0");
                    tree.write(path, content.as_bytes());
                }
            }
        }
        tree
    }

    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
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

#[test]
fn escapes_are_undone_and_the_source_line_is_no_file() {
    let tree = Tree::of("SOURCE\tsomewhere\na/b\t0-3\\n\\0\n");
    assert_eq!(fs::read(tree.root().join("a/b")).unwrap(), b"0-3\n\0");
    assert!(!tree.root().join("SOURCE").exists());
}
