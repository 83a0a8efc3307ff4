//! The worker's side: wait, take, run, report.

use super::fault::{planted, Fault};
use super::gate::{Epoch, Gate, Word};
use super::panics::Bomb;
use super::team::Team;
use super::wait::Ladder;
use crate::sync::Ordering;

impl Team {
    /// Worker `worker`'s life: from the start of its thread to `stop`.
    pub(crate) fn work(&self, worker: usize) {
        let gate = self.gate(worker);
        let slot = &self.slots[worker];
        let mut ladder = Ladder::new(self.window);
        let mut seen = Word::BLANK;
        let mut wakes = self.sleepers.wakes();
        self.sleepers.arrive(slot);
        loop {
            let word = gate.look();
            if word == seen {
                // At rest a worker that an older wave woke lies down again.
                if !word.rests() && !ladder.step() {
                    continue;
                }
            } else {
                let epoch = word.epoch();
                if word.stops() {
                    return;
                }
                let width = gate.width_of(word);
                if epoch != seen.epoch() && worker + 1 < width {
                    if slot.take(epoch) {
                        self.finish(gate, worker, epoch, width);
                    }
                    ladder.reset();
                    wakes = self.sleepers.wakes();
                }
                seen = word;
                if !word.rests() {
                    continue;
                }
                // A wake from now on takes the rest back.
                wakes = self.sleepers.wakes();
            }
            // The window is over, or a rest was asked for. Outside the width
            // too a woken worker passes the wake on.
            if self.sleepers.park(slot, wakes, || gate.look() != seen) {
                self.sleepers.pass_on(&self.slots);
            }
            ladder.reset();
            wakes = self.sleepers.wakes();
        }
    }

    /// Runs and reports the slot that `worker` has just taken.
    #[inline(always)]
    fn finish(&self, gate: &Gate, worker: usize, epoch: Epoch, width: usize) {
        if self.reports_on_gate() {
            gate.prepare();
        }
        // SAFETY: the slot of this region is taken and not reported.
        let job = unsafe { gate.job() };
        job.adopt_fp();
        // SAFETY: the region ends after this slot is reported (I2), and its
        // closure lives until then.
        self.panics.guard(|| unsafe { job.run(worker + 1, self.split(width)) });
        if self.orphaned() {
            drop(Bomb::armed("a fork() child returned from inside a region"));
        }
        let order =
            if planted(Fault::RelaxedReport) { Ordering::Relaxed } else { Ordering::Release };
        // Release, to `sweep`: this slot's rows, and the end of our use of the
        // job.
        self.report(worker).store(epoch.0, order);
    }
}
