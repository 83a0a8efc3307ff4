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
///
/// ```
/// use rowpool::topology::parse::cpu_list;
/// assert_eq!(cpu_list("0-3,8\n\0").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
/// assert_eq!(cpu_list("0-7:2/4").to_string(), "0-1,4-5");
/// assert!(cpu_list("0-4294967295").is_empty());
/// ```
pub fn cpu_list(text: &str) -> CpuSet {
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
///
/// ```
/// use rowpool::topology::parse::cpu_mask;
/// assert_eq!(cpu_mask("00000000,00000101\n").to_string(), "0,8");
/// assert_eq!(cpu_mask("1,00000000").to_string(), "32");
/// assert!(cpu_mask("0xff").is_empty());
/// ```
pub fn cpu_mask(text: &str) -> CpuSet {
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
///
/// ```
/// use rowpool::topology::parse::number;
/// assert_eq!(number("1024\n"), Some(1024));
/// assert_eq!(number("-1"), None);
/// ```
pub fn number(text: &str) -> Option<u64> {
    before_nul(text).trim().parse().ok()
}

/// The affinity mask in the text of `/proc/self/status`
/// (`Cpus_allowed_list`, else `Cpus_allowed`); `None` where neither is there.
///
/// ```
/// use rowpool::topology::parse::status_mask;
/// let mask = status_mask("Name:\tcp\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n");
/// assert_eq!(mask.unwrap().to_string(), "0-3");
/// assert_eq!(status_mask("Name:\tcp\n"), None);
/// ```
pub fn status_mask(text: &str) -> Option<CpuSet> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let list = field("Cpus_allowed_list:").map(cpu_list);
    let mask = || field("Cpus_allowed:").map(cpu_mask);
    list.filter(|set| !set.is_empty()).or_else(mask).filter(|set| !set.is_empty())
}

/// The text of a cgroup v2 `cpu.max` (`150000 100000`, in µs); `None` when it
/// sets no limit (`max`) or makes no sense (zero, or more CPUs than
/// [`MAX_CPUS`]). A missing period is the kernel's default of 100 000 µs.
///
/// ```
/// use rowpool::topology::parse::cpu_max;
/// assert_eq!(cpu_max("150000 100000\n").unwrap().cpus(), 1.5);
/// assert_eq!(cpu_max("max 100000"), None);
/// ```
pub fn cpu_max(text: &str) -> Option<Quota> {
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
///
/// ```
/// use rowpool::topology::parse::cfs_quota;
/// assert_eq!(cfs_quota("400000\n", Some("100000\n")).unwrap().cpus(), 4.0);
/// assert_eq!(cfs_quota("-1\n", Some("100000\n")), None);
/// ```
pub fn cfs_quota(quota: &str, period: Option<&str>) -> Option<Quota> {
    let period = match period {
        Some(period) => number(period)?,
        None => DEFAULT_PERIOD_US,
    };
    Quota::new(number(quota)?, period)
}

/// A mounted cgroup hierarchy that can hold a CPU quota.
///
/// ```
/// use rowpool::topology::parse::{cgroup_mounts, CgroupMount};
/// let mounts = cgroup_mounts("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
/// assert_eq!(mounts, [CgroupMount { v2: true, path: "/sys/fs/cgroup".into() }]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupMount {
    /// Version 2, or the version 1 hierarchy of the `cpu` controller.
    pub v2: bool,
    /// Where it is mounted.
    pub path: String,
}

/// The hierarchies in the text of `/proc/mounts` that can hold a CPU quota:
/// all of version 2, and those of version 1 with the `cpu` controller.
///
/// ```
/// use rowpool::topology::parse::cgroup_mounts;
/// let text = "cgroup /cg/cpu\\040x cgroup rw,cpu,cpuacct 0 0\n\
///             cgroup /cg/cpuset cgroup rw,cpuset 0 0\n";
/// assert_eq!(cgroup_mounts(text)[0].path, "/cg/cpu x");
/// assert_eq!(cgroup_mounts(text).len(), 1);
/// ```
pub fn cgroup_mounts(text: &str) -> Vec<CgroupMount> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let path = fields.next()?;
            let kind = fields.next()?;
            let options = fields.next()?;
            let v2 = kind == "cgroup2";
            let v1 = kind == "cgroup" && options.split(',').any(|o| o == "cpu");
            (v1 || v2).then(|| CgroupMount { v2, path: unescape(path) })
        })
        .collect()
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
///
/// ```
/// let groups = rowpool::topology::parse::own_cgroups("1:cpu,cpuacct:/job\n0::/\n");
/// assert_eq!(groups.v1_cpu.as_deref(), Some("/job"));
/// assert_eq!(groups.v2.as_deref(), Some("/"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCgroups {
    /// Path in the version 1 hierarchy of the `cpu` controller.
    pub v1_cpu: Option<String>,
    /// Path in the version 2 hierarchy.
    pub v2: Option<String>,
}

/// Reads the text of `/proc/self/cgroup`: lines `id:controllers:path`.
///
/// ```
/// use rowpool::topology::parse::own_cgroups;
/// assert_eq!(own_cgroups("0::/a:b (deleted)\n").v2.as_deref(), Some("/a:b"));
/// ```
pub fn own_cgroups(text: &str) -> OwnCgroups {
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

/// Whether the text of `/sys/devices/system/cpu/modalias` is of a CPU that AMD
/// or Hygon made.
///
/// The kernel's x86 vendor numbers (`asm/processor.h`): 2 is AMD, 9 Hygon.
///
/// ```
/// use rowpool::topology::parse::modalias_is_amd;
/// assert!(modalias_is_amd("cpu:type:x86,ven0002fam0019mod0021:feature:,0000"));
/// assert!(!modalias_is_amd("cpu:type:x86,ven0000fam0006mod0097:feature:,0000"));
/// ```
pub fn modalias_is_amd(text: &str) -> bool {
    text.contains("ven0002fam") || text.contains("ven0009fam")
}

fn before_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or("")
}
