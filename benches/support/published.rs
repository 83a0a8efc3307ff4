//! Published pools that build with the compiler of this crate. (`benches/peers`
//! has those that want a newer one.)

#![allow(dead_code)]

use crate::support::candidate::GATE;
use crate::support::fork::{share, Body, Candidate, Common, InTurn, Pool, Shared};
use crate::support::token::RowFn;
use crate::support::who::empty_slots;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

pub const FORKUNION: Candidate = Candidate { name: "forkunion 3", threads: 2, open: forkunion };

fn forkunion(threads: usize, body: Body<'_>) {
    body(&mut ForkUnion::new(threads));
}

pub const FORKUNION_TWICE: Candidate =
    Candidate { name: "two of forkunion 3", threads: 2, open: forkunion_twice };

fn forkunion_twice(threads: usize, body: Body<'_>) {
    // Each binds the calling thread to one CPU and puts back what it found: after
    // two of them the thread would stay bound.
    let run = || body(&mut InTurn::new(|| ForkUnion::new(threads)));
    std::thread::scope(|scope| scope.spawn(run).join().expect("nobody panics"));
}

pub const FORKUNION_COMMON: Common = Common {
    name: "forkunion 3, a mutex around it",
    open: |body| body(&Mutex::new(ForkUnion::new(FORKUNION.threads))),
};

struct ForkUnion {
    pool: forkunion::ThreadPool,
    threads: usize,
}

impl ForkUnion {
    fn new(threads: usize) -> ForkUnion {
        let topology = forkunion::Topology::new().expect("forkunion finds CPUs");
        let pool = forkunion::ThreadPool::try_spawn(&topology, threads);
        ForkUnion { pool: pool.expect("forkunion starts"), threads }
    }
}

impl Pool for ForkUnion {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        self.pool.broadcast(move |slot, _| rows(share(items, threads, slot)));
    }

    fn empty(&mut self, _: usize) {
        self.pool.broadcast(|slot, _| empty_slots(slot..slot + 1));
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("rayon starts")
}

/// One range per thread as tasks of a parallel iterator; the caller takes back
/// what nobody has stolen.
fn rayon_tasks(threads: usize, task: impl Fn(usize) + Send + Sync) {
    (0..threads).into_par_iter().with_max_len(1).for_each(task);
}

/// All regions from inside one `install`.
pub const RAYON_INSIDE: Candidate = Candidate {
    name: "rayon par_iter, inside",
    threads: 2,
    open: |threads, body| rayon_pool(threads).install(|| body(&mut RayonInside { threads })),
};

struct RayonInside {
    threads: usize,
}

impl Pool for RayonInside {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        rayon_tasks(threads, move |slot| rows(share(items, threads, slot)));
    }

    fn empty(&mut self, slots: usize) {
        rayon_tasks(slots, |slot| empty_slots(slot..slot + 1));
    }
}

/// `broadcast` from inside: each thread runs its range itself.
pub const RAYON_BROADCAST: Candidate = Candidate {
    name: "rayon broadcast, inside",
    threads: 2,
    open: |threads, body| rayon_pool(threads).install(|| body(&mut RayonBroadcast)),
};

struct RayonBroadcast;
impl Pool for RayonBroadcast {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        rayon::broadcast(move |own| rows(share(items, own.num_threads(), own.index())));
    }

    fn empty(&mut self, _: usize) {
        rayon::broadcast(|own| empty_slots(own.index()..own.index() + 1));
    }
}

/// An `install` for each region, from a thread outside the pool.
pub const RAYON_OUTSIDE: Candidate = Candidate {
    name: "rayon par_iter, outside",
    threads: 2,
    open: |threads, body| body(&mut RayonOutside::new(threads)),
};

pub const RAYON_TWICE: Candidate = Candidate {
    name: "two rayons, outside",
    threads: 2,
    open: |threads, body| body(&mut InTurn::new(|| RayonOutside::new(threads))),
};

pub const RAYON_COMMON: Common =
    Common { name: RAYON_OUTSIDE.name, open: |body| body(&rayon_pool(RAYON_OUTSIDE.threads)) };

impl Shared for rayon::ThreadPool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        let threads = self.current_num_threads();
        self.install(|| rayon_tasks(threads, |slot| rows(share(items, threads, slot))));
    }
}

struct RayonOutside {
    pool: rayon::ThreadPool,
    threads: usize,
}

impl RayonOutside {
    fn new(threads: usize) -> RayonOutside {
        RayonOutside { pool: rayon_pool(threads), threads }
    }
}

impl Pool for RayonOutside {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        let task = move |slot| rows(share(items, threads, slot));
        self.pool.install(|| rayon_tasks(threads, task));
    }

    fn empty(&mut self, slots: usize) {
        self.pool.install(|| rayon_tasks(slots, |slot| empty_slots(slot..slot + 1)));
    }
}

/// The original of rowpool's drop-in module, on rayon's global pool. One row
/// for each thread; its empty region claims the 256 000 multiply-adds of its
/// gate, and does nothing.
pub const FERROX: Candidate = Candidate {
    name: "ferrox threads::for_each_row",
    threads: 2,
    open: |threads, body| body(&mut Ferrox { threads }),
};

struct Ferrox {
    threads: usize,
}

impl Pool for Ferrox {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, ops: usize, rows: F) {
        let width = self.threads;
        let cols = if ops == 0 { GATE } else { items * ops }.div_ceil(width);
        let row = move |slot, _: &mut f32| rows(share(items, width, slot));
        ferrox_core::threads::for_each_row(&mut [0.0; 64], width, cols, row);
    }

    fn empty(&mut self, slots: usize) {
        let row = |slot, _: &mut f32| empty_slots(slot..slot + 1);
        ferrox_core::threads::for_each_row(&mut [0.0; 64], slots, GATE.div_ceil(slots), row);
    }
}

pub fn ferrox_rows(rows: &mut [f32], cols: usize, f: RowFn<'_>) {
    ferrox_core::threads::for_each_row(rows, rows.len(), cols, f);
}

/// Fixes the width of the process-wide pools; before their first use.
pub fn set_up() {
    std::env::set_var("FERROX_CPU_THREADS", "2");
    ferrox_core::threads::init_cpu_pool();
}
