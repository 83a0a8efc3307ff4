//! Pools whose workers do what a test needs: all come, or none.

use rowpool::{Pool, PoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Something to wait for, once.
#[derive(Clone, Default)]
pub struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    /// Lets everybody go who waits now or later.
    pub fn open(&self) {
        *self.0 .0.lock().unwrap() = true;
        self.0 .1.notify_all();
    }

    /// Waits until it is open.
    pub fn wait(&self) {
        let open = self.0 .0.lock().unwrap();
        drop(self.0 .1.wait_while(open, |open| !*open).unwrap());
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        *self.0 .0.lock().unwrap()
    }
}

/// A pool whose workers are all late: each stands still in its start hook until
/// `arrive`, or the end. The caller has to run every slot (I4).
pub struct LatePool {
    latch: Latch,
    pool: Pool,
}

impl LatePool {
    /// A late pool of this width.
    pub fn new(width: usize) -> Self {
        Self::build(super::cpus::builder().width(width))
    }

    /// A late pool by this builder.
    pub fn build(builder: PoolBuilder) -> Self {
        let latch = Latch::default();
        let held = latch.clone();
        let pool = builder.on_worker_start(move |_| held.wait()).build().unwrap();
        LatePool { latch, pool }
    }

    /// Lets the workers come.
    pub fn arrive(&self) {
        self.latch.open();
    }
}

impl std::ops::Deref for LatePool {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl Drop for LatePool {
    fn drop(&mut self) {
        // Before the pool's drop, which joins the workers.
        self.latch.open();
    }
}

/// Where the slots of a region meet, if they are on threads of their own.
///
/// Waiting for each other is what no program's slots may do (I8). A test that
/// wants all threads to take part can, for some time: who is late nevertheless
/// is relieved after that.
#[derive(Default)]
pub struct Meeting(AtomicUsize);

impl Meeting {
    /// Comes, and stays until `all` have come or it takes too long.
    pub fn join(&self, all: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
        let patience = Instant::now() + Duration::from_millis(20);
        while self.0.load(Ordering::SeqCst) < all && Instant::now() < patience {
            thread::yield_now();
        }
    }
}

/// Runs `f` in the slots `0..active_width` of regions until one had every slot
/// on a thread of its own; gives their threads. `f` runs several times.
pub fn on_all_threads(pool: &Pool, f: impl Fn(usize) + Sync) -> Vec<ThreadId> {
    let width = pool.active_width();
    let nobody = || Mutex::new(None::<ThreadId>);
    loop {
        pool.wake();
        let threads: Vec<_> = (0..width).map(|_| nobody()).collect();
        let meeting = Meeting::default();
        pool.run(width, |slot| {
            *threads[slot].lock().unwrap() = Some(thread::current().id());
            meeting.join(width);
            f(slot);
        });
        let threads: Vec<ThreadId> = threads
            .into_iter()
            .map(|id| id.into_inner().unwrap().expect("each slot runs"))
            .collect();
        if (1..width).all(|slot| !threads[..slot].contains(&threads[slot])) {
            return threads;
        }
    }
}
