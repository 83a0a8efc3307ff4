//! What the callers and the workers of one pool share: the gates, the workers'
//! states, the caller lock, and settings that every region reads.

use super::backoff::Relax;
use super::caller_cpu::CallerCpu;
use super::caller_lock::{CallerLock, UNNAMED};
use super::caller_state::CallerState;
use super::failpoint::{planted, Fault};
use super::gate::{Epoch, Gate, Word, MAX_WIDTH};
use super::guest::GuestSlot;
use super::job::{ErasedJob, JobHeader};
use super::panics::Panics;
use super::park::Sleepers;
use super::worker_state::WorkerState;
use crate::machine::Plan;
use crate::partition::{Split, Weights};
use crate::policy::oversubscription::Oversubscription;
use crate::policy::quota::QuotaShare;
use crate::policy::spin::SpinWindow;
use crate::policy::{Policies, Policy};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Line, Ordering};
use crate::sys::Process;
use crate::topology::Usable;
use std::sync::Arc;
use std::time::Duration;

/// Up to this many workers each have a gate of their own, which also carries
/// their done epoch; more are served in groups, so that publishing stays cheap.
const OWN_GATES: usize = 8;
/// Workers that look at one gate, beyond that.
const GROUP: usize = 16;

/// What a team is made of.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) window: SpinWindow,
    pub(crate) policies: Policies,
    /// Sizes of the slots where the CPUs differ: one for each.
    pub(crate) weights: Option<Weights>,
    /// What the CPU quota leaves beyond whole CPUs.
    pub(crate) quota: Option<QuotaShare>,
    /// Says what may be used now; asked seldom. `None` in models and tests.
    pub(crate) plan: Option<Arc<Plan>>,
}

/// One team of workers and everything they share with their callers.
#[derive(Debug)]
pub(crate) struct Team {
    gates: Box<[Gate]>,
    /// The gate whose buffer regions lie in: that of the worker, if there is
    /// one; else one that nobody looks at, or they would fight for the line.
    buffer: usize,
    /// Workers per gate.
    group: usize,
    /// Worker `i` owns slot `i + 1`; slot 0 is the caller's.
    pub(super) workers: Box<[WorkerState]>,
    pub(super) sleepers: Sleepers,
    pub(super) panics: Panics,
    pub(super) caller_lock: CallerLock<CallerState>,
    pub(super) others: Oversubscription,
    facts: Line<Facts>,
    weights: Option<Weights>,
    pub(super) policies: Policies,
    pub(super) quota: Option<QuotaShare>,
    plan: Option<Arc<Plan>>,
    /// How long a worker spins before it parks.
    pub(super) window: SpinWindow,
    /// What everybody does between two looks.
    pub(super) relax: Relax,
    /// Who else the workers work for.
    pub(super) guest: GuestSlot,
    /// The process that the threads live in.
    pub(super) process: Process,
    /// For the model: every worker goes away once after each of its slots.
    #[cfg(loom)]
    pub(super) absence: Option<crate::policy::Absence>,
}

/// Read by every region, written rarely.
#[derive(Debug)]
struct Facts {
    /// Slots that a region uses at most.
    active: AtomicUsize,
    /// More than that are never used: threads that were created, and the caller.
    most: AtomicUsize,
    /// Measured cost of an empty region in ns.
    fork_ns: AtomicU64,
    /// Workers whose thread has ended before its time.
    lost: AtomicUsize,
    caller_cpu: CallerCpu,
    /// Whether the quota is still that of `Team::quota`.
    share_holds: AtomicBool,
}

/// Cost of a fork until it has been measured, in ns.
const FORK_NS: u64 = 300;

impl Team {
    /// A team whose threads have not started.
    ///
    /// # Panics
    /// With more workers than a pool may have, or where there is not one weight
    /// for each slot.
    pub(crate) fn new(setup: Setup) -> Self {
        let group = if setup.workers <= OWN_GATES { 1 } else { GROUP };
        let on = setup.policies.has(Policy::Wake);
        Team::with(setup, group, CallerState::new(on))
    }

    /// A team with `group` workers to a gate.
    pub(super) fn with(setup: Setup, group: usize, caller: CallerState) -> Self {
        let Setup { workers, window, policies, weights, quota, plan } = setup;
        assert!(workers < MAX_WIDTH, "checked by the builder");
        assert!(weights.as_ref().is_none_or(|weights| weights.slots() == workers + 1));
        let gates = workers.div_ceil(group);
        let buffer = if workers > 1 { gates } else { 0 };
        let team = Team {
            gates: (0..gates.max(buffer + 1)).map(|_| Gate::new()).collect(),
            buffer,
            group,
            workers: (0..workers).map(|_| WorkerState::new()).collect(),
            sleepers: Sleepers::new(workers),
            panics: Panics::new(),
            caller_lock: CallerLock::new(caller),
            others: Oversubscription::new(policies.has(Policy::Oversubscription)),
            facts: Line::new(Facts {
                active: AtomicUsize::new(1),
                most: AtomicUsize::new(workers + 1),
                fork_ns: AtomicU64::new(FORK_NS),
                lost: AtomicUsize::new(0),
                caller_cpu: CallerCpu::new(),
                share_holds: AtomicBool::new(true),
            }),
            weights,
            policies,
            quota: quota.filter(|_| policies.has(Policy::Quota)),
            plan,
            window: if policies.has(Policy::Spin) { window } else { window.whole() },
            relax: Relax::measured(),
            guest: GuestSlot::default(),
            process: Process::current(),
            #[cfg(loom)]
            absence: None,
        };
        team.set_active(workers + 1);
        team
    }

