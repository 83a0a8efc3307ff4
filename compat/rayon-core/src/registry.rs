//! A pool: its seats, its threads, and what comes to it from outside.

use crate::builder::{Handlers, ThreadSpawn};
use crate::job::{take, JobRef, StackJob};
use crate::latch::{Flag, LockLatch};
use crate::seat::Seat;
use crate::spin_latch::SpinLatch;
use crate::sync::{fence, lock, AtomicUsize, Condvar, Line, Mutex, Ordering};
use crate::unwind::{self, AbortIfPanic};
use crate::worker::ThreadBuilder;
use crate::{ThreadPoolBuildError, ThreadPoolBuilder};
use crossbeam_deque::{Injector, Worker};
use rowpool::Pool;
use std::ptr;
use std::sync::Arc;

pub(crate) struct Registry {
    seats: Box<[Seat]>,
    injected: Injector<JobRef>,
    /// Seats that nobody awake holds; read by each push.
    sleepers: Line<AtomicUsize>,
    /// The pool's handle, and each spawned job: the threads end at 0.
    users: AtomicUsize,
    started: Mutex<usize>,
    all_started: Condvar,
    handlers: Handlers,
    /// Callers from outside may take seat 0.
    lends: bool,
    /// More threads than CPUs.
    crowded: bool,
    host: Option<Host>,
    /// Whether seat 0's own thread has been made, where callers may take its seat.
    resident: Mutex<bool>,
}

/// Whose workers hold seats `1..seats`.
struct Host {
    pool: &'static Pool,
    seats: usize,
}

