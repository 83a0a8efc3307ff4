//! What a test cannot check on this machine: said on the terminal, and a failure
//! where the machine is known to have what it takes.

use std::io::Write;

/// What such a line begins with; a child's are passed on.
const NOT_CHECKED: &str = "NOT CHECKED ";

/// What this machine has, by the names that tests call it, with blanks between:
/// set by `.ci/run`, which looks for itself.
const MUST_CHECK: &str = "ROWPOOL_TEST_MUST_CHECK";

/// For `cannot_check!`.
pub fn cannot_check(at: &str, need: &str, why: &str) {
    let line = format!("{NOT_CHECKED}at {at}: wants {need}: {why}");
    say(&line);
    let must = match std::env::var(MUST_CHECK) {
        Ok(has) => has.split_whitespace().any(|it| it == need),
        // A CI that has not looked: as root it could have all of that.
        Err(_) => {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            ci && is_root() && !["cpus", "cgroup2-cpu"].contains(&need)
        }
    };
    assert!(!must, "{line}; but this machine has it");
}

/// Whether this process is root, on Linux.
pub fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    return std::os::linux::fs::MetadataExt::st_uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    #[cfg(not(target_os = "linux"))]
    false
}

/// Past libtest, which would keep it.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "\n{line}");
}

/// Says again what a child has said so.
pub fn pass_on(errors: &str) {
    errors.lines().filter(|line| line.starts_with(NOT_CHECKED)).for_each(say);
}
