//! The worker's side, W1 to W7: look, claim, run, say that it is done; go away
//! between two slots where a policy says so.

use super::backoff::WorkerBackoff;
use super::failpoint::{planted, Fault};
use super::gate::{Epoch, Gate, Word};
use super::guest::Guest;
use super::team::Team;
use super::worker_state::WorkerState;
use crate::policy::{Absence, BetweenSlots, Policy};
use crate::sync::{sleep, Instant, Ordering};
use crate::sys::fp;
use std::time::Duration;

/// Some 0.7 µs: regions of one operation follow each other faster than that.
/// (The model has enough of one look.)
const EAGER_LOOKS: u32 = if cfg!(loom) { 0 } else { 16 };

/// A worker that is about to park reads mask and quota again, at most this often:
/// a quota acts by periods of 100 ms.
const REFRESH: Duration = Duration::from_millis(100);

/// So does one that has not parked for so many slots.
const REFRESH_SLOTS: u32 = 1 << 16;

/// A pool that is dropped waits no longer than this for a worker that is away.
const NAP: Duration = Duration::from_micros(400);

/// A guest that hands work over without a fence may miss a worker that parks just
/// then: it looks once more after this time, once per sleep.
const GUEST_NAP: Duration = Duration::from_millis(1);

/// A worker that ends before `stop` is counted: widths say so.
struct Life<'a>(&'a Team);

impl Drop for Life<'_> {
    fn drop(&mut self) {
        self.0.lose_one();
    }
}

impl Team {
    /// Worker `worker`'s life: from the start of its thread to `stop`.
    pub(crate) fn work(&self, worker: usize) {
        let life = Life(self);
        self.take_part(worker);
        // At `stop`.
        std::mem::forget(life);
    }

    fn take_part(&self, worker: usize) {
        let gate = self.gate(worker);
        let state = &self.workers[worker];
        let mut backoff = WorkerBackoff::new(self.window);
        let mut between = BetweenSlots::new(self.policies, self.quota, worker);
        #[cfg(loom)]
        {
            between.always = self.absence;
        }
        let mut seen = Word::BLANK;
        let mut wakes = self.sleepers.wakes();
        let mut eager = false;
        let mut refreshed: Option<Instant> = None;
        let mut slots = 0u32;
        let fp = fp::State::current();
        // By workers that a guest alone uses.
        let crowded = || self.guest.get().is_some() && self.workers.len() >= self.active();
        state.set_thread();
        self.sleepers.arrive(state);
        loop {
            // W1.
            let word = if eager { self.look_eagerly(gate, seen) } else { gate.look() };
            eager = false;
            if word == seen {
                if self.serve_guest(worker, fp) {
                    backoff.reset();
                    wakes = self.sleepers.wakes();
                    continue;
                }
                // At rest a worker that an older wake got up parks again.
                if !word.rests() && !backoff.step(&self.others, crowded) {
                    continue;
                }
            } else {
                let epoch = word.epoch();
                if word.stops() {
                    return;
                }
                let width = gate.width_of(word);
                // I1: a worker outside the width touches nothing of the job.
                if epoch != seen.epoch() && worker + 1 < width {
                    self.turn_from_guest(worker, fp);
                    self.expect();
                    // W2.
                    if state.claim(epoch) {
                        self.run_own_slot(gate, worker, epoch, width);
                        if between.concerned(state.stalled()) {
                            self.step_away(gate, worker, &mut between);
                        }
                        slots = slots.wrapping_add(1);
                        if slots % REFRESH_SLOTS == 0 {
                            // Where regions come so fast that nobody parks.
                            self.refresh(Duration::ZERO);
                        }
                    } else if self.policies.has(Policy::Placement) {
                        self.caller_cpu().leave();
                    }
                    backoff.reset();
                    wakes = self.sleepers.wakes();
                    eager = self.done_on_gate();
                }
                seen = word;
                if !word.rests() {
                    continue;
                }
                // A wake from now on takes the rest back.
                wakes = self.sleepers.wakes();
            }
            // After a vain window: nobody waits for this worker.
            if refreshed.is_none_or(|last| last.elapsed() > REFRESH) {
                self.refresh(Duration::ZERO);
                refreshed = Some(Instant::now());
            }
            // P1 to P4. The window is over, or a rest was asked for. Outside the
            // width too a woken worker passes the wake on (P9).
            if self.park(worker, wakes, || gate.look() != seen) {
                self.sleepers.pass_on(&self.workers);
                if self.policies.has(Policy::Placement) {
                    self.caller_cpu().leave();
                }
            }
            backoff.woken();
            between.slept();
            wakes = self.sleepers.wakes();
        }
    }

