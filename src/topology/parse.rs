//! Parsers for the texts of sysfs, procfs and the cgroup files.
//!
//! Pure functions over untrusted text: no text makes them panic, or allocate
//! more than a few times its own length. What they cannot read they leave out.

use super::cpuset::{CpuSet, MAX_CPUS};
use super::facts::Quota;

/// The kernel's default period of a CPU quota, in µs: used where the text
/// names none (`CFS bandwidth control` in the kernel's documentation).
const DEFAULT_PERIOD_US: u64 = 100_000;

/// A CPU list such as `0-3,8` (`online`, `thread_siblings_list`,
/// `Cpus_allowed_list`).
///
/// Ends at the first NUL (some kernels print one), knows the kernel's
/// `range:used/group` form, and leaves out pieces that make no sense:
/// reversed ranges, letters, numbers from [`MAX_CPUS`] on.
pub(crate) fn cpu_list(text: &str) -> CpuSet {
    let mut set = CpuSet::new();
    for piece in before_nul(text).split(',') {
        match list_piece(piece) {
            Some((first, last, used, group)) if used == group => set.insert_range(first, last),
            Some((first, last, used, group)) => {
                for start in (first..=last).step_by(group) {
                    set.insert_range(start, last.min(start + used - 1));
                }
            }
            None => {}
        }
    }
    set
}

/// One piece of a list as `(first, last, used, group)`, all below
/// [`MAX_CPUS`], `1 <= used <= group`.
fn list_piece(piece: &str) -> Option<(usize, usize, usize, usize)> {
    let (range, pattern) = match piece.split_once(':') {
        Some((range, pattern)) => (range, Some(pattern)),
        None => (piece, None),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (cpu_number(first)?, cpu_number(last)?),
        None => (cpu_number(range)?, cpu_number(range)?),
    };
    let (used, group) = match pattern {
        None => (1, 1),
        Some(pattern) => {
            let (used, group) = pattern.split_once('/')?;
            (cpu_number(used)?, cpu_number(group)?)
        }
    };
    (first <= last && used >= 1 && used <= group).then_some((first, last, used, group))
}

fn cpu_number(text: &str) -> Option<usize> {
    text.trim().parse::<usize>().ok().filter(|&cpu| cpu < MAX_CPUS)
}

/// A CPU mask in hex words of 32 bits, the lowest last, such as
/// `00000000,00000101` (`thread_siblings`, `Cpus_allowed`).
///
/// Empty when a word is no hex number, or names a CPU from [`MAX_CPUS`] on.
pub(crate) fn cpu_mask(text: &str) -> CpuSet {
    let mut set = CpuSet::new();
    for (i, word) in before_nul(text).trim().rsplit(',').enumerate() {
        // `from_str_radix` would take a sign.
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_hexdigit()) {
            return CpuSet::new();
        }
        let Ok(mut bits) = u32::from_str_radix(word, 16) else {
            return CpuSet::new();
        };
        while bits != 0 {
            if !set.insert(i.saturating_mul(32) + bits.trailing_zeros() as usize) {
                return CpuSet::new();
            }
            bits &= bits - 1;
        }
    }
    set
}

/// A lone unsigned number, as most sysfs files hold.
pub(crate) fn number(text: &str) -> Option<u64> {
    before_nul(text).trim().parse().ok()
}

/// The affinity mask in the text of `/proc/self/status`
/// (`Cpus_allowed_list`, else `Cpus_allowed`); `None` where neither is there.
pub(crate) fn status_mask(text: &str) -> Option<CpuSet> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let list = field("Cpus_allowed_list:").map(cpu_list);
    let mask = || field("Cpus_allowed:").map(cpu_mask);
    list.filter(|set| !set.is_empty()).or_else(mask).filter(|set| !set.is_empty())
}

