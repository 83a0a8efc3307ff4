//! The running Linux system under real restrictions: affinity masks, control
//! groups and bind mounts. Most of it wants root; what cannot be had here is
//! not checked, says so on the terminal, and fails in CI.
//!
//! Each case runs this test binary again, restricted, with `CHILD` set; its test
//! `child` then prints what it sees.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/group.rs"]
mod group;
#[path = "common/tree.rs"]
mod tree;

use std::fs;
use std::io;
use std::mem;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::is_root;
use group::hierarchy;
use rowpool::topology::{CpuSet, Settings, Topology, Width};
use rowpool::Pool;

/// What the child is to do.
const CHILD: &str = "ROWPOOL_TOPOLOGY_CHILD";
/// The CPUs that the child `widen` takes for itself.
const ALL: &str = "ROWPOOL_TOPOLOGY_ALL";

/// What the child says: `threads; CPUs; usable; quota`.
fn report() -> String {
    let topology = Topology::detect();
    let width = Width::new(&topology, &Settings::default());
    let quota = topology.quota.map_or("none".to_string(), |quota| quota.to_string());
    let usable = topology.usable();
    let on: CpuSet = width.cpus.iter().copied().collect();
    format!("{}; {on}; {usable}; {quota}", width.threads)
}

#[test]
fn child() {
    match std::env::var(CHILD).as_deref() {
        Ok("report") => println!("\nSAYS {}", report()),
        Ok("widen") => {
            let pool = Pool::new(500).unwrap();
            let before = pool.active_width();
            let all = std::env::var(ALL).unwrap();
            bind(process(), &tree::list(&all).into_iter().collect()).unwrap();
            println!("\nSAYS {before} then {}", pool.active_width());
        }
        Ok("pin main") => {
            let first = Topology::detect().allowed().iter().take(1).collect();
            bind(process(), &first).unwrap();
            println!("\nSAYS {}", report());
        }
        _ => {}
    }
}

fn process() -> libc::pid_t {
    // SAFETY: `getpid` has no preconditions.
    unsafe { libc::getpid() }
}

/// Binds a thread, or the main thread of a process, to some CPUs.
fn bind(thread: libc::pid_t, cpus: &CpuSet) -> io::Result<()> {
    assert!(cpus.iter().all(|cpu| cpu < libc::CPU_SETSIZE as usize));
    // SAFETY: zero is a valid `cpu_set_t`, the CPUs are in its range, and the
    // call reads as many bytes as the set has.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(thread, mem::size_of_val(&set), &set)
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// This binary as a child that reports; `before` is shell that runs first, in
/// the same process.
fn run(before: &str, what: &str) -> String {
    said(shell(before, what))
}

fn shell(before: &str, what: &str) -> Command {
    let mut command = Command::new("sh");
    let this = std::env::current_exe().unwrap();
    command
        .arg("-ec")
        .arg(format!("{before}\nexec \"$0\" child --exact --nocapture --test-threads 1"))
        .arg(this)
        .env(CHILD, what);
    command
}

fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let says = text.lines().find_map(|line| line.strip_prefix("SAYS "));
    says.unwrap_or_else(|| panic!("{output:?}")).to_string()
}

/// A control group of version 1, removed in the end.
struct Group {
    dir: PathBuf,
}