    /// Slots that a region uses at most: the caller and the active workers.
    #[inline(always)]
    pub(crate) fn active(&self) -> usize {
        // Relaxed: a setting; the width in the gate's word is what counts.
        self.facts.active.load(Ordering::Relaxed)
    }

    /// The same without the worker that works for a part of the time.
    pub(crate) fn active_always(&self) -> usize {
        self.share().map_or(self.active(), |share| share.without(self.active()))
    }

    /// Changes the number of slots, if nobody else has changed it.
    pub(super) fn change_active(&self, from: usize, to: usize) {
        // Relaxed: as in `active`.
        let order = Ordering::Relaxed;
        if self.facts.active.compare_exchange(from, to, order, order).is_ok() {
            self.others.count(from - 1, to - 1);
        }
    }

    /// Sets the number of slots, at most those that exist.
    pub(crate) fn set_active(&self, width: usize) {
        // Relaxed, both: as in `active`.
        let width = width.clamp(1, self.facts.most.load(Ordering::Relaxed));
        let before = self.facts.active.swap(width, Ordering::Relaxed);
        self.others.count(before - 1, width - 1);
    }

    /// No more than so many threads could be created, the caller among them.
    pub(crate) fn set_most(&self, threads: usize) {
        // Relaxed: as in `active`.
        self.facts.most.store(threads, Ordering::Relaxed);
        self.set_active(self.active().min(threads));
    }

    /// Fits the active width to the CPUs that may be used.
    pub(crate) fn fit_to(&self, usable: Usable) {
        self.others.set_cpus(usable.cpus());
        let share = usable.quota.and_then(QuotaShare::new);
        // Relaxed: as in `active`.
        self.facts.share_holds.store(share == self.quota, Ordering::Relaxed);
        let width = |share: QuotaShare| share.width(usable.allowed);
        self.set_active(self.share().map_or(usable.cpus(), width));
    }

    /// The same, for those that may be used now. Asks the system: not for a region.
    /// Waits so long for another thread that does the same.
    pub(crate) fn refresh(&self, patience: Duration) {
        if let Some(plan) = self.plan.as_ref().filter(|_| !self.workers.is_empty()) {
            plan.usable_now(patience, &mut |usable| self.fit_to(usable));
        }
    }

    /// What the quota leaves beyond whole CPUs, as long as it is the one that the
    /// workers were made for.
    pub(super) fn share(&self) -> Option<QuotaShare> {
        // Relaxed: as in `active`.
        self.quota.filter(|_| self.facts.share_holds.load(Ordering::Relaxed))
    }

    /// Measured cost of an empty region in ns.
    #[inline(always)]
    pub(crate) fn fork_ns(&self) -> u64 {
        // Relaxed: an estimate.
        self.facts.fork_ns.load(Ordering::Relaxed)
    }

    pub(super) fn set_fork_ns(&self, ns: u64) {
        // Relaxed: as in `fork_ns`.
        self.facts.fork_ns.store(ns, Ordering::Relaxed);
    }

    /// What workers know of the caller's CPU.
    pub(super) fn caller_cpu(&self) -> &CallerCpu {
        &self.facts.caller_cpu
    }

    /// Workers whose thread has ended before its time.
    pub(crate) fn lost(&self) -> usize {
        // Relaxed: a count.
        self.facts.lost.load(Ordering::Relaxed)
    }

