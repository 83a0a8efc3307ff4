//! How threads wait, as data in real time: look, yield, then park or nap.
//! Windows are never counted in iterations (S13: 3 ms on one CPU, 500 on
//! another); the clock is read once in 128 looks.

use super::rivals::Rival;
use std::time::Duration;

/// How long workers spin between two regions before they park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    time: Duration,
    /// Whether it gets shorter where it is in vain.
    adapts: bool,
}

impl Window {
    /// Unless a setting says otherwise. By measurement: waking a worker costs
    /// the waker 8 to 35 µs and takes 30 to 60 µs in all, sampling between two
    /// tokens takes 50 to 200 µs; a longer window only burns the battery.
    pub(crate) const DEFAULT: Window = Window { time: Duration::from_micros(300), adapts: true };

    /// As long as somebody has said.
    pub(crate) fn fixed(time: Duration) -> Self {
        Window { time, adapts: false }
    }
}

/// After so many windows in a row in which nothing came, work comes from time to
/// time and later than that ...
#[cfg(not(loom))]
const VAIN: u32 = 8;
/// ... and the window is cut to this part, until something has come within a
/// full one after all.
#[cfg(not(loom))]
const CUT: u32 = 8;

/// Time between two looks while a report or the next region is due any moment.
/// Each look takes the line away from a thread that is about to write it, and a
/// longer wait is found late.
/// Measured on a Xeon of 2023, both sides of an empty fork: 190 to 215 ns at 12
/// ns between looks, 150 to 170 at 36 to 60, 190 at 100.
#[cfg(not(loom))]
const LOOK_EVERY: Duration = Duration::from_nanos(45);

/// What is done between two looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    #[cfg(not(loom))]
    spins: u32,
}

#[cfg(not(loom))]
impl Pause {
    /// PAUSEs that take `LOOK_EVERY`: one takes 10 to 45 ns on a CPU of the
    /// last ten years. Measured once per process, in some 10 µs.
    pub(super) fn measured() -> Self {
        static SPINS: crate::sync::OnceLock<u32> = crate::sync::OnceLock::new();
        let spins = *SPINS.get_or_init(|| {
            const BATCH: u32 = 64;
            let batch = || {
                let begun = std::time::Instant::now();
                (0..BATCH).for_each(|_| crate::sync::spin_loop());
                begun.elapsed()
            };
            let batch = (0..5).map(|_| batch()).min().unwrap_or_default();
            let spins = (LOOK_EVERY * BATCH).as_nanos().checked_div(batch.as_nanos());
            spins.unwrap_or(8).clamp(1, 8) as u32
        });
        Pause { spins }
    }

    #[inline(always)]
    pub(super) fn pause(self) {
        (0..self.spins).for_each(|_| crate::sync::spin_loop());
    }
}

#[cfg(loom)]
impl Pause {
    pub(super) fn measured() -> Self {
        Pause {}
    }

    pub(super) fn pause(self) {
        crate::sync::spin_loop();
    }
}

/// How a worker waits for the next region.
#[cfg(not(loom))]
#[derive(Debug)]
pub(super) struct Ladder {
    window: Window,
    /// Looks until the next check.
    left: u32,
    begun: Option<std::time::Instant>,
    checked: Duration,
    yielded: Duration,
    shared: bool,
    /// Windows in a row in which nothing came.
    vain: u32,
    /// When the last one ended.
    ended: Option<std::time::Instant>,
    /// Whether no region was taken since the worker was asleep.
    risen: bool,
}

/// Looks between two readings of the clock: 1.5 to 6 µs.
#[cfg(not(loom))]
const STRIDE: u32 = 128;
/// The same where other pools' workers may wait for the CPU.
#[cfg(not(loom))]
const GLANCE: u32 = 32;
/// After this long the CPU is offered to others ...
const YIELD_AFTER: Duration = Duration::from_micros(50);
/// ... at most this often: a yield costs 0.2 to 0.5 µs, in which no look is taken.
#[cfg(not(loom))]
const YIELD_EVERY: Duration = Duration::from_micros(20);
/// A pause this long between two readings means that somebody else ran here.
#[cfg(not(loom))]
const GAP: Duration = Duration::from_micros(500);

#[cfg(not(loom))]
impl Ladder {
    pub(super) fn new(window: Window) -> Self {
        Ladder {
            window,
            left: STRIDE,
            begun: None,
            checked: Duration::ZERO,
            yielded: Duration::ZERO,
            shared: false,
            vain: 0,
            ended: None,
            risen: true,
        }
    }

