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
const LIGHT: &str = "light";
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
        Some((LIGHT, words)) => light(words),
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

/// A light neighbour: works and sleeps in turn.
fn light(words: &str) {
    let words: Vec<i64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [cpu, nice, work, sleep, packets] = words[..] else { panic!("five numbers") };
    if cpu >= 0 && !pin(cpu as usize) {
        println!("not bound");
        return;
    }
    // Sleeps that are not late by the default slack of 50 µs.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: plain calls; they set what is the thread's own.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::setpriority(libc::PRIO_PROCESS, 0, nice as i32);
    }
    let _ = nice;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port of this machine");
    socket.connect(socket.local_addr().expect("it is bound")).expect("to itself");
    let mut packet = [0; 1400];
    println!("{READY}");
    loop {
        for _ in 0..packets {
            socket.send(&packet).and_then(|_| socket.recv(&mut packet)).expect("from itself");
        }
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_micros(work as u64) {
            std::hint::black_box(());
        }
        std::thread::sleep(Duration::from_micros(sleep as u64));
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

/// A neighbour that works from time to time.
#[derive(Clone, Copy)]
pub struct Light {
    /// Which it is bound to; -1: none.
    pub cpu: i32,
    pub nice: i32,
    /// In µs, each time; and how long it sleeps then.
    pub work: u32,
    pub sleep: u32,
    /// What it sends to itself each time.
    pub packets: u32,
}

/// A neighbour: a busy loop, or a light one.
pub struct Hog(#[allow(dead_code)] Child);

impl Hog {
    /// Busy on the `n`th CPU when this returns; `None`, with a line, where it
    /// could not be bound.
    pub fn on(n: usize) -> Option<Hog> {
        Hog::ready(&format!("{HOG} {n}"))
    }

    fn ready(role: &str) -> Option<Hog> {
        let mut child = Child::start(role, &[]).ok()?;
        let ready = child.says().as_deref() == Some(READY);
        if !ready {
            println!("(a neighbour could not be bound to its CPU: {role})");
        }
        ready.then_some(Hog(child))
    }

    /// These light neighbours, or none at all.
    pub fn light(them: &[Light]) -> Option<Vec<Hog>> {
        let ready = |&Light { cpu, nice, work, sleep, packets }: &Light| {
            Hog::ready(&format!("{LIGHT} {cpu} {nice} {work} {sleep} {packets}"))
        };
        them.iter().map(ready).collect()
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
