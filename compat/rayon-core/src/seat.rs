//! A seat: one index of a pool, with what belongs to it. Whoever holds it *is*
//! that worker: the pool's own thread, a worker of rowpool's (see `host.rs`), or
//! for seat 0 a caller from outside (see `lease.rs`).

use crate::bell::Bell;
use crate::job::{take, Fifo, Head, JobRef};
use crate::latch::Flag;
use crate::mail::Mail;
use crate::patience::Patience;
use crate::registry::Registry;
use crate::sync::{fence, Line, Ordering};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use std::cell::Cell;
use std::ptr;

pub(crate) struct Seat {
    /// What others write while its holder looks: on a line of its own.
    pub(crate) mail: Line<Mail<Head>>,
    pub(crate) bell: Bell,
    pub(crate) stealer: Stealer<JobRef>,
    /// What this very worker must run.
    pub(crate) broadcasts: Injector<JobRef>,
    pub(crate) fifo: Fifo,
    /// Set when the pool ends.
    pub(crate) stop: Flag,
    pub(crate) index: usize,
    registry: *const Registry,
    private: Line<Private>,
}

/// The holder's alone.
struct Private {
    deque: Worker<JobRef>,
    /// How many workers, from this one on, its next `join` may use.
    width: Cell<usize>,
    /// Where it begins to look for something to steal.
    victim: Cell<usize>,
    /// At its host's: looks since it has worked.
    looks: Cell<u32>,
}

// SAFETY: `private` is touched by the seat's holder only (`Seat::current`), and
// there is one: the pool's thread of that index, the host's worker of that
// slot, or who has taken a free seat (`Bell::vacate` to `Bell::occupy` hands it
// over). The rest is `Sync`. The
// registry outlives its seats, which are its field.
unsafe impl Sync for Seat {}
// SAFETY: see above; deques and jobs are `Send`.
unsafe impl Send for Seat {}

thread_local! {
    /// The seat that this thread holds.
    static CURRENT: Cell<*const Seat> = const { Cell::new(ptr::null()) };
}

impl Seat {
    pub(crate) fn new(registry: *const Registry, index: usize, deque: Worker<JobRef>) -> Seat {
        Seat {
            mail: Line::new(Mail::new()),
            bell: Bell::new(),
            stealer: deque.stealer(),
            broadcasts: Injector::new(),
            fifo: Fifo::new(),
            stop: Flag::new(),
            index,
            registry,
            private: Line::new(Private {
                deque,
                width: Cell::new(1),
                victim: Cell::new(index),
                looks: Cell::new(0),
            }),
        }
    }

    /// The seat of this thread. Only through this does anybody get to a seat
    /// whose private part it may touch.
    #[inline]
    pub(crate) fn current<'a>() -> Option<&'a Seat> {
        // SAFETY: a thread that has a seat keeps the registry alive meanwhile.
        unsafe { CURRENT.get().as_ref() }
    }

    /// This thread sits down here, or gets up.
    ///
    /// # Safety
    /// It is the seat's one holder from here to the next call, and the registry
    /// lives as long.
    pub(crate) unsafe fn set_current(seat: Option<&Seat>) {
        CURRENT.set(seat.map_or(ptr::null(), |seat| seat));
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: the seat is a field of its registry, which does not move.
        unsafe { &*self.registry }
    }

    #[inline]
    pub(crate) fn width(&self) -> &Cell<usize> {
        &self.private.width
    }

    #[inline]
    pub(crate) fn looks(&self) -> &Cell<u32> {
        &self.private.looks
    }

    pub(crate) fn has_own_work(&self) -> bool {
        !self.private.deque.is_empty()
    }

