//! Environment strings to settings, through an injected lookup.

use crate::policy::Policies;
use std::ffi::OsString;
use std::time::Duration;

/// The environment, or a test's.
pub(crate) trait Lookup: Fn(&str) -> Option<OsString> {}
impl<F: Fn(&str) -> Option<OsString>> Lookup for F {}

/// The process's environment.
pub(crate) fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A number of threads: trimmed, decimal, above zero. Anything else is as if
/// it were absent.
fn threads(lookup: &impl Lookup, name: &'static str) -> Option<Setting> {
    let text = lookup(name)?;
    let threads = text.to_str()?.trim().parse().ok().filter(|&n: &usize| n > 0)?;
    Some(Setting { threads, name })
}

/// A width and the variable that it came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    pub(crate) threads: usize,
    pub(crate) name: &'static str,
}

/// The width asked for by `ROWPOOL_NUM_THREADS`, then `FERROX_CPU_THREADS`,
/// then `RAYON_NUM_THREADS`.
pub(crate) fn cpu_threads(lookup: impl Lookup) -> Option<Setting> {
    threads(&lookup, "ROWPOOL_NUM_THREADS")
        .or_else(|| threads(&lookup, "FERROX_CPU_THREADS"))
        .or_else(|| threads(&lookup, "RAYON_NUM_THREADS"))
}

/// As `cpu_threads`, with `FERROX_GEMV_THREADS` after rowpool's own.
pub(crate) fn gemv_threads(lookup: impl Lookup) -> Option<Setting> {
    threads(&lookup, "ROWPOOL_NUM_THREADS")
        .or_else(|| threads(&lookup, "FERROX_GEMV_THREADS"))
        .or_else(|| cpu_threads(lookup))
}

/// The spin window asked for by `ROWPOOL_SPIN_US`, in µs; 0 parks at once.
pub(crate) fn spin_window(lookup: impl Lookup) -> Option<Duration> {
    let text = lookup("ROWPOOL_SPIN_US")?;
    text.to_str()?.trim().parse().ok().map(Duration::from_micros)
}

/// Whether `ROWPOOL_PIN` asks for bound workers: `1`, `true` or `on`.
pub(crate) fn pin(lookup: impl Lookup) -> bool {
    lookup("ROWPOOL_PIN")
        .is_some_and(|text| matches!(text.to_str().map(str::trim), Some("1" | "true" | "on")))
}

/// Whether `ROWPOOL_CALLER_QOS=keep` forbids to raise a caller's class (macOS).
pub(crate) fn keep_caller_qos(lookup: impl Lookup) -> bool {
    lookup("ROWPOOL_CALLER_QOS").is_some_and(|text| text.to_str().map(str::trim) == Some("keep"))
}

/// The policies that `ROWPOOL_WITHOUT` leaves on; names that are none are handed
/// to `unknown`.
pub(crate) fn policies(lookup: impl Lookup, unknown: impl FnMut(&str)) -> Policies {
    let names = lookup("ROWPOOL_WITHOUT").unwrap_or_default();
    Policies::ALL.without_named(&names.to_string_lossy(), unknown)
}

#[cfg(test)]
#[path = "../tests/unit/config.rs"]
mod tests;
