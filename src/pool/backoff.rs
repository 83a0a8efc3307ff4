//! How threads wait between two looks, in real time: look, yield, then park or
//! nap. Windows are never counted in iterations, which differ by CPU (S13); the
//! clock is read once in 128 looks.

use crate::policy::oversubscription::Oversubscription;
use crate::policy::spin::SpinPolicy;
use crate::policy::spin::SpinWindow;
use crate::sync::Instant;
use std::time::Duration;

/// What is done between two looks while a done epoch or the next region is due
/// any moment: so many PAUSEs as take 45 ns. Each look takes the line away from a
/// thread that is about to write it, and a longer wait is found late
/// (MEASUREMENTS, "time between looks").
#[derive(Clone, Copy, Debug)]
pub(super) struct Relax {
    pauses: u32,
}

impl Relax {
    /// What one PAUSE takes differs by CPU (MEASUREMENTS, "PAUSE"). Measured once
    /// per process.
    pub(super) fn measured() -> Self {
        const LOOK_EVERY: Duration = Duration::from_nanos(45);
        // No once-cell: a `fork()` child would wait for a parent's thread in it.
        static PAUSES: crate::sync::StaticU32 = crate::sync::StaticU32::new(0);
        // Relaxed, both: a number that orders nothing.
        let mut pauses = PAUSES.load(crate::sync::Ordering::Relaxed);
        if pauses == 0 {
            const BATCH: u32 = 64;
            let batch = || {
                let begun = Instant::now();
                (0..BATCH).for_each(|_| crate::sync::spin_loop());
                begun.elapsed()
            };
            let batch = (0..5).map(|_| batch()).min().unwrap_or_default();
            let fit = (LOOK_EVERY * BATCH).as_nanos().checked_div(batch.as_nanos());
            pauses = fit.unwrap_or(8).clamp(1, 8) as u32;
            PAUSES.store(pauses, crate::sync::Ordering::Relaxed);
        }
        Relax { pauses }
    }

    #[inline(always)]
    pub(super) fn relax(self) {
        (0..self.pauses).for_each(|_| crate::sync::spin_loop());
    }
}

/// How a worker waits for the next region.
#[derive(Debug)]
pub(super) struct WorkerBackoff {
    policy: SpinPolicy,
    /// Looks until the next check.
    left: u32,
    begun: Option<Instant>,
    checked: Duration,
    yielded: Duration,
    shared: bool,
}

/// Looks between two readings of the clock: 1.5 to 6 µs.
const STRIDE: u32 = 128;
/// The same where other pools' workers may wait for the CPU.
const SHORT_STRIDE: u32 = 32;
/// After this long the CPU is offered to others ...
const YIELD_AFTER: Duration = Duration::from_micros(50);
/// ... at most this often: during a yield no look is taken (MEASUREMENTS, "yield").
const YIELD_EVERY: Duration = Duration::from_micros(20);
/// A pause this long between two readings means that somebody else ran here.
const GAP: Duration = Duration::from_micros(500);

impl WorkerBackoff {
    pub(super) fn new(window: SpinWindow) -> Self {
        WorkerBackoff {
            policy: SpinPolicy::new(window),
            left: STRIDE,
            begun: None,
            checked: Duration::ZERO,
            yielded: Duration::ZERO,
            shared: false,
        }
    }

    /// Starts over after a region; reads no clock.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        self.left = STRIDE;
        self.begun = None;
        self.policy.region();
    }

    /// Starts over after a sleep.
    pub(super) fn woken(&mut self) {
        self.left = STRIDE;
        self.begun = None;
        self.policy.woken(Instant::now);
    }

    /// Waits a little. True when the window is over: time to park.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        others: &Oversubscription,
        crowded: impl FnOnce() -> bool,
    ) -> bool {
        // Nobody is about to write the line, as far as we know, so it is looked at
        // as often as may be.
        crate::sync::spin_loop();
        self.left -= 1;
        self.left == 0 && self.check(others, crowded())
    }

    #[cold]
    fn check(&mut self, others: &Oversubscription, crowded: bool) -> bool {
        self.left = STRIDE;
        if crowded || others.crowded() {
            self.left = SHORT_STRIDE;
            if crowded || others.elsewhere() {
                self.left = 1;
                crate::sync::yield_now();
            }
        }
        let Some(begun) = self.begun else {
            self.begun = Some(Instant::now());
            self.checked = Duration::ZERO;
            self.yielded = Duration::ZERO;
            return self.policy.window().is_zero();
        };
        let now = begun.elapsed();
        // Clocks may step back.
        if now.saturating_sub(self.checked) > GAP {
            self.shared = true;
        }
        self.checked = now;
        if now >= self.policy.window() {
            self.shared = false;
            self.policy.ended(begun + now);
            return true;
        }
        let rarely = now > YIELD_AFTER && now.saturating_sub(self.yielded) > YIELD_EVERY;
        if self.shared || rarely {
            self.yielded = now;
            crate::sync::yield_now();
        }
        false
    }
}

/// How a caller waits for owners that have begun: they are running, or were
/// preempted inside their slot.
#[derive(Debug)]
pub(super) struct JoinBackoff {
    /// Looks until the next check.
    left: u32,
    begun: Option<Instant>,
    /// Whether the long wait has been told.
    told: bool,
}

impl JoinBackoff {
    /// Slots that are alike seldom end so far apart, unless one was preempted.
    const LONG: Duration = Duration::from_micros(500);
    /// After this long the caller naps: somebody lost his CPU for a slice.
    const NAP_AFTER: Duration = Duration::from_millis(2);
    const NAP: Duration = Duration::from_micros(50);

    pub(super) fn new() -> Self {
        JoinBackoff { left: STRIDE, begun: None, told: false }
    }

    /// Waits a little. True once, when that has lasted for long.
    #[inline(always)]
    pub(super) fn step(&mut self) -> bool {
        crate::sync::spin_loop();
        self.left -= 1;
        self.left == 0 && self.check()
    }

    #[cold]
    fn check(&mut self) -> bool {
        self.left = STRIDE;
        let waited = self.begun.get_or_insert_with(Instant::now).elapsed();
        if waited > Self::NAP_AFTER {
            std::thread::sleep(Self::NAP);
            // The clock is read at each look from now on.
            self.left = 1;
        } else if waited > YIELD_AFTER {
            crate::sync::yield_now();
        }
        waited > Self::LONG && !std::mem::replace(&mut self.told, true)
    }
}