    /// Starts over after a region; reads no clock.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        self.left = STRIDE;
        self.begun = None;
        // One that was there already when the worker got up says nothing.
        if !std::mem::replace(&mut self.risen, false) {
            self.vain = 0;
        }
    }

    /// Starts over after a sleep.
    pub(super) fn rise(&mut self) {
        self.left = STRIDE;
        self.begun = None;
        self.risen = true;
        if self.ended.take().is_some_and(|ended| ended.elapsed() < self.window.time) {
            self.vain = 0;
        }
    }

    fn time(&self) -> Duration {
        // Who was woken without work is to wait for it.
        let cut = self.window.adapts && self.vain >= VAIN && !self.risen;
        self.window.time / if cut { CUT } else { 1 }
    }

    /// Waits a little. True when the window is over: time to park.
    #[inline(always)]
    pub(super) fn step(&mut self, rival: &Rival) -> bool {
        // Nobody is about to write the line, as far as we know, so it is looked at
        // as often as may be (measured: a fork after 100 µs takes 20 to 25 ns less
        // than with `Pause`; back to back it is the same).
        crate::sync::spin_loop();
        self.left -= 1;
        self.left == 0 && self.check(rival)
    }

    #[cold]
    fn check(&mut self, rival: &Rival) -> bool {
        self.left = STRIDE;
        if rival.crowded() {
            self.left = GLANCE;
            if rival.elsewhere() {
                self.left = 1;
                crate::sync::yield_now();
            }
        }
        let Some(begun) = self.begun else {
            self.begun = Some(std::time::Instant::now());
            self.checked = Duration::ZERO;
            self.yielded = Duration::ZERO;
            return self.window.time.is_zero();
        };
        let now = begun.elapsed();
        if now - self.checked > GAP {
            self.shared = true;
        }
        self.checked = now;
        if now >= self.time() {
            self.shared = false;
            self.vain = self.vain.saturating_add(1);
            self.ended = Some(begun + now);
            return true;
        }
        if self.shared || (now > YIELD_AFTER && now - self.yielded > YIELD_EVERY) {
            self.yielded = now;
            crate::sync::yield_now();
        }
        false
    }
}

/// How a caller waits for owners that have begun: they are running, or were
/// preempted inside their slot.
#[derive(Debug)]
pub(super) struct Patience {
    #[cfg(not(loom))]
    looks: u32,
    #[cfg(not(loom))]
    begun: Option<std::time::Instant>,
    /// Whether somebody has been told.
    #[cfg(not(loom))]
    told: bool,
}

#[cfg(not(loom))]
impl Patience {
    /// Slots that are alike do not end so far apart, unless one was preempted.
    const LONG: Duration = Duration::from_micros(500);
    /// After this long the caller naps: somebody lost his CPU for a slice.
    const NAP_AFTER: Duration = Duration::from_millis(2);
    const NAP: Duration = Duration::from_micros(50);

    pub(super) fn new() -> Self {
        Patience { looks: 0, begun: None, told: false }
    }

    /// Waits a little. True once, when that has lasted for long.
    #[inline(always)]
    pub(super) fn step(&mut self) -> bool {
        crate::sync::spin_loop();
        self.looks += 1;
        self.looks % STRIDE == 0 && self.check()
    }

    #[cold]
    fn check(&mut self) -> bool {
        let begun = *self.begun.get_or_insert_with(std::time::Instant::now);
        let waited = begun.elapsed();
        if waited > Self::NAP_AFTER {
            std::thread::sleep(Self::NAP);
        } else if waited > YIELD_AFTER {
            crate::sync::yield_now();
        }
        waited > Self::LONG && !std::mem::replace(&mut self.told, true)
    }
}

/// loom knows no time: a window of zero parks after the first failed look, any
/// other spins for ever.
#[cfg(loom)]
#[derive(Debug)]
pub(super) struct Ladder(Window);

#[cfg(loom)]
impl Ladder {
    pub(super) fn new(window: Window) -> Self {
        Ladder(window)
    }
    pub(super) fn reset(&mut self) {}
    pub(super) fn rise(&mut self) {}
    pub(super) fn step(&mut self, _: &Rival) -> bool {
        if self.0.time.is_zero() {
            return true;
        }
        crate::sync::yield_now();
        false
    }
}

#[cfg(loom)]
impl Patience {
    pub(super) fn new() -> Self {
        let _ = YIELD_AFTER;
        Patience {}
    }
    pub(super) fn step(&mut self) -> bool {
        crate::sync::yield_now();
        false
    }
}
