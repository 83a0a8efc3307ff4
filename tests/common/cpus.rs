//! Pools for a machine of 16 equal CPUs, whatever this one has: all their threads
//! take part up to that width. Regions are slow where 9 threads share 2 CPUs, and
//! as right as anywhere.

#![allow(dead_code, reason = "every binary uses a part")]

use rowpool::topology::Topology;
use rowpool::{Pool, PoolBuilder};
use std::time::Duration;

/// CPUs of that machine.
pub const CPUS: usize = 16;

/// A pool's settings on that machine.
pub fn builder() -> PoolBuilder {
    Pool::builder().topology(Topology::new(CPUS))
}

/// A pool that uses `width` threads, with a spin window that spares the real
/// CPUs.
pub fn pool(width: usize) -> Pool {
    let pool = builder().width(width).spin_window(Duration::from_micros(100)).build();
    let pool = pool.expect("a pool");
    assert_eq!((pool.num_threads(), pool.active_width()), (width, width.min(CPUS)));
    pool
}

/// The process-wide pool on that machine, of the default width: for a test that
/// has its process for itself, before anybody else asks for it.
pub fn global() -> &'static Pool {
    builder().build_global().expect("a pool")
}
