//! What a test could not check on this machine, said where somebody sees it.

use std::fmt::Display;
use std::io::Write;

/// What such a line begins with: a test hands those of its child on.
pub const MARK: &str = "NOT CHECKED:";

/// Says on the terminal that something was not checked. Fails in CI (`CI=true`),
/// if this machine `could` have checked it had it been set up for that.
pub fn unchecked(what: &str, why: impl Display, could: bool) {
    // Not by `eprintln`, which libtest captures.
    let _ = writeln!(std::io::stderr(), "{MARK} {what}: {why}");
    let in_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!(could && in_ci), "{what}: not checked, but CI's machine can: {why}");
}

/// Whether this is root, on Linux: then groups and mounts are to be had.
pub fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: `geteuid` has no preconditions.
    return unsafe { libc::geteuid() } == 0;
    #[cfg(not(target_os = "linux"))]
    false
}