    /// [`Sleepers::park`] that the guest is told of.
    fn park(&self, worker: usize, wakes: u32, changed: impl Fn() -> bool) -> bool {
        let state = &self.workers[worker];
        let Some(guest) = self.guest.get() else {
            return self.sleepers.park(state, wakes, changed);
        };
        let pending = || guest.pending(worker + 1);
        guest.park(worker + 1);
        let woken = self
            .sleepers
            .park(state, wakes, || changed() || pending() || (state.nap(GUEST_NAP) && pending()));
        guest.rise(worker + 1);
        woken
    }

    /// Does what the guest has for this worker, if anything, in the floating point
    /// state of its own.
    #[inline(always)]
    fn serve_guest(&self, worker: usize, own: fp::State) -> bool {
        match self.guest.get() {
            Some(guest) if guest.look(worker + 1) => {
                self.work_for(guest, worker, own);
                true
            }
            _ => false,
        }
    }

    /// Before a region: what the guest has sent to this worker alone comes first,
    /// as nobody else can do it.
    #[inline(always)]
    fn turn_from_guest(&self, worker: usize, own: fp::State) {
        if let Some(guest) = self.guest.get() {
            while !guest.stop_looking(worker + 1) {
                self.work_for(guest, worker, own);
            }
        }
    }

    fn work_for(&self, guest: &dyn Guest, worker: usize, own: fp::State) {
        let state = &self.workers[worker];
        // W6.
        self.sleepers.go_away(state);
        own.adopt();
        guest.work(worker + 1);
        // W7.
        self.sleepers.arrive(state);
    }

    /// Looks at the gate for a while after a region, each time by fetching the
    /// line for writing: the done epoch will be written on it, and a line that is
    /// only shared has to be asked for twice. Not for long, or callers with
    /// pauses pay (MEASUREMENTS, "eager looks").
    #[inline(always)]
    fn look_eagerly(&self, gate: &Gate, seen: Word) -> Word {
        for _ in 0..EAGER_LOOKS {
            gate.prepare();
            if self.workers.len() == 1 {
                self.expect();
            }
            let word = gate.look();
            if word != seen {
                return word;
            }
            self.relax.relax();
        }
        gate.look()
    }

    /// W3 to W5, for the slot that `worker` has just claimed.
    #[inline(always)]
    fn run_own_slot(&self, gate: &Gate, worker: usize, epoch: Epoch, width: usize) {
        if self.done_on_gate() {
            gate.prepare();
        }
        // W3.
        // SAFETY: the slot of this region is claimed and not done.
        let header = unsafe { gate.header() };
        // I6: the same bits whoever runs the slot.
        header.adopt_fp();
        // W4.
        // SAFETY: the region ends after this slot is done (I2).
        unsafe { self.run_caught(header, worker + 1, width) };
        let order = if planted(Fault::RelaxedDone) { Ordering::Relaxed } else { Ordering::Release };
        // W5. Release, to the sweep (C5): this slot's rows, and the end of our use
        // of the region.
        self.done(worker).store(epoch.0, order);
    }

    /// Between two slots: asks the policies, and goes away if one says so.
    #[cold]
    fn step_away(&self, gate: &Gate, worker: usize, between: &mut BetweenSlots) {
        let state = &self.workers[worker];
        let stalled = state.stalled();
        if stalled {
            state.set_stalled(false);
            if self.policies.has(Policy::Placement) && self.caller_cpu().leave() {
                return between.moved();
            }
        }
        let left = Instant::now();
        let shares = self.caller_cpu().shared();
        let absence = between.decide(left, stalled, shares, crate::sys::run_delay);
        if self.quota != self.share() && absence.is_some_and(|away| away.width.is_some()) {
            // For a quota that is no more.
            return between.slept();
        }
        if let Some(absence) = absence {
            self.be_away(absence, gate, state);
            between.returned(left, Instant::now());
        }
    }

    /// W6, W7: the one way in which a worker goes away and comes back by itself.
    /// To callers it is as one that has not started: its slots are run by them at
    /// once, and nobody wakes it.
    fn be_away(&self, absence: Absence, gate: &Gate, state: &WorkerState) {
        if let Some(width) = absence.width {
            // Who has read the wider one finds this worker away.
            self.change_active(width + 1, width);
        }
        // W6.
        self.sleepers.go_away(state);
        let begun = Instant::now();
        let mut left = absence.time;
        loop {
            sleep(left.min(NAP));
            left = absence.time.saturating_sub(begun.elapsed());
            if left.is_zero() || gate.look().stops() {
                break;
            }
        }
        // W7.
        self.sleepers.arrive(state);
        if let Some(width) = absence.width {
            self.change_active(width, width + 1);
        }
    }
}
