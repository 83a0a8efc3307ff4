//! The threads of this process as the kernel sees them: `/proc/self/task`.

use std::fs;
use std::path::PathBuf;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task(PathBuf);

/// The threads whose name begins with `prefix`. A thread gives itself its name
/// when it starts, and may be seen for a moment after it was joined: wait for
/// what is expected.
pub fn named(prefix: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = fs::read_dir("/proc/self/task")
        .expect("procfs is mounted")
        .filter_map(|entry| Some(Task(entry.ok()?.path())))
        .filter(|task| task.read("comm").is_some_and(|name| name.starts_with(prefix)))
        .collect();
    tasks.sort();
    tasks
}

/// Waits until there are `count` threads of this name, and gives them.
pub fn await_named(prefix: &str, count: usize) -> Vec<Task> {
    loop {
        let tasks = named(prefix);
        if tasks.len() == count {
            return tasks;
        }
        nap();
    }
}

/// Waits until all of them sleep.
pub fn await_asleep(tasks: &[Task]) {
    while !tasks.iter().all(Task::asleep) {
        nap();
    }
}

/// Between two looks.
pub fn nap() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

impl Task {
    /// Whether it sleeps now: neither runs nor wants to.
    pub fn asleep(&self) -> bool {
        self.stat(0).as_deref() == Some("S")
    }

    /// CPU time in ticks, of user and system.
    pub fn ticks(&self) -> u64 {
        let ticks = |field| self.stat(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        ticks(11) + ticks(12)
    }

    /// How often it went to sleep.
    pub fn sleeps(&self) -> u64 {
        self.status("voluntary_ctxt_switches").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The CPUs that it may use, such as `0-3`.
    pub fn cpus(&self) -> Option<String> {
        self.status("Cpus_allowed_list")
    }

    /// Its blocked signals, one bit each.
    pub fn blocked_signals(&self) -> Option<u64> {
        u64::from_str_radix(&self.status("SigBlk")?, 16).ok()
    }

    /// Its scheduling policy and nice value.
    pub fn priority(&self) -> Option<(i32, i32)> {
        Some((self.stat(38)?.parse().ok()?, self.stat(16)?.parse().ok()?))
    }

    /// The system's number of it.
    pub fn number(&self) -> usize {
        let name = self.0.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).expect("a directory for each thread")
    }

    /// A field of `stat`, counted from the state.
    fn stat(&self, field: usize) -> Option<String> {
        let line = self.read("stat")?;
        // The name before it may hold anything.
        let (_, fields) = line.rsplit_once(") ")?;
        fields.split_whitespace().nth(field).map(str::to_owned)
    }

    fn status(&self, key: &str) -> Option<String> {
        let text = self.read("status")?;
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(value.trim().to_owned())
    }

    /// `None` once it has ended.
    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.0.join(file)).ok()
    }
}
