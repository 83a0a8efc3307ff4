//! The worker's side: wait, take, run, report.

use super::duty::Shift;
use super::fault::{planted, Fault};
use super::gate::{Epoch, Gate, Word};
use super::panics::Bomb;
use super::slice::Slice;
use super::team::Team;
use super::wait::Ladder;
use crate::sync::Ordering;

/// Some 0.7 µs: regions of one operation follow each other faster than that.
/// (The model has enough of one look.)
const EAGER_LOOKS: u32 = if cfg!(loom) { 0 } else { 16 };

impl Team {
    /// Worker `worker`'s life: from the start of its thread to `stop`.
    pub(crate) fn work(&self, worker: usize) {
        let gate = self.gate(worker);
        let slot = &self.slots[worker];
        let mut ladder = Ladder::new(self.window);
        let mut seen = Word::BLANK;
        let mut wakes = self.sleepers.wakes();
        let mut eager = false;
        let mut slice = Slice::new();
        let (duty, mut shift) = (self.has_shifts(worker), Shift::new());
        self.sleepers.arrive(slot);
        loop {
            let word = if eager { self.look_eagerly(gate, seen) } else { gate.look() };
            eager = false;
            if word == seen {
                // At rest a worker that an older wave woke lies down again.
                if !word.rests() && !ladder.step(&self.rival) {
                    continue;
                }
            } else {
                let epoch = word.epoch();
                if word.stops() {
                    return;
                }
                let width = gate.width_of(word);
                if epoch != seen.epoch() && worker + 1 < width {
                    self.expect();
                    if slot.take(epoch) {
                        self.finish(gate, worker, epoch, width);
                        slice.between(slot, &self.sleepers);
                        if let Some(duty) = duty {
                            self.shift(duty, &mut shift, slot, gate);
                        }
                    }
                    ladder.reset();
                    wakes = self.sleepers.wakes();
                    eager = self.reports_on_gate();
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
            ladder.rise();
            shift.rested();
            wakes = self.sleepers.wakes();
        }
    }

    /// Looks at the gate for a while after a region, each time by fetching the
    /// line for writing: it will be reported on, and a line that is only shared
    /// has to be asked for twice (measured on a Xeon of 2023: an empty fork
    /// takes 177 ns so, 190 without). Not for long, or callers with pauses pay.
    #[inline(always)]
    fn look_eagerly(&self, gate: &Gate, seen: Word) -> Word {
        for _ in 0..EAGER_LOOKS {
            gate.prepare();
            if self.slots.len() == 1 {
                self.expect();
            }
            let word = gate.look();
            if word != seen {
                return word;
            }
            self.pause.pause();
        }
        gate.look()
    }

    /// Runs and reports the slot that `worker` has just taken.
    #[inline(always)]
    fn finish(&self, gate: &Gate, worker: usize, epoch: Epoch, width: usize) {
        if self.reports_on_gate() {
            gate.prepare();
        }
        // SAFETY: the slot of this region is taken and not reported.
        let head = unsafe { gate.head() };
        head.adopt_fp();
        // SAFETY: the region ends after this slot is reported (I2).
        self.panics.guard(|| unsafe { self.run_slot(head, worker + 1, width) });
        if self.orphaned() {
            drop(Bomb::armed("a fork() child returned from inside a region"));
        }
        let order =
            if planted(Fault::RelaxedReport) { Ordering::Relaxed } else { Ordering::Release };
        // Release, to `sweep`: this slot's rows, and the end of our use of the
        // region.
        self.report(worker).store(epoch.0, order);
    }
}