    /// Puts a job where this worker finds it first, and idle ones last.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) {
        self.private.deque.push(job);
        let registry = self.registry();
        if registry.has_sleepers() {
            registry.wake_one();
        }
    }

    /// The newest job of this worker's own.
    #[inline]
    pub(crate) fn pop(&self) -> Option<JobRef> {
        self.private.deque.pop()
    }

    /// Hands a half to the worker in the middle of this one's range, if that one
    /// is looking for work. The worker whose letter box holds it now; with
    /// `None` the caller pushes it.
    ///
    /// Not past what lies on the deque: this worker would pop that while it
    /// waits for the half, where a thief would have taken the older first. Work
    /// that waits for this worker's next step must not come on top of it. That
    /// is also why nobody steals letters; so with more workers than CPUs there are
    /// none: who looks may not have a CPU when it comes to it.
    #[inline]
    pub(crate) fn hand_over(&self, job: JobRef) -> Option<&Seat> {
        // Halves of the halves are pushed too, after one that was.
        let width = self.width().replace(1);
        let (theirs, ours) = (width / 2, width - width / 2);
        let registry = self.registry();
        let seat = registry.seat_after(self.index, ours);
        if !seat.mail.is_open() || self.has_own_work() || registry.crowded() {
            return None;
        }
        // SAFETY: the job has not been given away.
        unsafe { job.set_width(theirs) };
        if !seat.mail.post(job.letter()) {
            // SAFETY: as above.
            unsafe { job.set_width(1) };
            return None;
        }
        self.width().set(ours);
        if registry.has_sleepers() {
            fence(Ordering::SeqCst);
            if !seat.bell.is_awake() {
                seat.rouse();
            }
        }
        Some(seat)
    }

    /// Runs a job that this worker has taken.
    pub(crate) fn execute(&self, job: JobRef) {
        let outer = self.width().get();
        // SAFETY: it was taken from a deque, a queue or a letter box, each of
        // which gives a job to one.
        unsafe { job.run(|width| self.width().set(width)) };
        self.width().set(outer);
    }

    /// Work that is this worker's before anybody's.
    pub(crate) fn take_local(&self) -> Option<JobRef> {
        self.pop().or_else(|| match self.broadcasts.is_empty() {
            true => None,
            false => take(&self.broadcasts),
        })
    }

    /// Work of any kind.
    pub(crate) fn find(&self) -> Option<JobRef> {
        self.take_local().or_else(|| self.steal()).or_else(|| self.registry().take_injected())
    }

    fn steal(&self) -> Option<JobRef> {
        let registry = self.registry();
        let first = self.private.victim.get();
        loop {
            let mut again = false;
            for step in 0..registry.num_threads() {
                let seat = registry.seat_after(first, step);
                if seat.index == self.index {
                    continue;
                }
                match seat.stealer.steal() {
                    Steal::Success(job) => {
                        self.private.victim.set(seat.index);
                        return Some(job);
                    }
                    Steal::Retry => again = true,
                    Steal::Empty => {}
                }
            }
            if !again {
                let next = registry.seat_after(first, 1).index;
                self.private.victim.set(next);
                return None;
            }
        }
    }

    /// Takes other work until the flag is set.
    #[inline]
    pub(crate) fn wait(&self, flag: &Flag) {
        if !flag.is_set() {
            self.wait_cold(flag);
        }
    }

    #[cold]
    fn wait_cold(&self, flag: &Flag) {
        while !flag.is_set() {
            match self.take_local() {
                Some(job) => self.execute(job),
                None => return self.idle(flag),
            }
        }
    }

    /// Looks for work until the flag is set, and sleeps where there is none.
    pub(crate) fn idle(&self, flag: &Flag) {
        let registry = self.registry();
        self.mail.open();
        let mut patience = Patience::new(registry.crowded());
        while !flag.is_set() {
            let worked = if patience.searches() {
                // Shut meanwhile: a letter that came while this worker takes
                // something else would have to go where others find it.
                let worked = self.search(flag);
                self.mail.open();
                worked
            } else {
                self.read_mail(self.mail.take()).inspect(|()| self.mail.open()).is_some()
            };
            if worked {
                patience = Patience::new(registry.crowded());
            } else if !patience.wait() {
                self.bell.sleep(registry.sleepers(), flag, || self.is_wanted());
                patience = Patience::new(registry.crowded());
            }
        }
        // A letter that came too late is run first, as one that came in time.
        self.read_mail(self.mail.shut());
        registry.pass_on();
    }

    pub(crate) fn read_mail(&self, letter: Option<*const Head>) -> Option<()> {
        let letter = letter?;
        self.registry().pass_on();
        // SAFETY: it has been taken.
        self.execute(unsafe { JobRef::from_letter(letter) });
        Some(())
    }

    /// Runs what there is of any kind, and leaves the letter box shut. False if
    /// there was nothing.
    pub(crate) fn search(&self, flag: &Flag) -> bool {
        if self.read_mail(self.mail.shut()).is_some() {
            return true;
        }
        let mut worked = false;
        // More of the same is likely, so look again at once.
        while let Some(job) = self.find_unless(flag) {
            if !worked {
                self.registry().pass_on();
                worked = true;
            }
            self.execute(job);
        }
        worked
    }

    fn find_unless(&self, flag: &Flag) -> Option<JobRef> {
        match flag.is_set() {
            true => None,
            false => self.find(),
        }
    }

    /// Whether there is something for this worker to do. After a fence.
    pub(crate) fn is_wanted(&self) -> bool {
        self.mail.has_letter() || !self.broadcasts.is_empty() || self.registry().has_work()
    }

    /// Wakes this worker, if it sleeps while it waits for a flag. After the
    /// flag was set.
    pub(crate) fn notify(&self) {
        fence(Ordering::SeqCst);
        self.bell.rouse_holder(self.registry().sleepers());
    }

    /// Wakes somebody for this seat, if nobody is awake for it. After a fence.
    pub(crate) fn rouse(&self) -> bool {
        let registry = self.registry();
        let parked = self.bell.unpark(registry.sleepers());
        if parked {
            registry.rouse_at_host(self.index);
        }
        parked || self.bell.rouse_holder(registry.sleepers()) || self.call()
    }

    /// Calls the seat's own thread to its free seat.
    pub(crate) fn call(&self) -> bool {
        let registry = self.registry();
        self.bell.call(registry.sleepers()) && registry.ensure_resident()
    }
}
