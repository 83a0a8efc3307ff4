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
use support::candidate::{LIMIT, ROWPOOL, ROWPOOL_COMMON, SERIAL, YARDSTICK};
use support::fork::{candidate, share, Body, Candidate, Common, Pool, Shared, With};
use support::token::{Format, Token};
use support::{fork_table, rounds, token_table, wanted};

const PEERS: [Candidate; 7] = [CANDLE, FORTE, FORTE_JOIN, MICROPOOL, PARALIGHT, SPINDLE, ZERO_POOL];

/// Of the peers the one that is not lost as soon as a thread is late.
const CANDIDATES: Candidates<'_> = Candidates {
    all: &[SERIAL, ROWPOOL, MICROPOOL, YARDSTICK],
    yardstick: YARDSTICK.name,
    twice: &[ROWPOOL, MICROPOOL],
    beside: &[MICROPOOL],
    common: &[ROWPOOL_COMMON, MICROPOOL_COMMON],
};

fn main() {
    scenarios::run_child(&CANDIDATES);
    std::env::set_var("CANDLE_NUM_THREADS", "2");
    if wanted("fork_table") {
        let candidates: Vec<Candidate> = [ROWPOOL, YARDSTICK].into_iter().chain(PEERS).collect();
        fork_table::print("Empty regions, T = 2", &candidates, rounds(15));
    }
    if wanted("gemv_table") {
        let ways = [SERIAL, ROWPOOL, YARDSTICK].into_iter().chain(PEERS).chain([LIMIT]);
        let ways: Vec<Candidate> = ways.collect();
        let mut ratios = vec![(ROWPOOL, YARDSTICK, Some(0.98)), (ROWPOOL, LIMIT, None)];
        ratios.extend(PEERS.map(|peer| (ROWPOOL, peer, Some(1.0))));
        let mut token = Token::new(Format::Q8_0);
        token_table::print("Token, T = 2", &mut token, &ways, &ratios, rounds(25));
    }
    scenarios::run(&CANDIDATES);
}

/// The caller is one of the pool's workers.
const FORTE: Candidate =
    Candidate { name: "forte broadcast", threads: 2, open: |n, body| forte(n, false, body), twice: None };
const FORTE_JOIN: Candidate =
    Candidate { name: "forte join", threads: 2, open: |n, body| forte(n, true, body), twice: None };

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

impl Pool for Forte<'_> {
    fn width(&self) -> usize {
        self.threads
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, _: usize, slot: F) {
        if self.join {
            self.worker.join(|_| slot(0), |_| slot(1));
        } else {
            self.worker.broadcast(move |own| slot(own.index));
        }
    }
}

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

impl Pool for Micropool {
    fn width(&self) -> usize {
        self.1
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, _: usize, slot: F) {
        micropool_slots(self, slot);
    }
}

const PARALIGHT: Candidate = candidate!("paralight", |threads| paralight(threads));

fn paralight(threads: usize) -> With<ThreadPool> {
    let pool = ThreadPoolBuilder {
        num_threads: threads.try_into().expect("above 0"),
        range_strategy: RangeStrategy::Fixed,
        cpu_pinning: CpuPinningPolicy::No,
    };
    With(pool.build(), threads)
}

impl Pool for With<ThreadPool> {
    fn width(&self) -> usize {
        self.1
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, _: usize, slot: F) {
        (0..self.1).into_par_iter().with_thread_pool(&mut self.0).for_each(slot);
    }
}

/// On a rayon pool, which it takes over for the time of its lock.
const SPINDLE: Candidate = Candidate { name: "spindle", threads: 2, open: spindle, twice: None };

fn spindle(threads: usize, body: Body<'_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let locked = || spindle::with_lock(threads, || body(&mut Spindle(threads)));
    pool.expect("rayon starts").install(locked);
}

struct Spindle(usize);
impl Pool for Spindle {
    fn width(&self) -> usize {
        self.0
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, _: usize, slot: F) {
        spindle::for_each_raw(self.0, slot);
    }
}

const ZERO_POOL: Candidate = candidate!("zero-pool", |threads| zero_pool(threads));

fn zero_pool(threads: usize) -> With<zero_pool::ZeroPool> {
    With(zero_pool::ZeroPool::with_workers(threads.try_into().expect("above 0")), threads)
}

impl Pool for With<zero_pool::ZeroPool> {
    fn width(&self) -> usize {
        self.1
    }

    fn slots<F: Fn(usize) + Send + Sync>(&mut self, _: usize, slot: F) {
        let tasks: Vec<(usize, &F)> = (0..self.1).map(|at| (at, &slot)).collect();
        self.0.run(|task: &(usize, &F)| task.1(task.0), &tasks);
    }
}
