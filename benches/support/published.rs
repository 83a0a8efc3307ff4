//! Published pools that build with the compiler of this crate. (`benches/peers`
//! has those that want a newer one.)

#![allow(dead_code)]

use crate::support::candidate::columns;
use crate::support::fork::{candidate, pool, share, Candidate, Common, Shared, With};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

pub const FORKUNION: Candidate = candidate!("forkunion 3", |threads| fork_union(threads));
pub const FORKUNION_COMMON: Common = Common {
    name: "forkunion 3, a mutex around it",
    open: |body| body(&Mutex::new(fork_union(FORKUNION.threads))),
};

fn fork_union(threads: usize) -> With<forkunion::ThreadPool> {
    let topology = forkunion::Topology::new().expect("forkunion finds CPUs");
    let pool = forkunion::ThreadPool::try_spawn(&topology, threads);
    With(pool.expect("forkunion starts"), threads)
}

pool!(With<forkunion::ThreadPool>, |own| own.1, |own, _, slot| {
    own.0.broadcast(move |at, _| slot(at));
});

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("rayon starts")
}

/// One range per thread as tasks of a parallel iterator; the caller takes back
/// what nobody has stolen.
fn rayon_tasks(threads: usize, task: impl Fn(usize) + Send + Sync) {
    (0..threads).into_par_iter().with_max_len(1).for_each(task);
}

/// All regions from inside one `install`.
pub const RAYON_INSIDE: Candidate = candidate!("rayon par_iter, inside", |threads, body| {
    rayon_pool(threads).install(|| body(&mut RayonInside(threads)))
});

struct RayonInside(usize);
pool!(RayonInside, |own| own.0, |own, _, slot| rayon_tasks(own.0, slot));

/// `broadcast` from inside: each thread runs its range itself.
pub const RAYON_BROADCAST: Candidate = candidate!("rayon broadcast, inside", |threads, body| {
    rayon_pool(threads).install(|| body(&mut RayonBroadcast(threads)))
});

struct RayonBroadcast(usize);
pool!(RayonBroadcast, |own| own.0, |_, _, slot| {
    rayon::broadcast(move |own| slot(own.index()));
});

/// An `install` for each region, from a thread outside the pool.
pub const RAYON_OUTSIDE: Candidate =
    candidate!("rayon par_iter, outside", |threads| With(rayon_pool(threads), threads));
pub const RAYON_COMMON: Common =
    Common { name: RAYON_OUTSIDE.name, open: |body| body(&rayon_pool(RAYON_OUTSIDE.threads)) };

pool!(With<rayon::ThreadPool>, |own| own.1, |own, _, slot| {
    own.0.install(|| rayon_tasks(own.1, slot));
});

impl Shared for rayon::ThreadPool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        let threads = self.current_num_threads();
        self.install(|| rayon_tasks(threads, |slot| rows(share(items, threads, slot))));
    }
}

/// The original of rowpool's drop-in module, on rayon's global pool, a row for
/// each thread.
pub const FERROX: Candidate = candidate!("ferrox threads::for_each_row", |threads| Ferrox(threads));

struct Ferrox(usize);
pool!(Ferrox, |own| own.0, |own, ops, slot| {
    let row = move |at, _: &mut f32| slot(at);
    ferrox_core::threads::for_each_row(&mut [0.0; 64], own.0, columns(ops, own.0), row);
});

/// Fixes the width of the process-wide pools; before their first use.
pub fn set_up() {
    std::env::set_var("FERROX_CPU_THREADS", "2");
    ferrox_core::threads::init_cpu_pool();
}