    /// The calling worker's thread ends before its time.
    pub(super) fn lose_one(&self) {
        // Relaxed: as in `lost`.
        self.facts.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether this process is a `fork()` child of the pool's: it has none of
    /// the threads.
    #[inline(always)]
    pub(crate) fn orphaned(&self) -> bool {
        !self.process.is_current()
    }

    /// The same by the process's id too, for where a system call does not matter.
    pub(crate) fn is_in_child(&self) -> bool {
        !self.process.is_current_by_id()
    }

    /// Whether a region was ever published.
    pub(crate) fn has_run(&self) -> bool {
        self.gates[0].last() != Word::BLANK.epoch()
    }

    pub(super) fn gate(&self, worker: usize) -> &Gate {
        &self.gates[worker / self.group]
    }

    /// Whether each worker has a gate to itself, with its done epoch.
    #[inline(always)]
    pub(super) fn done_on_gate(&self) -> bool {
        self.group == 1
    }

    /// Where worker `worker` says that its slot has ended.
    #[inline(always)]
    pub(super) fn done(&self, worker: usize) -> &AtomicU64 {
        if self.done_on_gate() {
            &self.gates[worker].done
        } else {
            self.workers[worker].done()
        }
    }

    /// The gate whose buffer regions lie in.
    #[inline(always)]
    pub(super) fn buffer(&self) -> &Gate {
        &self.gates[self.buffer]
    }

    /// Those who serve a region of `width` slots.
    #[inline(always)]
    fn gates_of(&self, width: usize) -> &[Gate] {
        let workers = width - 1;
        let gates = if self.group == 1 { workers } else { workers.div_ceil(self.group) };
        let missed = planted(Fault::LastGateUnpublished) && gates > 1;
        &self.gates[..gates - usize::from(missed)]
    }

    /// Starts fetching what `publish` will write.
    #[inline(always)]
    pub(super) fn prepare(&self, width: usize, job: &ErasedJob<'_>) {
        self.gates_of(width).iter().for_each(Gate::prepare);
        if self.buffer != 0 {
            self.buffer().prepare();
        }
        if job.is_large() {
            self.buffer().prepare_second();
        }
    }

    /// Starts fetching what a worker will read of the next region.
    #[inline(always)]
    pub(super) fn expect(&self) {
        if self.buffer == 0 {
            self.buffer().expect_second();
        } else {
            self.buffer().expect();
        }
    }

    /// C2: opens a region of `width` slots; the only store that workers look for.
    ///
    /// # Safety
    /// The caller holds the caller lock, `2 <= width <= workers.len() + 1`, the
    /// region before has been joined, and what the job borrows lives until this
    /// one is.
    #[inline(always)]
    pub(super) unsafe fn publish(&self, width: usize, job: &ErasedJob<'_>) -> Epoch {
        let epoch = self.gates[0].last().next();
        // SAFETY: the lock is ours (contract), and after the join of the region
        // before no slot is claimed and not done.
        unsafe { self.buffer().store(job) };
        for gate in self.gates_of(width) {
            // SAFETY: as above.
            unsafe { gate.publish(epoch, width, job.header()) };
        }
        epoch
    }

    /// C4, C6, W4: runs slot `slot` of the region that is open.
    ///
    /// # Safety
    /// The calling thread has claimed that slot of the region of `header`, which
    /// is not joined yet, `width` wide.
    #[inline(always)]
    pub(super) unsafe fn run_slot(&self, header: JobHeader, slot: usize, width: usize) {
        let split = Split { width, weights: self.weights.as_ref() };
        // SAFETY: the region stays in the buffer until it is joined.
        self.buffer().buffer(|buffer| unsafe { header.run(buffer, slot, split) });
    }

    /// C5: reads the done epochs of workers `from..width - 1` in one pass, so
    /// that the misses overlap; gives the first that is missing.
    #[inline(always)]
    pub(super) fn sweep(&self, epoch: Epoch, from: usize, width: usize) -> usize {
        let mut first = width - 1;
        for worker in (from..width - 1).rev() {
            // Acquire, from W5: the rows of that slot, and that its owner has
            // left the job.
            if self.done(worker).load(Ordering::Acquire) != epoch.0 {
                first = worker;
            }
        }
        first
    }

    /// Whether nobody of the region that is open runs, as far as the system
    /// says: neither its caller, on thread `holder`, nor who has claimed a slot.
    pub(super) fn blocked(&self, holder: u32) -> bool {
        if holder == UNNAMED {
            return false;
        }
        let epoch = self.gates[0].last();
        let in_slot = |worker: &usize| {
            // Relaxed: a look from outside of the region.
            self.workers[*worker].claimed(epoch)
                && crate::sync::guess(|| self.done(*worker).load(Ordering::Relaxed)) != epoch.0
        };
        let workers = (0..self.workers.len()).filter(in_slot);
        let threads = workers.map(|worker| self.workers[worker].thread());
        !threads.chain([holder]).any(crate::sys::thread_runs)
    }

    /// Hint: nothing is coming, park now.
    pub(crate) fn rest(&self) {
        self.gates.iter().for_each(Gate::rest);
    }

    /// Hint: work is coming, be up and spinning.
    pub(crate) fn wake(&self) {
        self.gates.iter().for_each(Gate::clear_rest);
        self.facts.caller_cpu.note();
        self.sleepers.wake_up(&self.workers, self.active() - 1);
    }

    /// Tells the workers to end; their threads do soon after.
    pub(crate) fn stop(&self) {
        self.set_most(1);
        self.gates.iter().for_each(Gate::stop);
        self.sleepers.wake_all(&self.workers);
    }
}
