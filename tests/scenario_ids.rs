//! S28: CPU ids from 1024 on. core_affinity indexes a set of 1024 by them
//! without a check, which aborts the process; a pool leaves such workers free.

#[macro_use]
mod common;

use common::on_all_threads;
use rowpool::topology::{Cpu, Topology, MAX_CPUS};
use rowpool::{Pool, PoolBuilder};
use std::sync::{Arc, Barrier};

fn works(pool: &Pool) {
    for _ in 0..50 {
        let mut rows = vec![0; 100];
        pool.for_each_row(&mut rows, |row, out| *out = row);
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row));
    }
    assert_eq!(on_all_threads(pool, |_| ()).len(), pool.active_width());
}

/// A machine of 16 CPUs whose numbers begin at `first`.
fn numbered_from(first: usize) -> PoolBuilder {
    let mut facts = Topology::new(1);
    facts.cpus = (first..first + 16).map(Cpu::new).collect();
    facts.mask = Some(facts.online());
    Pool::builder().topology(facts)
}

/// All below the limit, at it, above it, and as large as they get.
#[test]
fn s28_workers_with_large_ids() {
    bounded!();
    for first in [1008, 1016, 1024, 1500, MAX_CPUS - 16] {
        isolated!().run(|| {
            for width in [2, 9, 16] {
                // All of them come by their binding.
                let all = Arc::new(Barrier::new(width));
                let here = Arc::clone(&all);
                let builder = numbered_from(first).width(width).pin(true);
                let pool = builder
                    .on_worker_start(move |_| {
                        here.wait();
                    })
                    .build()
                    .unwrap();
                all.wait();
                assert_eq!(pool.active_width(), width);
                works(&pool);
            }
        });
    }
}

/// The environment's switch comes by the same way.
#[test]
fn s28_pinned_by_the_environment() {
    bounded!();
    let child = isolated!().env("ROWPOOL_PIN", "1").env("ROWPOOL_NUM_THREADS", "6");
    child.run(|| works(numbered_from(1020).build_global().unwrap()));
}
