//! Tests of what belongs to a whole process: the environment, the global pool,
//! affinity, exit. Such a test starts its own binary again, for itself alone.

use std::cell::Cell;
use std::ffi::OsStr;
use std::process::{Command, Output};

/// Names the body that a child process is for.
const CHILD: &str = "ROWPOOL_TEST_CHILD";

/// What a child says when its test's body came to its end.
const DONE: &str = "the body is done";

/// Says that the body is done: for one that does not return.
pub fn done() {
    println!("\n{DONE}");
}

/// Whether this process is such a child.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// A process for one body of a test: this binary again, with a clean
/// environment. A test may have several, one after another.
pub struct Isolated {
    /// The test, and which of its bodies this is.
    id: String,
    command: Command,
}

/// How many bodies the calling thread's test has had before.
fn ordinal(name: &'static str) -> usize {
    thread_local! {
        static LAST: Cell<(&'static str, usize)> = const { Cell::new(("", 0)) };
    }
    let (last, count) = LAST.get();
    let ordinal = if last == name { count + 1 } else { 0 };
    LAST.set((name, ordinal));
    ordinal
}

impl Isolated {
    /// For the test `name`, as libtest calls it.
    pub fn new(name: &'static str) -> Self {
        let program = std::env::current_exe().expect("the test binary has a path");
        let mut command = match runner() {
            None => Command::new(program),
            Some(line) => {
                let mut words = line.split_whitespace();
                let mut command = Command::new(words.next().expect("a runner is a program"));
                command.args(words).arg(program);
                command
            }
        };
        let id = format!("{name}#{}", ordinal(name));
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, &id);
        for (var, _) in std::env::vars_os() {
            let ours = |prefix| var.to_string_lossy().starts_with(prefix);
            // Those of the tests themselves stay.
            if ["ROWPOOL_", "FERROX_", "RAYON_"].into_iter().any(ours) && !ours("ROWPOOL_TEST_") {
                command.env_remove(var);
            }
        }
        Isolated { id, command }
    }

    /// With this variable set.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With other changes to the command.
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Runs `body` in the child and gives what it printed; fails where the
    /// child fails. In the child gives `None`.
    pub fn run(self, body: impl FnOnce()) -> Option<Output> {
        let Isolated { id, mut command } = self;
        if let Some(wanted) = std::env::var_os(CHILD) {
            if wanted == *id {
                body();
                done();
            }
            return None;
        }
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        super::pass_on(&err);
        assert!(output.status.success(), "{id}: {}\n{out}\n{err}", output.status);
        assert!(out.contains(DONE), "{id}: the child did not run the test\n{out}\n{err}");
        Some(output)
    }
}

/// How much longer everything may take: under emulation ten times.
pub fn slowness() -> u32 {
    if runner().is_some() {
        10
    } else {
        1
    }
}

/// What cargo runs foreign binaries with, such as qemu-user.
fn runner() -> Option<String> {
    let of_arch = format!("CARGO_TARGET_{}_", std::env::consts::ARCH.to_uppercase());
    std::env::vars()
        .find(|(name, _)| name.starts_with(&of_arch) && name.ends_with("_RUNNER"))
        .map(|(_, line)| line)
}
