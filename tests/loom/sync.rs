//! What loom lacks: a clock, and locks and bells with timeouts. Under loom a
//! clock moves by a fixed tick at each reading, so that every run of a model
//! takes the same branches; time that passes without a reading passes for no
//! one.

use loom::sync as inner;
use loom::sync::atomic::Ordering;
use loom::thread::yield_now;
use std::cell::Cell;
use std::time::Duration;

std::thread_local! {
    // All threads of a model share one thread of the system.
    static TICK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

loom::thread_local! {
    static CLOCK: Cell<Duration> = Cell::new(Duration::ZERO);
}

/// A reading of the calling thread's own clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Instant {
        CLOCK.with(|clock| {
            clock.set(clock.get() + TICK.with(Cell::get));
            Instant(clock.get())
        })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    pub(crate) fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// How many reasons there are not to explore.
fn pauses(change: impl FnOnce(usize) -> usize) -> usize {
    std::thread_local! {
        static PAUSES: Cell<usize> = const { Cell::new(0) };
    }
    PAUSES.with(|pauses| pauses.replace(change(pauses.get())))
}

/// From here on the model goes one way only, until `resume`.
pub fn pause() {
    // A thread that has yielded in vain is switched away from at the next
    // chance: now, before the others run unexplored.
    QUIET.load(Ordering::Relaxed);
    if pauses(|n| n + 1) == 0 {
        loom::stop_exploring();
    }
}

/// Ends one `pause`.
pub fn resume() {
    if pauses(|n| n - 1) == 1 {
        loom::explore();
    }
}

loom::lazy_static! {
    static ref FENCES: inner::atomic::AtomicUsize = inner::atomic::AtomicUsize::new(0);
    /// Nobody writes here.
    static ref QUIET: inner::atomic::AtomicUsize = inner::atomic::AtomicUsize::new(0);
}

/// A fence that others can run before. loom switches threads before accesses
/// only, so that a fence would be one step with the access before it.
pub(crate) fn fence(order: Ordering) {
    FENCES.fetch_add(1, Ordering::Relaxed);
    inner::atomic::fence(order);
}

/// A new run begins.
pub(crate) fn reset(tick: Duration) {
    // They exist from now on: that is no news to any thread.
    FENCES.load(Ordering::Relaxed);
    QUIET.load(Ordering::Relaxed);
    pauses(|_| 0);
    TICK.with(|cell| cell.set(tick));
}

pub(crate) fn guess<T>(read: impl FnOnce() -> T) -> T {
    pause();
    let guess = read();
    resume();
    guess
}

/// A plain store to a word that others change by read-modify-write. loom has
/// no order between the two where neither saw the other, and would hand a thread
/// that has stored a value from before its store; C++ puts a read-modify-write
/// right behind what it has read. An exchange has that order in loom too.
pub(crate) fn overwrite(word: &inner::atomic::AtomicU64, value: u64, order: Ordering) {
    word.swap(value, order);
}

/// Lets the others run.
pub(crate) fn sleep(_: Duration) {
    yield_now();
}

/// parking_lot's face over loom's lock.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(inner::Mutex<T>);

#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    lock: &'a Mutex<T>,
    held: Option<inner::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(inner::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().expect("nobody panics in the model")
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { lock: self, held: self.0.lock().ok() }
    }

    /// Gives up by the clock; with a tick of zero, never.
    pub(crate) fn try_lock_for(&self, patience: Duration) -> Option<MutexGuard<'_, T>> {
        let begun = Instant::now();
        loop {
            if let Ok(held) = self.0.try_lock() {
                return Some(MutexGuard { lock: self, held: Some(held) });
            }
            if begun.elapsed() > patience {
                return None;
            }
            yield_now();
        }
    }
}

impl<T> std::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect("held until it is dropped")
    }
}

impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held until it is dropped")
    }
}

impl<'a, T> MutexGuard<'a, T> {
    pub(crate) fn unlock_fair(guard: MutexGuard<'a, T>) {
        drop(guard);
    }
}

/// parking_lot's face over loom's condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar(inner::Condvar);

impl Condvar {
    /// Sleeps until rung for: a lost ring shows as a deadlock.
    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.held = guard.held.take().and_then(|held| self.0.wait(held).ok());
    }

    /// Sleeps for a moment: the timeout can come at any time.
    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
        guard.held = None;
        yield_now();
        guard.held = guard.lock.0.lock().ok();
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
}
