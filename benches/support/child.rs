//! Processes that a bench starts: this program again, in a role. Neighbours
//! are such, and turns under a mask or a quota of their own. A child ends with
//! its `Child`, or with the bench, however that ends.

use super::cgroup;
use super::report::Figures;
use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// What tells a child its role.
const ROLE: &str = "ROWPOOL_BENCH_ROLE";
/// The directory of the control group that it enters.
pub const GROUP: &str = "ROWPOOL_BENCH_GROUP";
const NEIGHBOUR: &str = "neighbour";
/// What a child says when it is at work.
const READY: &str = "ready";

/// To be called first of all by a bench that has children: runs the role if
/// this is one. Roles other than a neighbour's are the bench's.
pub fn run(role: impl FnOnce(&str)) {
    let Ok(own) = std::env::var(ROLE) else {
        return;
    };
    std::env::var(GROUP).map_or(Ok(()), |dir| cgroup::join(&dir)).expect("the group is ours");
    std::thread::spawn(|| {
        // Ends when the parent drops this child, or is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    match own.split_once(' ') {
        Some((NEIGHBOUR, words)) => neighbour(words),
        _ => role(&own),
    }
    std::process::exit(0);
}

/// Works and sleeps in turn.
fn neighbour(words: &str) {
    let words: Vec<i64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [nice, work, sleep, packets] = words[..] else { panic!("four numbers") };
    // Sleeps that are not late by the default slack of 50 µs.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: plain calls; they set what is the thread's own.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::nice(nice as i32);
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
    /// Starts one, bound to a CPU if so, with some of the environment of its own. It
    /// gets the same arguments, so that it is short when we are.
    fn start(role: &str, cpu: Option<usize>, env: &[(&str, &str)]) -> Option<Child> {
        let mut child = Command::new(std::env::current_exe().ok()?);
        child.args(std::env::args_os().skip(1)).envs(env.iter().copied()).env(ROLE, role);
        child.stdin(Stdio::piped()).stdout(Stdio::piped());
        // It inherits the mask of the thread that starts it. One that it gives itself
        // would be a pin to rowpool, not the process's mask (S40).
        let start = || cpu.is_none_or(pin).then(|| child.spawn().ok()).flatten();
        let mut process = std::thread::scope(|scope| scope.spawn(start).join()).ok()??;
        LIVE.lock().expect("no panic inside").push(process.id());
        let output = process.stdout.take().expect("it is piped");
        Some(Child { process, output: BufReader::new(output) })
    }

    /// What a child of this role measures: the numbers of its first line, NaN
    /// where it has none.
    pub fn figures(role: &str, cpu: Option<usize>, env: &[(&str, &str)]) -> Figures {
        let said = Child::start(role, cpu, env).and_then(|mut child| child.says());
        let said = said.unwrap_or_default();
        let mut words = said.split(' ').map(|word| word.parse().unwrap_or(f64::NAN));
        [(); 3].map(|()| words.next().unwrap_or(f64::NAN))
    }

    /// What it says next; `None` when it has ended.
    fn says(&mut self) -> Option<String> {
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

/// A neighbour that works from time to time, or always.
#[derive(Clone, Copy)]
pub struct Neighbour {
    /// Which it is bound to.
    pub cpu: Option<usize>,
    /// How much nicer than the bench.
    pub nice: i32,
    /// In µs, each time; and how long it sleeps then.
    pub work: u32,
    pub sleep: u32,
    /// What it sends to itself each time.
    pub packets: u32,
}

impl Neighbour {
    /// Busy, and bound to no CPU.
    pub const BUSY: Neighbour =
        Neighbour { cpu: None, nice: 0, work: 1_000_000, sleep: 0, packets: 0 };
    /// Busy on the worker's CPU, and on the caller's.
    pub const HOGS: [Neighbour; 2] = [
        Neighbour { cpu: Some(1), ..Neighbour::BUSY },
        Neighbour { cpu: Some(0), ..Neighbour::BUSY },
    ];

    /// At work when this returns; `None`, with a line, where it could not be bound.
    fn start(&self) -> Option<Child> {
        let &Neighbour { cpu, nice, work, sleep, packets } = self;
        let role = format!("{NEIGHBOUR} {nice} {work} {sleep} {packets}");
        let child = Child::start(&role, cpu, &[]);
        let ready = child.and_then(|mut it| (it.says()? == READY).then_some(it));
        if ready.is_none() {
            println!("(a neighbour could not be bound to its CPU: {role}, {cpu:?})");
        }
        ready
    }

    /// These, for as long as the result lives, or none at all.
    pub fn start_all(them: &[Neighbour]) -> Option<Vec<Child>> {
        them.iter().map(Neighbour::start).collect()
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
