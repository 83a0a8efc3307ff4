//! What the machine does meanwhile: CPU time of this process and of all, and the
//! round trip F. Where a system does not tell, the answer is `None`, and nothing
//! is dropped.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// CPU time that this process has used.
pub fn own_cpu() -> Option<Duration> {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time that the calling thread has used.
pub fn thread_cpu() -> Option<Duration> {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process's threads of one name, by the scheduler's account:
/// the process's clock is a tick behind on threads that run on other CPUs.
pub fn thread_clocks(name: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?.path();
        if std::fs::read_to_string(task.join("comm")).ok()?.starts_with(name) {
            let stat = std::fs::read_to_string(task.join("schedstat")).ok()?;
            sum += Duration::from_nanos(stat.split(' ').next()?.parse().ok()?);
        }
    }
    Some(sum)
}

pub(super) fn clock(id: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable, and there is nothing else to the call.
    let done = unsafe { libc::clock_gettime(id, &mut time) } == 0;
    done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// CPU time of the whole machine, and what one reading may be wrong by: the root
/// group of cgroup v1 counts in ns; /proc/stat, in ticks. Time that the hypervisor
/// took away is in /proc/stat alone, and counts too.
fn machine() -> Option<(Duration, Duration)> {
    let ticks = Ticks::parse(&std::fs::read_to_string("/proc/stat").ok()?)?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/cpuacct/cpuacct.usage");
    let group = group.ok().and_then(|ns| ns.trim().parse().ok()).map(Duration::from_nanos);
    // Inside a container the file shows the container's part only.
    Some(match group.filter(|&used| used > ticks.busy.mul_f64(0.8)) {
        Some(used) => (used + ticks.stolen, Duration::ZERO),
        None => (ticks.busy + ticks.stolen, TICK * 2),
    })
}

/// USER_HZ is 100 wherever Linux runs.
pub const TICK: Duration = Duration::from_millis(10);

/// The machine's CPU time as /proc/stat has it.
#[derive(Debug, PartialEq)]
pub struct Ticks {
    pub busy: Duration,
    pub stolen: Duration,
}

impl Ticks {
    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal.
    pub fn parse(stat: &str) -> Option<Ticks> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let at: Vec<u32> = fields.map_while(|field| field.parse().ok()).collect();
        let field = |i: usize| at.get(i).copied().unwrap_or(0);
        let busy = TICK * (field(0) + field(1) + field(2) + field(5) + field(6));
        (at.len() >= 4).then(|| Ticks { busy, stolen: TICK * field(7) })
    }
}

/// CPU time of this process and of the children that it started.
fn ours() -> Option<Duration> {
    own_cpu().map(|own| own + super::child::cpu())
}

/// Watches for others who use the CPUs.
pub struct Watch {
    begun: Instant,
    own: Option<Duration>,
    machine: Option<(Duration, Duration)>,
}

impl Watch {
    pub fn start() -> Watch {
        // Own first: that brings the thread's part of the machine's up to date.
        Watch { own: ours(), machine: machine(), begun: Instant::now() }
    }

    /// CPU time of others since the start.
    pub fn foreign(&self) -> Option<Duration> {
        let own = ours()?.checked_sub(self.own?)?;
        let (all, blur) = machine()?;
        Some(all.checked_sub(self.machine?.0)?.saturating_sub(own + blur))
    }

    /// Whether others used more than this part of one CPU.
    pub fn disturbed(&self, limit: f64) -> bool {
        let allowed = self.begun.elapsed().mul_f64(limit) + Duration::from_micros(50);
        self.foreign().is_some_and(|foreign| foreign > allowed)
    }
}

/// A line of its own, and the neighbour's too (it is fetched along).
#[repr(align(128))]
#[derive(Default)]
pub struct Line<T>(pub T);

/// F in ns: how long one cache line takes from one core to another and back,
/// with one PAUSE between two looks; the median of batches. `None` where two
/// threads cannot be bound to two cores.
pub fn round_trip() -> Option<f64> {
    let batches = super::some(9, 2);
    const TRIPS: u32 = 2000;
    let cores: Vec<_> = core_affinity::get_core_ids()?.into_iter().take(2).collect();
    let &[near, far] = cores.as_slice() else {
        return None;
    };
    let (ball, last) = (Line(AtomicU32::new(0)), 2 * TRIPS * batches as u32);
    // Threads of their own: a bound thread passes its one CPU on to all that it
    // starts, so this one must stay as it is.
    let player = &|core, mine: u32| {
        let bound = core_affinity::set_for_current(core);
        let (mut times, mut next) = (Vec::with_capacity(batches), mine);
        while next < last {
            let begun = Instant::now();
            for _ in 0..TRIPS {
                while ball.0.load(Ordering::Acquire) != next {
                    spin_loop();
                }
                ball.0.store(next + 1, Ordering::Release);
                next += 2;
            }
            times.push(begun.elapsed().as_nanos() as f64 / f64::from(TRIPS));
        }
        (bound, times)
    };
    let ((one, times), (other, _)) = std::thread::scope(|scope| {
        let [a, b] = [(near, 0), (far, 1)].map(|(core, n)| scope.spawn(move || player(core, n)));
        Some((a.join().ok()?, b.join().ok()?))
    })?;
    // The first batch waits for the other thread to start.
    (one && other).then(|| super::stats::median(&times[1..]))
}

/// What two readings of the clock cost, in ns.
pub fn clock_ns() -> f64 {
    super::stats::median_of(2001, || {
        let begun = Instant::now();
        begun.elapsed().as_nanos() as f64
    })
}
