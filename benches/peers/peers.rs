//! rowpool beside published pools that want a newer compiler: the same tables
//! as `fork_join`, `gemv` and `straggler` of the package above.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench --ignore-rust-version
//! --manifest-path benches/peers/Cargo.toml -- [FILTER]`

#[path = "../support/barrier_pool.rs"]
mod barrier_pool;
#[path = "../scenarios/mod.rs"]
mod scenarios;
#[path = "../support/mod.rs"]
mod support;

use barrier_pool::CANDLE;
use paralight::prelude::*;
use scenarios::Candidates;
use std::ops::Range;
use support::fork::{candidate, pool, share, Body, With};
use support::prelude::*;
use support::{fork_table, token_table};

const PEERS: [Candidate; 7] = [CANDLE, FORTE, FORTE_JOIN, MICROPOOL, PARALIGHT, SPINDLE, ZERO_POOL];

/// Of the peers the one that is not lost as soon as a thread is late.
const CANDIDATES: Candidates<'_> = Candidates {
    all: &[SERIAL, ROWPOOL, MICROPOOL, YARDSTICK],
    spin: &[ROWPOOL, CANDLE, YARDSTICK],
    twice: &[ROWPOOL, MICROPOOL],
    beside: &[MICROPOOL],
    common: &[ROWPOOL_COMMON, MICROPOOL_COMMON],
};

fn main() {
    scenarios::run_child(&CANDIDATES);
    std::env::set_var("CANDLE_NUM_THREADS", "2");
    if wanted("fork_table") {
        fork_table::print(&[ROWPOOL, YARDSTICK], &PEERS, rounds(15));
    }
    if wanted("gemv_table") {
        let mut token = Token::new(Format::Q8_0);
        token_table::print(&mut token, &[SERIAL, ROWPOOL, YARDSTICK, LIMIT], &PEERS, rounds(25));
    }
    scenarios::run(&CANDIDATES);
}

/// The caller is one of the pool's workers.
const FORTE: Candidate = candidate!("forte broadcast", |threads, body| forte(threads, false, body));
const FORTE_JOIN: Candidate = candidate!("forte join", |threads, body| forte(threads, true, body));

fn forte(threads: usize, join: bool, body: Body<'_>) {
    static POOL: forte::ThreadPool = forte::ThreadPool::new();
    POOL.resize_to(threads - 1);
    POOL.with_worker(|worker| body(&mut Forte { worker, threads, join }));
    POOL.depopulate();
}

struct Forte<'a> {
    worker: &'a forte::Worker,
    threads: usize,
    join: bool,
}

pool!(Forte<'_>, |own| own.threads, |own, _, slot| {
    if own.join {
        own.worker.join(|_| slot(0), |_| slot(1));
    } else {
        own.worker.broadcast(move |at| slot(at.index));
    }
});

const MICROPOOL: Candidate = candidate!("micropool", |threads| micropool(threads));
const MICROPOOL_COMMON: Common =
    Common { name: MICROPOOL.name, open: |body| body(&micropool(MICROPOOL.threads)) };

type Micropool = With<micropool::ThreadPool>;

fn micropool(threads: usize) -> Micropool {
    With(micropool::ThreadPoolBuilder::default().num_threads(threads - 1).build(), threads)
}

fn micropool_slots(With(pool, threads): &Micropool, slot: impl Fn(usize) + Send + Sync) {
    (0..*threads).into_par_iter().with_thread_pool(pool.split_per_item()).for_each(slot);
}

impl Shared for Micropool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        micropool_slots(self, |slot| rows(share(items, self.1, slot)));
    }
}

pool!(Micropool, |own| own.1, |own, _, slot| micropool_slots(own, slot));

const PARALIGHT: Candidate = candidate!("paralight", |threads| {
    let pool = ThreadPoolBuilder {
        num_threads: threads.try_into().expect("above 0"),
        range_strategy: RangeStrategy::Fixed,
        cpu_pinning: CpuPinningPolicy::No,
    };
    With(pool.build(), threads)
});

pool!(With<ThreadPool>, |own| own.1, |own, _, slot| {
    (0..own.1).into_par_iter().with_thread_pool(&mut own.0).for_each(slot);
});

/// On a rayon pool, which it takes over for the time of its lock.
const SPINDLE: Candidate = candidate!("spindle", |threads, body| {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let locked = || spindle::with_lock(threads, || body(&mut Spindle(threads)));
    pool.expect("rayon starts").install(locked)
});

struct Spindle(usize);
pool!(Spindle, |own| own.0, |own, _, slot| spindle::for_each_raw(own.0, slot));

const ZERO_POOL: Candidate = candidate!("zero-pool", |threads| {
    With(zero_pool::ZeroPool::with_workers(threads.try_into().expect("above 0")), threads)
});

pool!(With<zero_pool::ZeroPool>, |own| own.1, |own, _, slot| {
    let tasks: Vec<_> = (0..own.1).map(|at| (at, &slot)).collect();
    own.0.run(|task: &(usize, &_)| task.1(task.0), &tasks);
});