impl Registry {
    /// `lends`: callers from outside may take seat 0, if nothing was asked for
    /// that only the pool's own threads have; then other seats may be a host's.
    pub(crate) fn new<S: ThreadSpawn>(
        mut builder: ThreadPoolBuilder<S>,
        lends: bool,
        host: Option<&'static Pool>,
    ) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let lends = lends && builder.is_plain();
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let pool_width = host.map_or(cpus, Pool::num_threads);
        let threads = builder.threads().unwrap_or(pool_width);
        let host = host.map(|pool| Host { pool, seats: threads.min(pool_width) });
        // Those before it are not this pool's to make.
        let first = host.as_ref().map_or(usize::from(lends), |host| host.seats);
        let deques = (0..threads).map(|_| match builder.breadth_first {
            true => Worker::new_fifo(),
            false => Worker::new_lifo(),
        });
        let deques: Vec<_> = deques.collect();
        let handlers = builder.take_handlers();
        let registry = Arc::new_cyclic(|weak| Registry {
            seats: deques
                .into_iter()
                .enumerate()
                .map(|(index, deque)| Seat::new(weak.as_ptr(), index, deque))
                .collect(),
            injected: Injector::new(),
            sleepers: Line::default(),
            users: AtomicUsize::new(1),
            started: Mutex::new(first),
            all_started: Condvar::new(),
            handlers,
            lends,
            crowded: threads > cpus,
            host,
            resident: Mutex::new(false),
        });
        if lends {
            registry.seats[0].bell.vacate(&registry.sleepers);
        }
        for seat in registry.seats.iter().take(first).skip(1) {
            seat.bell.park(&registry.sleepers);
        }
        // Threads that were made end if a later one fails, or a closure of the
        // program's panics.
        let unfinished = Unfinished(&registry);
        if lends && threads == 1 {
            // Nobody else could run what comes without a caller.
            registry.make_resident().map_err(ThreadPoolBuildError::io)?;
        }
        for index in first..threads {
            if index == 0 && builder.use_current_thread {
                registry.seat_current_thread()?;
                continue;
            }
            let thread = ThreadBuilder::new(
                builder.name_of(index),
                builder.stack_size,
                Arc::clone(&registry),
                index,
            );
            builder.spawn_handler.spawn(thread).map_err(ThreadPoolBuildError::io)?;
        }
        std::mem::forget(unfinished);
        Ok(registry)
    }

    /// The current thread becomes worker 0, for good.
    fn seat_current_thread(self: &Arc<Self>) -> Result<(), ThreadPoolBuildError> {
        if Seat::current().is_some() {
            return Err(ThreadPoolBuildError::already_in_pool());
        }
        // The thread may use its seat until it ends, and nobody knows when.
        std::mem::forget(Arc::clone(self));
        // SAFETY: nobody else holds seat 0, as no thread is made for it and it
        // was not vacated; the registry is never dropped.
        unsafe { Seat::set_current(Some(&self.seats[0])) };
        self.seats[0].width().set(self.num_threads());
        self.has_started();
        Ok(())
    }

    pub(crate) fn has_started(&self) {
        *lock(&self.started) += 1;
        self.all_started.notify_all();
    }

    /// Waits until every thread runs.
    pub(crate) fn wait_until_started(&self) {
        let mut started = lock(&self.started);
        while *started < self.num_threads() {
            started = self.all_started.wait(started).unwrap_or_else(|poison| poison.into_inner());
        }
    }

    pub(crate) fn share(&self) -> Arc<Registry> {
        // SAFETY: every registry is made in an `Arc`, which somebody holds
        // while there is a reference to it.
        unsafe {
            Arc::increment_strong_count(self);
            Arc::from_raw(self)
        }
    }

    pub(crate) fn id(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    #[inline]
    pub(crate) fn num_threads(&self) -> usize {
        self.seats.len()
    }

    pub(crate) fn seat(&self, index: usize) -> &Seat {
        &self.seats[index]
    }

    /// The seat so many places further on, around the ring.
    #[inline]
    pub(crate) fn seat_after(&self, index: usize, step: usize) -> &Seat {
        let place = index + step;
        &self.seats[if place < self.seats.len() { place } else { place - self.seats.len() }]
    }

    pub(crate) fn lends(&self) -> bool {
        self.lends
    }

    /// Whether this seat's worker is its host's.
    pub(crate) fn is_hosted(&self, index: usize) -> bool {
        self.host.as_ref().is_some_and(|host| index < host.seats)
    }

    /// Wakes the host's worker of this seat.
    #[cold]
    pub(crate) fn rouse_at_host(&self, index: usize) {
        self.host.as_ref().expect("only a host's workers are parked").pool.rouse(index);
    }

    /// Seat 0's own thread is made when it is called first. False, with the call
    /// taken back, if the system refuses it: a later call tries again, and until
    /// then other workers and callers from outside do its work.
    pub(crate) fn ensure_resident(&self) -> bool {
        let made = self.make_resident().is_ok();
        if !made {
            self.seats[0].bell.call_off(&self.sleepers);
        }
        made
    }

    fn make_resident(&self) -> std::io::Result<()> {
        let mut made = lock(&self.resident);
        if !*made {
            let thread = ThreadBuilder::new(None, None, self.share(), 0);
            std::thread::Builder::new().name("rowpool-0".into()).spawn(|| thread.run())?;
            *made = true;
        }
        Ok(())
    }

    pub(crate) fn crowded(&self) -> bool {
        self.crowded
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    #[inline]
    pub(crate) fn sleepers(&self) -> &AtomicUsize {
        &self.sleepers
    }

    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// This thread's seat, if it is in this pool.
    pub(crate) fn own_seat(&self) -> Option<&Seat> {
        Seat::current().filter(|seat| ptr::eq(seat.registry(), self))
    }

    // Work

    pub(crate) fn take_injected(&self) -> Option<JobRef> {
        match self.injected.is_empty() {
            true => None,
            false => take(&self.injected),
        }
    }

    /// Whether anybody could take anything. After a fence.
    pub(crate) fn has_work(&self) -> bool {
        !self.injected.is_empty() || self.seats.iter().any(|seat| !seat.stealer.is_empty())
    }

    pub(crate) fn inject(&self, job: JobRef) {
        // SAFETY: the job has not been given away.
        unsafe { job.set_width(self.num_threads()) };
        self.injected.push(job);
        self.wake_one();
    }

    /// Onto this thread's own deque, if it is in this pool.
    pub(crate) fn inject_or_push(&self, job: JobRef) {
        match self.own_seat() {
            Some(seat) => seat.push(job),
            None => self.inject(job),
        }
    }

    /// One job for each worker.
    pub(crate) fn inject_broadcast(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        assert_eq!(jobs.len(), self.num_threads());
        for (seat, job) in self.seats.iter().zip(jobs) {
            seat.broadcasts.push(job);
        }
        fence(Ordering::SeqCst);
        for seat in &self.seats {
            seat.rouse();
        }
    }

    /// After a job was put where all can see it: somebody must be awake for it.
    #[cold]
    pub(crate) fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if !self.has_sleepers() {
            return;
        }
        // Who looks for work finds it, or passes it on when it stops looking.
        if self.seats.iter().any(|seat| seat.mail.is_open() && seat.bell.is_awake()) {
            return;
        }
        // Seat 0 last: it is what callers from outside want.
        for seat in self.seats.iter().rev() {
            if seat.rouse() {
                return;
            }
        }
    }

    /// This worker looks for work no more: if there is some, others must.
    #[inline]
    pub(crate) fn pass_on(&self) {
        if self.has_sleepers() {
            fence(Ordering::SeqCst);
            if self.has_work() {
                self.wake_one();
            }
        }
    }

    // Running inside

    /// Runs `op` on one of this pool's workers. The flag says whether it came
    /// from outside.
    #[inline]
    pub(crate) fn in_worker<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Seat, bool) -> R + Send,
        R: Send,
    {
        match Seat::current() {
            Some(seat) if ptr::eq(seat.registry(), self) => op(seat, false),
            Some(seat) => self.in_worker_of_another(seat, op),
            None => self.in_worker_from_outside(op),
        }
    }

    pub(crate) fn in_worker_from_outside<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Seat, bool) -> R + Send,
        R: Send,
    {
        if let Some(lease) = crate::lease::Lease::take(self) {
            return op(lease.seat(), true);
        }
        let latch = LockLatch::new();
        let job = StackJob::new(
            |injected| op(Seat::current().expect("jobs run on workers"), injected),
            &latch,
        );
        // SAFETY: it stays here until the latch is set.
        self.inject(unsafe { job.as_job() });
        latch.wait();
        job.into_result()
    }

    /// The thread waits in its own pool, and works for that meanwhile.
    fn in_worker_of_another<OP, R>(&self, own: &Seat, op: OP) -> R
    where
        OP: FnOnce(&Seat, bool) -> R + Send,
        R: Send,
    {
        let job = StackJob::new(
            |injected| op(Seat::current().expect("jobs run on workers"), injected),
            SpinLatch::across(own),
        );
        // SAFETY: it stays here until the latch is set.
        self.inject(unsafe { job.as_job() });
        own.wait(job.latch.flag());
        job.into_result()
    }

    // Its end

    pub(crate) fn retain(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// The handle is dropped, or a spawned job has run.
    pub(crate) fn release(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            for seat in &self.seats {
                // SAFETY: the flag is the registry's.
                unsafe { Flag::set(&raw const seat.stop) };
                seat.notify();
                seat.bell.stop();
            }
        }
    }

    /// Runs what nobody waits for: a panic goes to the handler, or aborts.
    pub(crate) fn report_panic(&self, func: impl FnOnce()) {
        if let Err(payload) = unwind::catch(func) {
            let guard = AbortIfPanic;
            if let Some(handler) = &self.handlers.panic {
                handler(payload);
                std::mem::forget(guard);
            }
        }
    }
}

struct Unfinished<'a>(&'a Registry);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}