/// The text of a cgroup v2 `cpu.max` (`150000 100000`, in µs); `None` when it
/// sets no limit (`max`) or makes no sense (zero, or more CPUs than
/// [`MAX_CPUS`]). A missing period is the kernel's default of 100 000 µs.
pub(crate) fn cpu_max(text: &str) -> Option<Quota> {
    let mut words = before_nul(text).split_whitespace();
    let quota = words.next()?.parse().ok()?;
    let period = match words.next() {
        Some(period) => period.parse().ok()?,
        None => DEFAULT_PERIOD_US,
    };
    Quota::new(quota, period)
}

/// The texts of a cgroup v1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`;
/// `None` when they set no limit (`-1`) or make no sense. A missing period is
/// the kernel's default of 100 000 µs.
pub(crate) fn cfs_quota(quota: &str, period: Option<&str>) -> Option<Quota> {
    let period = match period {
        Some(period) => number(period)?,
        None => DEFAULT_PERIOD_US,
    };
    Quota::new(number(quota)?, period)
}

/// A mounted cgroup hierarchy that can hold a CPU quota: version 2, or the
/// version 1 hierarchy of the `cpu` controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CgroupMount {
    pub(crate) v2: bool,
    /// The group that the mount shows as its root.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) path: String,
}

impl CgroupMount {
    fn new(kind: &str, options: &str, root: &str, path: &str) -> Option<CgroupMount> {
        let v2 = kind == "cgroup2";
        let v1 = kind == "cgroup" && options.split(',').any(|option| option == "cpu");
        (v1 || v2).then(|| CgroupMount { v2, root: unescape(root), path: unescape(path) })
    }
}

/// The hierarchies in the text of `/proc/self/mountinfo`.
pub(crate) fn mountinfo(text: &str) -> Vec<CgroupMount> {
    let mount = |line: &str| {
        // A number of optional fields stands before the dash.
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split_whitespace().skip(3);
        let mut system = system.split_whitespace();
        let (root, path) = (mount.next()?, mount.next()?);
        CgroupMount::new(system.next()?, system.nth(1)?, root, path)
    };
    text.lines().filter_map(mount).collect()
}

/// The hierarchies in the text of `/proc/mounts`, which does not tell roots.
pub(crate) fn mounts(text: &str) -> Vec<CgroupMount> {
    let mount = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (path, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        CgroupMount::new(kind, options, "/", path)
    };
    text.lines().filter_map(mount).collect()
}

/// Undoes the octal escapes of `/proc/mounts` (`\040` is a space).
fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut rest = field;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 4)
            .filter(|digits| digits.bytes().all(|b| (b'0'..=b'7').contains(&b)))
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
            .filter(u8::is_ascii);
        match code {
            Some(code) => {
                out.push(char::from(code));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The process's groups in the text of `/proc/self/cgroup`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnCgroups {
    /// Path in the version 1 hierarchy of the `cpu` controller.
    pub(crate) v1_cpu: Option<String>,
    /// Path in the version 2 hierarchy.
    pub(crate) v2: Option<String>,
}

/// Reads the text of `/proc/self/cgroup`: lines `id:controllers:path`.
pub(crate) fn own_cgroups(text: &str) -> OwnCgroups {
    let mut own = OwnCgroups::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_id), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let path = || path.strip_suffix(" (deleted)").unwrap_or(path).to_string();
        if controllers.is_empty() {
            own.v2.get_or_insert_with(path);
        } else if controllers.split(',').any(|c| c == "cpu") {
            own.v1_cpu.get_or_insert_with(path);
        }
    }
    own
}

/// A register as sysfs prints it: `0x` and hex digits.
pub(crate) fn register(text: &str) -> Option<u64> {
    u64::from_str_radix(before_nul(text).trim().strip_prefix("0x")?, 16).ok()
}

/// Whether the text of `/sys/devices/system/cpu/modalias` is of a CPU that AMD
/// or Hygon made.
///
/// The kernel's x86 vendor numbers (`asm/processor.h`): 2 is AMD, 9 Hygon.
pub(crate) fn modalias_is_amd(text: &str) -> bool {
    text.contains("ven0002fam") || text.contains("ven0009fam")
}

fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or("")
}
