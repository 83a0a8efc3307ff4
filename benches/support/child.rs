//! Processes that a bench starts: this program again, in a role. Busy
//! neighbours are such, and turns under a mask or a quota of their own. A child
//! ends with its `Child`, or with the bench, however that ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// What tells a child its role.
const ROLE: &str = "ROWPOOL_BENCH_ROLE";
const HOG: &str = "hog";
/// What a child says when it is at work.
const READY: &str = "ready";

/// To be called first of all by a bench that has children: runs the role if
/// this is one. Roles other than a hog's are the bench's.
pub fn run(role: impl FnOnce(&str)) {
    let Ok(own) = std::env::var(ROLE) else {
        return;
    };
    std::thread::spawn(|| {
        // Ends when the parent drops this child, or is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    match own.split_once(' ') {
        Some((HOG, cpu)) => hog(cpu.parse().expect("a hog has a CPU")),
        _ => role(&own),
    }
    std::process::exit(0);
}

/// A busy loop on the `n`th CPU.
fn hog(n: usize) {
    if !pin(n) {
        println!("not bound");
        return;
    }
    println!("{READY}");
    loop {
        std::hint::black_box(());
    }
}

/// Binds the calling thread, and what it starts, to the `n`th CPU.
fn pin(n: usize) -> bool {
    let core = core_affinity::get_core_ids().and_then(|cores| cores.get(n).copied());
    core.is_some_and(core_affinity::set_for_current)
}

/// A child at work.
pub struct Child {
    process: std::process::Child,
    output: BufReader<ChildStdout>,
}

/// Children whose CPU time is not yet in the process's account of them.
static LIVE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

impl Child {
    /// Starts one, with some of the environment of its own. It gets the same
    /// arguments, so that it is short when we are.
    pub fn start(role: &str, env: &[(&str, &str)]) -> std::io::Result<Child> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .envs(env.iter().copied())
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        LIVE.lock().expect("no panic inside").push(process.id());
        let output = process.stdout.take().expect("it is piped");
        Ok(Child { process, output: BufReader::new(output) })
    }

    /// As `start`, with the mask of the `n`th CPU alone; `None` where that cannot
    /// be had.
    pub fn start_on(n: usize, role: &str) -> Option<Child> {
        // A child inherits the mask of the thread that starts it.
        let start = || pin(n).then(|| Child::start(role, &[]).ok()).flatten();
        std::thread::scope(|scope| scope.spawn(start).join()).ok()?
    }

    /// What it says next; `None` when it has ended.
    pub fn says(&mut self) -> Option<String> {
        let mut line = String::new();
        let bytes = self.output.read_line(&mut line).ok()?;
        (bytes > 0).then(|| line.trim_end().to_owned())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let id = self.process.id();
        let mut live = LIVE.lock().expect("no panic inside");
        // Either fails only when it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        live.retain(|&other| other != id);
    }
}

/// A busy neighbour.
pub struct Hog(#[allow(dead_code)] Child);

impl Hog {
    /// Busy on the `n`th CPU when this returns; `None`, with a line, where it
    /// could not be bound.
    pub fn on(n: usize) -> Option<Hog> {
        let mut child = Child::start(&format!("{HOG} {n}"), &[]).ok()?;
        let ready = child.says().as_deref() == Some(READY);
        if !ready {
            println!("(a busy neighbour could not be bound to CPU {n})");
        }
        ready.then_some(Hog(child))
    }

    /// One on each of these CPUs, or none at all.
    pub fn on_all(cpus: &[usize]) -> Option<Vec<Hog>> {
        cpus.iter().map(|&cpu| Hog::on(cpu)).collect()
    }
}

/// CPU time of all children so far, the live ones included.
pub fn cpu() -> Duration {
    let live = LIVE.lock().expect("no panic inside");
    let live = live.iter().filter_map(|&id| of_process(id)).sum::<Duration>();
    // Of those that have ended. SAFETY: all zeros is a value of this plain struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable, and there is nothing else to the call.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    live + time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_process(id: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: `clock` is writable; an id that is gone is an error, no more.
    let found = unsafe { libc::clock_getcpuclockid(id as libc::pid_t, &mut clock) } == 0;
    found.then(|| super::machine::clock(clock)).flatten()
}

/// Elsewhere the machine's CPU time is not known either.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn of_process(_: u32) -> Option<Duration> {
    None
}