impl Group {
    /// In the hierarchy of `controller`; `None`, said on the terminal, where that
    /// cannot be had.
    fn new(controller: &str) -> Option<Group> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let need = format!("cgroup1-{controller}");
        let Some(mount) = hierarchy(controller) else {
            cannot_check!(&need, "no such hierarchy");
            return None;
        };
        let dir = mount.join(format!("rowpool-{}-{next}", std::process::id()));
        match fs::create_dir(&dir) {
            Ok(()) => Some(Group { dir }),
            Err(error) => {
                cannot_check!(&need, "{error}");
                None
            }
        }
    }

    fn below(&self, name: &str) -> Group {
        let dir = self.dir.join(name);
        fs::create_dir(&dir).unwrap();
        Group { dir }
    }

    fn set(&self, file: &str, value: impl ToString) {
        fs::write(self.dir.join(file), value.to_string()).unwrap();
    }

    /// What a process in the group says.
    fn says(&self) -> String {
        run(&format!("echo $$ > {}/cgroup.procs", self.dir.display()), "report")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Default width and usable CPUs without any further restriction.
fn unrestricted() -> (usize, usize) {
    let topology = Topology::detect();
    let width = Width::new(&topology, &Settings::default());
    (width.threads, topology.usable())
}

#[test]
fn without_restriction_the_child_sees_what_we_see() {
    assert_eq!(run("", "report"), report());
}

/// The last CPU that we may use.
fn last() -> CpuSet {
    let allowed = Topology::detect().allowed();
    allowed.iter().last().into_iter().collect()
}

/// As `taskset -c cpus` does: the mask is set before the program begins.
fn taskset(mut command: Command, cpus: CpuSet) -> String {
    // SAFETY: between fork and exec the hook only makes a system call, on
    // memory that is there already.
    unsafe { command.pre_exec(move || bind(0, &cpus)) };
    said(command)
}

/// S6: the last CPU alone.
#[test]
fn a_mask_of_one_cpu() {
    let says = taskset(shell("", "report"), last());
    assert!(says.starts_with(&format!("1; {}; 1; ", last())), "{says}");
}

/// S26: a thread that is bound to one CPU does not narrow the process.
#[test]
fn a_bound_thread_sees_the_whole_process() {
    let before = report();
    let after = std::thread::spawn(|| {
        bind(0, &last()).unwrap();
        assert_eq!(std::thread::available_parallelism().unwrap().get(), 1);
        report()
    });
    assert_eq!(after.join().unwrap(), before);
}

/// S26: nor does a main thread that binds itself before the first pool.
#[test]
fn a_bound_main_thread_sees_the_whole_process() {
    assert_eq!(run("", "pin main"), report());
}

#[test]
fn the_mask_of_this_moment() {
    let (_, usable) = unrestricted();
    let mut command = shell("", "widen");
    command.env(ALL, Topology::detect().allowed().to_string());
    assert_eq!(taskset(command, last()), format!("1 then {usable}"));
}

/// S1: quotas of version 1.
#[test]
fn quota() {
    let (threads, usable) = unrestricted();
    for (percent, whole, prints) in
        [(50, 1, "0.50"), (150, 1, "1.50"), (199, 1, "1.99"), (200, 2, "2.00"), (950, 9, "9.50")]
    {
        let Some(group) = Group::new("cpu") else {
            return;
        };
        group.set("cpu.cfs_period_us", 100_000);
        group.set("cpu.cfs_quota_us", percent * 1000);
        let says = group.says();
        let (threads, usable) = (threads.min(whole), usable.min(whole));
        assert!(says.starts_with(&format!("{threads}; ")), "{percent}%: {says}");
        assert!(says.ends_with(&format!("; {usable}; {prints}")), "{percent}%: {says}");
    }
}

/// S1: the group itself sets no limit, its parent does.
#[test]
fn quota_of_an_ancestor() {
    let Some(parent) = Group::new("cpu") else {
        return;
    };
    parent.set("cpu.cfs_quota_us", 150_000);
    let group = parent.below("inner");
    let says = group.says();
    drop(group);
    assert!(says.starts_with("1; ") && says.ends_with("; 1; 1.50"), "{says}");
}

/// S6: a cpuset that leaves the last CPU.
#[test]
fn cpuset() {
    let Some(group) = Group::new("cpuset") else {
        return;
    };
    let mems = fs::read_to_string(hierarchy("cpuset").unwrap().join("cpuset.mems")).unwrap();
    group.set("cpuset.mems", mems.trim());
    group.set("cpuset.cpus", last());
    let says = group.says();
    assert!(says.starts_with(&format!("1; {}; 1; ", last())), "{says}");
}

/// Whether mounts of a process's own are to be had; said where they are not.
fn can_mount() -> bool {
    let probe = Command::new("unshare").args(["-m", "mount", "--bind", "/tmp", "/tmp"]).output();
    let can = is_root() && probe.is_ok_and(|output| output.status.success());
    if !can {
        cannot_check!("mounts", "`unshare -m` or `mount --bind` fails");
    }
    can
}

/// What the child says with the tree's `sys` mounted over `/sys`, in a mount
/// namespace of its own. `None`, with a line, where that cannot be done.
fn says_with_sys(tree: &tree::Tree) -> Option<String> {
    if !can_mount() {
        return None;
    }
    let sys = tree.root().join("sys");
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-ec"])
        .arg("mount --bind \"$0\" /sys; exec \"$1\" child --exact --nocapture --test-threads 1")
        .args([sys, this])
        .env(CHILD, "report");
    Some(said(command))
}

/// S3 with the kernel's own lists, as far as they can be feigned here.
#[test]
fn mounted_hybrid() {
    let allowed: Vec<usize> = Topology::detect().allowed().iter().collect();
    let [first, .., last] = allowed[..] else {
        cannot_check!("cpus", "wants two");
        return;
    };
    let tree = tree::Tree::empty();
    let online: CpuSet = allowed.iter().copied().collect();
    tree.write("sys/devices/system/cpu/online", online.to_string());
    tree.write("sys/devices/cpu_core/cpus", last.to_string());
    tree.write("sys/devices/cpu_atom/cpus", first.to_string());
    if let Some(says) = says_with_sys(&tree) {
        let expected = format!("1; {last}; {}; none", allowed.len());
        assert_eq!(says, expected);
    }
}

/// S7: sysfs shows a host of 512 CPUs, the mask is what it was.
#[test]
fn mounted_large_host() {
    let allowed = Topology::detect().allowed();
    let tree = tree::Tree::empty();
    tree.write("sys/devices/system/cpu/online", "0-511\n");
    if let Some(says) = says_with_sys(&tree) {
        assert_eq!(says, format!("{0}; {allowed}; {0}; none", allowed.len()));
    }
}

/// S1: a quota in the root of each mounted hierarchy, as a container sees it.
#[test]
fn mounted_quota() {
    let tree = tree::Tree::empty();
    tree.write("sys/devices/system/cpu/online", "0-511\n");
    let below = |mount: &PathBuf| mount.strip_prefix("/sys").unwrap().display().to_string();
    let (v1, v2) = (hierarchy("cpu"), group::unified_mounts());
    for mount in &v2 {
        tree.write(&format!("sys/{}/cpu.max", below(mount)), "170000 100000\n");
    }
    if let Some(mount) = &v1 {
        tree.write(&format!("sys/{}/cpu.cfs_quota_us", below(mount)), "160000\n");
    }
    let smallest = match (v1, &v2[..]) {
        (Some(_), _) => "1.60",
        (None, [_, ..]) => "1.70",
        (None, []) => return cannot_check!("cgroup1-cpu", "no groups are mounted"),
    };
    if let Some(says) = says_with_sys(&tree) {
        assert!(says.starts_with("1; ") && says.ends_with(&format!("; 1; {smallest}")), "{says}");
    }
}

/// S1: a container whose mount shows its own group as the root while it sees its
/// host's paths, and a group below that.
#[test]
fn quota_below_a_bind_mount() {
    let Some(outer) = Group::new("cpu").filter(|_| can_mount()) else { return };
    let inner = outer.below("job");
    inner.set("cpu.cfs_quota_us", 170_000);
    let mount = hierarchy("cpu").unwrap();
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-ec"])
        .arg(
            "echo $$ > \"$0/job/cgroup.procs\"; mount --bind \"$0\" \"$1\"
            exec \"$2\" child --exact --nocapture --test-threads 1",
        )
        .args([&outer.dir, &mount, &this])
        .env(CHILD, "report");
    let says = said(command);
    drop(inner);
    assert!(says.starts_with("1; ") && says.ends_with("; 1; 1.70"), "{says}");
}
