//! What `tests/loom.rs` checks: the letter box, the latch, sleeping, here and at a
//! host's, and the free seat, by the very code that workers run. Deques are crossbeam's, which
//! has its own models.

use crate::bell::Bell;
use crate::latch::Flag;
use crate::mail::Mail;
use crate::sync::{fence, lock, AtomicUsize, Condvar, Mutex, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

/// All interleavings of up to three preemptions: all there are take minutes.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3));
    builder.check(model);
}

/// A half of a join, as far as the protocol is concerned.
struct Half {
    /// Written by the sender before it is given away, changed by who runs it.
    runs: UnsafeCell<usize>,
    done: Flag,
}

struct Team {
    mail: Mail<Half>,
    bell: Bell,
    stop: Flag,
    sleepers: AtomicUsize,
    half: Half,
    other: Half,
    /// What a seat's holder has to itself.
    seat: UnsafeCell<usize>,
}

fn half() -> Half {
    Half { runs: UnsafeCell::new(7), done: Flag::new() }
}

fn team() -> Arc<Team> {
    Arc::new(Team {
        mail: Mail::new(),
        bell: Bell::new(),
        stop: Flag::new(),
        sleepers: AtomicUsize::new(0),
        half: half(),
        other: half(),
        seat: UnsafeCell::new(0),
    })
}

impl Team {
    fn run(&self, letter: *const Half) {
        assert!(std::ptr::eq(letter, &self.half) || std::ptr::eq(letter, &self.other));
        // SAFETY: the team's halves live on; whoever took the letter has the
        // half to itself, and sets its flag last.
        unsafe {
            (*letter).runs.with_mut(|runs| *runs += 1);
            Flag::set(&raw const (*letter).done);
        }
    }

    /// The worker: waits for a letter as `Seat::idle` does, then for the end.
    fn work(&self) {
        self.mail.open();
        loop {
            if let Some(letter) = self.mail.take() {
                self.run(letter);
                self.mail.open();
            }
            if self.stop.is_set() {
                break;
            }
            self.bell.sleep(&self.sleepers, &self.stop, || self.mail.has_letter());
        }
        if let Some(letter) = self.mail.shut() {
            self.run(letter);
        }
    }

    fn send(&self) -> bool {
        let posted = self.mail.post(&self.half);
        if posted {
            fence(Ordering::SeqCst);
            if !self.bell.is_awake() {
                self.bell.rouse_holder(&self.sleepers);
            }
        }
        posted
    }

    fn end(&self) {
        // SAFETY: the model's flag lives on.
        unsafe { Flag::set(&self.stop) };
        fence(Ordering::SeqCst);
        self.bell.rouse_holder(&self.sleepers);
    }
}

/// A host, as far as its workers' sleep goes: what `rowpool::Pool::rouse` and the
/// parking of its workers do, which has models of its own there.
struct Host {
    parked: Mutex<bool>,
    roused: Condvar,
}

impl Host {
    fn park(&self, changed: impl Fn() -> bool) {
        *lock(&self.parked) = true;
        fence(Ordering::SeqCst);
        let stays = !changed();
        let mut parked = lock(&self.parked);
        while stays && *parked {
            parked = self.roused.wait(parked).unwrap();
        }
        *parked = false;
    }

    fn rouse(&self) {
        fence(Ordering::SeqCst);
        if std::mem::take(&mut *lock(&self.parked)) {
            self.roused.notify_all();
        }
    }
}

/// As [`sleep`], for a worker that parks at its host's.
pub fn host() {
    explore(|| {
        let team = team();
        let host = Arc::new(Host { parked: Mutex::new(false), roused: Condvar::new() });
        // It parks before it is seen for the first time.
        team.bell.park(&team.sleepers);
        let worker = {
            let (team, host) = (Arc::clone(&team), Arc::clone(&host));
            thread::spawn(move || {
                while !team.stop.is_set() {
                    if team.mail.is_shut() {
                        team.bell.unpark(&team.sleepers);
                        team.mail.open();
                    }
                    if let Some(letter) = team.mail.take() {
                        team.run(letter);
                        continue;
                    }
                    team.bell.park(&team.sleepers);
                    host.park(|| {
                        team.bell.is_awake() || team.mail.has_letter() || team.stop.is_set()
                    });
                    team.bell.unpark(&team.sleepers);
                }
                // It turns to a region.
                while !team.mail.is_shut() && !team.mail.shut_empty() {
                    team.mail.take().into_iter().for_each(|letter| team.run(letter));
                }
            })
        };
        let rouse = || {
            fence(Ordering::SeqCst);
            if !team.bell.is_awake() && team.bell.unpark(&team.sleepers) {
                host.rouse();
            }
        };
        let posted = team.mail.post(&team.half);
        rouse();
        if !posted {
            team.run(&team.half);
        }
        while !team.half.done.is_set() {
            thread::yield_now();
        }
        has_run_once(&team.half);
        // SAFETY: the model's flag lives on.
        unsafe { Flag::set(&team.stop) };
        rouse();
        worker.join().unwrap();
        assert_eq!(team.sleepers.load(Ordering::Relaxed), 0);
    });
}

