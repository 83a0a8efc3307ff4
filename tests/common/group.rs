//! A control group of version 1 that this process is in, alone; for tests in a
//! process of their own.

use std::fs;
use std::io;
use std::path::PathBuf;

/// Left and removed when it is dropped.
pub struct Group {
    hierarchy: PathBuf,
    dir: PathBuf,
}

impl Group {
    /// Makes one in the hierarchy of `controller`, writes the settings, enters.
    pub fn enter(controller: &str, settings: &[(&str, &str)]) -> io::Result<Group> {
        let hierarchy = PathBuf::from("/sys/fs/cgroup").join(controller);
        if !hierarchy.join("cgroup.procs").exists() {
            return Err(io::Error::other(format!("no {controller} controller of version 1")));
        }
        let dir = hierarchy.join(format!("rowpool-{}", std::process::id()));
        fs::create_dir(&dir)?;
        let group = Group { hierarchy, dir };
        for (file, value) in settings {
            fs::write(group.file(file), value)?;
        }
        fs::write(group.file("cgroup.procs"), std::process::id().to_string())?;
        Ok(group)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.hierarchy.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.dir);
    }
}
