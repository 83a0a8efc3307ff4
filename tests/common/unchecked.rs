//! What a test could not check on this machine, said where somebody sees it.

use std::fmt::Display;
use std::io::Write;

/// What such a line begins with: a test hands those of its child on.
pub const MARK: &str = "NOT CHECKED:";

/// Says on the terminal that something was not checked, since this machine has
/// not got all of `needs` (names of `.ci/can-check`, which puts what there is
/// into `ROWPOOL_TEST_MUST_CHECK`). Fails where it has, and in CI without that
/// list (`CI=true`) where root could have made it so.
pub fn unchecked(what: &str, needs: &str, why: impl Display) {
    // Not by `eprintln`, which libtest captures.
    let _ = writeln!(std::io::stderr(), "{MARK} {what}: {why}");
    let must = match std::env::var("ROWPOOL_TEST_MUST_CHECK") {
        Ok(has) => needs.split(' ').all(|need| has.split(' ').any(|has| has == need)),
        Err(_) => std::env::var("CI").is_ok_and(|ci| ci == "true") && is_root() && needs != "cpus",
    };
    assert!(!must, "{what}: not checked ({why}), on a machine that has: {needs}");
}

/// Whether this is root, on Linux: then groups and mounts are to be had.
pub fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: `geteuid` has no preconditions.
    return unsafe { libc::geteuid() } == 0;
    #[cfg(not(target_os = "linux"))]
    false
}