fn has_run_once(half: &Half) {
    assert!(half.done.is_set());
    // SAFETY: it has run.
    half.runs.with(|runs| assert_eq!(unsafe { *runs }, 8));
}

/// A letter is taken by its worker or taken back: once.
pub fn letter() {
    explore(|| {
        let team = team();
        team.mail.open();
        // The worker shuts its box, as when it has found other work.
        let worker = {
            let team = Arc::clone(&team);
            thread::spawn(move || {
                if let Some(letter) = team.mail.take() {
                    team.run(letter);
                    team.mail.open();
                }
                if let Some(letter) = team.mail.shut() {
                    team.run(letter);
                }
            })
        };
        // Another sender: of two letters one at most is in the box.
        let other = {
            let team = Arc::clone(&team);
            thread::spawn(move || {
                let posted = team.mail.post(&team.other);
                if !posted || team.mail.retract(&team.other) {
                    team.run(&team.other);
                }
            })
        };
        if !team.mail.post(&team.half) || team.mail.retract(&team.half) {
            team.run(&team.half);
        }
        worker.join().unwrap();
        other.join().unwrap();
        has_run_once(&team.half);
        has_run_once(&team.other);
    });
}

/// What a taker does is seen by the sender, who waits for the latch.
pub fn answer() {
    explore(|| {
        let team = team();
        team.mail.open();
        let worker = {
            let team = Arc::clone(&team);
            thread::spawn(move || {
                if let Some(letter) = team.mail.take() {
                    team.run(letter);
                }
            })
        };
        // SAFETY: it has not been given away; the taker must see this.
        team.half.runs.with_mut(|runs| unsafe { *runs = 7 });
        assert!(team.mail.post(&team.half));
        if team.mail.retract(&team.half) {
            team.run(&team.half);
        }
        while !team.half.done.is_set() {
            thread::yield_now();
        }
        has_run_once(&team.half);
        worker.join().unwrap();
    });
}

/// No letter finds a worker that sleeps on, and no end does.
pub fn sleep() {
    explore(|| {
        let team = team();
        let worker = {
            let team = Arc::clone(&team);
            thread::spawn(move || team.work())
        };
        if !team.send() {
            team.run(&team.half);
        }
        // Nothing but the worker can run it now: it must be awake for it.
        while !team.half.done.is_set() {
            thread::yield_now();
        }
        has_run_once(&team.half);
        team.end();
        worker.join().unwrap();
        assert_eq!(team.sleepers.load(Ordering::Relaxed), 0);
    });
}

/// A job that comes while a caller from outside leaves the lent seat is seen by
/// the caller, or the seat's own thread is called.
pub fn lease() {
    explore(|| {
        let team = team();
        let queued = Arc::new(AtomicUsize::new(0));
        team.bell.vacate(&team.sleepers);
        let own = {
            let (team, queued) = (Arc::clone(&team), Arc::clone(&queued));
            thread::spawn(move || {
                while team.bell.wait_for_call(&team.stop) {
                    // SAFETY: the seat is this thread's.
                    team.seat.with_mut(|seat| unsafe { *seat += 1 });
                    while queued.swap(0, Ordering::AcqRel) == 1 {
                        team.run(&team.half);
                    }
                    leave(&team, &queued);
                }
            })
        };
        let caller = {
            let (team, queued) = (Arc::clone(&team), Arc::clone(&queued));
            thread::spawn(move || {
                if team.bell.occupy(&team.sleepers) {
                    // SAFETY: the seat is this thread's.
                    team.seat.with_mut(|seat| unsafe { *seat += 1 });
                    leave(&team, &queued);
                }
            })
        };
        queued.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if team.sleepers.load(Ordering::Relaxed) != 0 {
            team.bell.call(&team.sleepers);
        }
        caller.join().unwrap();
        while !team.half.done.is_set() {
            thread::yield_now();
        }
        has_run_once(&team.half);
        // SAFETY: the model's flag lives on.
        unsafe { Flag::set(&team.stop) };
        team.bell.stop();
        own.join().unwrap();
    });
}

fn leave(team: &Team, queued: &AtomicUsize) {
    team.bell.vacate(&team.sleepers);
    if queued.load(Ordering::Relaxed) != 0 {
        team.bell.call(&team.sleepers);
    }
}
