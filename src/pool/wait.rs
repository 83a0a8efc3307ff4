//! How threads wait, as data in real time: look, yield, then park or nap.
//! Windows are never counted in iterations (S13: 3 ms on one CPU, 500 on
//! another); the clock is read once in 32 looks.

use std::time::Duration;

/// Spin window between two regions unless a setting says otherwise. By
/// measurement: waking a worker costs the waker 8 to 35 µs and takes 30 to
/// 60 µs in all, sampling between two tokens takes 50 to 200 µs; a longer
/// window only burns the battery.
pub(crate) const SPIN_WINDOW: Duration = Duration::from_micros(300);

/// Time between two looks of a waiting worker. Each look takes the line away
/// from a caller that is about to write it (measured on a Xeon of 2023: an
/// empty fork takes 215 ns at 12 ns between looks, 160 at 48), and a longer
/// wait is found late.
#[cfg(not(loom))]
const LOOK_EVERY: Duration = Duration::from_nanos(45);

/// PAUSEs that take `LOOK_EVERY`: one takes 10 to 45 ns on a CPU of the last
/// ten years. Measured once per process, in some 10 µs.
#[cfg(not(loom))]
fn pauses() -> u32 {
    static PAUSES: crate::sync::OnceLock<u32> = crate::sync::OnceLock::new();
    *PAUSES.get_or_init(|| {
        const BATCH: u32 = 64;
        let batch = || {
            let begun = std::time::Instant::now();
            (0..BATCH).for_each(|_| crate::sync::spin_loop());
            begun.elapsed()
        };
        let one = (0..5).map(|_| batch()).min().unwrap_or_default() / BATCH;
        let pauses = LOOK_EVERY.as_nanos().checked_div(one.as_nanos()).unwrap_or(8);
        pauses.clamp(1, 8) as u32
    })
}

/// How a worker waits for the next region.
#[cfg(not(loom))]
#[derive(Debug)]
pub(super) struct Ladder {
    window: Duration,
    pauses: u32,
    looks: u32,
    begun: Option<std::time::Instant>,
    checked: Duration,
    yielded: Duration,
    shared: bool,
}

/// Looks between two readings of the clock: some µs.
#[cfg(not(loom))]
const STRIDE: u32 = 32;
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
    pub(super) fn new(window: Duration) -> Self {
        let zero = Duration::ZERO;
        Ladder {
            window,
            pauses: pauses(),
            looks: 0,
            begun: None,
            checked: zero,
            yielded: zero,
            shared: false,
        }
    }

    /// Starts over; reads no clock.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        self.looks = 0;
        self.begun = None;
    }

    /// Waits a little. True when the window is over: time to park.
    #[inline(always)]
    pub(super) fn step(&mut self) -> bool {
        (0..self.pauses).for_each(|_| crate::sync::spin_loop());
        self.looks += 1;
        self.looks % STRIDE == 0 && self.check()
    }

    #[cold]
    fn check(&mut self) -> bool {
        let Some(begun) = self.begun else {
            self.begun = Some(std::time::Instant::now());
            self.checked = Duration::ZERO;
            self.yielded = Duration::ZERO;
            return self.window.is_zero();
        };
        let now = begun.elapsed();
        if now - self.checked > GAP {
            self.shared = true;
        }
        self.checked = now;
        if now >= self.window {
            self.shared = false;
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
}

#[cfg(not(loom))]
impl Patience {
    /// After this long the caller naps: somebody lost his CPU for a slice.
    const NAP_AFTER: Duration = Duration::from_millis(2);
    const NAP: Duration = Duration::from_micros(50);

    pub(super) fn new() -> Self {
        Patience { looks: 0, begun: None }
    }

    #[inline(always)]
    pub(super) fn step(&mut self) {
        crate::sync::spin_loop();
        self.looks += 1;
        if self.looks % STRIDE == 0 {
            self.check();
        }
    }

    #[cold]
    fn check(&mut self) {
        let begun = *self.begun.get_or_insert_with(std::time::Instant::now);
        let waited = begun.elapsed();
        if waited > Self::NAP_AFTER {
            std::thread::sleep(Self::NAP);
        } else if waited > YIELD_AFTER {
            crate::sync::yield_now();
        }
    }
}

/// loom knows no time: a window of zero parks after the first failed look, any
/// other spins for ever.
#[cfg(loom)]
#[derive(Debug)]
pub(super) struct Ladder(Duration);

#[cfg(loom)]
impl Ladder {
    pub(super) fn new(window: Duration) -> Self {
        Ladder(window)
    }
    pub(super) fn reset(&mut self) {}
    pub(super) fn step(&mut self) -> bool {
        if self.0.is_zero() {
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
    pub(super) fn step(&mut self) {
        crate::sync::yield_now();
    }
}
