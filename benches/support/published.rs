//! Published pools that build with the compiler of this crate. (`benches/peers`
//! has those that want a newer one.)

#![allow(dead_code)]

use crate::support::candidate::{share, Body, Candidate, Fork, RowFn, Rows, Slots};
use rayon::prelude::*;

pub const FORKUNION: Candidate = Candidate { name: "forkunion 3", threads: 2, open: forkunion };

fn forkunion(threads: usize, body: Body<'_>) {
    let topology = forkunion::Topology::new().expect("forkunion finds CPUs");
    let pool = forkunion::ThreadPool::try_spawn(&topology, threads);
    body(&mut ForkUnion { pool: pool.expect("forkunion starts"), threads });
}

struct ForkUnion {
    pool: forkunion::ThreadPool,
    threads: usize,
}

impl Fork for ForkUnion {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        self.pool.broadcast(|slot, _| rows(share(items, self.threads, slot)));
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("rayon starts")
}

/// One range per thread as tasks of a parallel iterator; the caller takes back
/// what nobody has stolen.
fn rayon_region(threads: usize, items: usize, rows: Rows<'_>) {
    let slots = (0..threads).into_par_iter().with_max_len(1);
    slots.for_each(|slot| rows(share(items, threads, slot)));
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

impl Fork for RayonInside {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        rayon_region(self.threads, items, rows);
    }
}

/// `broadcast` from inside: each thread runs its range itself.
pub const RAYON_BROADCAST: Candidate = Candidate {
    name: "rayon broadcast, inside",
    threads: 2,
    open: |threads, body| rayon_pool(threads).install(|| body(&mut RayonBroadcast)),
};

struct RayonBroadcast;
impl Fork for RayonBroadcast {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        rayon::broadcast(|own| rows(share(items, own.num_threads(), own.index())));
    }
}

/// An `install` for each region, from a thread outside the pool.
pub const RAYON_OUTSIDE: Candidate = Candidate {
    name: "rayon par_iter, outside",
    threads: 2,
    open: |threads, body| body(&mut RayonOutside { pool: rayon_pool(threads), threads }),
};

struct RayonOutside {
    pool: rayon::ThreadPool,
    threads: usize,
}

impl Fork for RayonOutside {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        self.pool.install(|| rayon_region(self.threads, items, rows));
    }
}

/// The original of rowpool's drop-in module, on rayon's global pool. One row
/// for each thread; its empty region claims the 256 000 multiply-adds of its
/// gate, and does nothing.
pub const FERROX: Candidate = Candidate {
    name: "ferrox threads::for_each_row",
    threads: 2,
    open: |threads, body| body(&mut Slots { threads, for_each_row: ferrox_rows }),
};

pub fn ferrox_rows(rows: &mut [f32], cols: usize, f: RowFn<'_>) {
    ferrox_core::threads::for_each_row(rows, rows.len(), cols, f);
}

/// Fixes the width of the process-wide pools; before their first use.
pub fn set_up() {
    std::env::set_var("FERROX_CPU_THREADS", "2");
    ferrox_core::threads::init_cpu_pool();
}
