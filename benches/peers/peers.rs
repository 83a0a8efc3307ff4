//! rowpool beside published pools that want a newer compiler: the same tables
//! as `fork_join`, `gemv` and `straggler` of the package above.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench --ignore-rust-version
//! --manifest-path benches/peers/Cargo.toml -- [FILTER]`

#[path = "../support/barrier_pool.rs"]
mod barrier_pool;
#[path = "../scenes/mod.rs"]
mod scenes;
#[path = "../support/mod.rs"]
mod support;

use barrier_pool::CANDLE;
use paralight::prelude::*;
use scenes::Cast;
use std::ops::Range;
use support::candidate::{ROWPOOL, ROWPOOL_COMMON, ROWPOOL_TWICE, SERIAL, YARDSTICK};
use support::fork::{share, Body, Candidate, Common, InTurn, Pool, Shared};
use support::token::{Format, Token};
use support::token_table::{Ratio, Way};
use support::who::empty_slots;
use support::{fork_table, rounds, token_table, wanted};

const PEERS: [Candidate; 7] = [CANDLE, FORTE, FORTE_JOIN, MICROPOOL, PARALIGHT, SPINDLE, ZERO_POOL];

/// Of the peers the one that is not lost as soon as a thread is late.
const CAST: Cast<'_> = Cast {
    all: &[SERIAL, ROWPOOL, MICROPOOL, YARDSTICK],
    yardstick: YARDSTICK.name,
    twice: &[(ROWPOOL_TWICE, ROWPOOL), (MICROPOOL_TWICE, MICROPOOL)],
    beside: &[MICROPOOL],
    common: &[ROWPOOL_COMMON, MICROPOOL_COMMON],
};

fn main() {
    scenes::play_role(&CAST);
    std::env::set_var("CANDLE_NUM_THREADS", "2");
    if wanted("fork_table") {
        let candidates: Vec<Candidate> = [ROWPOOL, YARDSTICK].into_iter().chain(PEERS).collect();
        fork_table::print("Empty regions, T = 2", &candidates, rounds(15));
    }
    if wanted("gemv_table") {
        let ways = [SERIAL, ROWPOOL, YARDSTICK].into_iter().chain(PEERS).map(Way::Regions);
        let ways: Vec<Way> = ways.chain([Way::Limit(YARDSTICK)]).collect();
        let ratio = |under, least| Ratio { over: ROWPOOL.name, under, least };
        let mut ratios =
            vec![ratio(YARDSTICK.name, Some(0.98)), ratio(Way::Limit(YARDSTICK).name(), None)];
        ratios.extend(PEERS.map(|peer| ratio(peer.name, Some(1.0))));
        token_table::print(
            "Token, T = 2",
            &mut Token::new(Format::Q8_0),
            &ways,
            &ratios,
            rounds(25),
        );
    }
    scenes::play(&CAST);
}

/// The caller is one of the pool's workers.
const FORTE: Candidate = Candidate { name: "forte broadcast", threads: 2, open: forte };
const FORTE_JOIN: Candidate = Candidate { name: "forte join", threads: 2, open: forte_join };
static FORTE_POOL: forte::ThreadPool = forte::ThreadPool::new();

fn forte(threads: usize, body: Body<'_>) {
    FORTE_POOL.resize_to(threads - 1);
    FORTE_POOL.with_worker(|worker| body(&mut Forte { worker, join: false }));
    FORTE_POOL.depopulate();
}

fn forte_join(threads: usize, body: Body<'_>) {
    FORTE_POOL.resize_to(threads - 1);
    FORTE_POOL.with_worker(|worker| body(&mut Forte { worker, join: true }));
    FORTE_POOL.depopulate();
}

struct Forte<'a> {
    worker: &'a forte::Worker,
    join: bool,
}

impl Pool for Forte<'_> {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        if self.join {
            self.worker.join(|_| rows(share(items, 2, 0)), |_| rows(share(items, 2, 1)));
        } else {
            self.worker.broadcast(move |own| rows(share(items, own.participants, own.index)));
        }
    }

    fn empty(&mut self, _: usize) {
        if self.join {
            self.worker.join(|_| empty_slots(0..1), |_| empty_slots(1..2));
        } else {
            self.worker.broadcast(|own| empty_slots(own.index..own.index + 1));
        }
    }
}

const MICROPOOL: Candidate = Candidate {
    name: "micropool",
    threads: 2,
    open: |threads, body| body(&mut Micropool::new(threads)),
};

const MICROPOOL_TWICE: Candidate = Candidate {
    name: "two micropools",
    threads: 2,
    open: |threads, body| body(&mut InTurn::new(|| Micropool::new(threads))),
};

const MICROPOOL_COMMON: Common =
    Common { name: MICROPOOL.name, open: |body| body(&Micropool::new(MICROPOOL.threads)) };

struct Micropool {
    pool: micropool::ThreadPool,
    threads: usize,
}

impl Micropool {
    fn new(threads: usize) -> Micropool {
        let pool = micropool::ThreadPoolBuilder::default().num_threads(threads - 1).build();
        Micropool { pool, threads }
    }
}

impl Shared for Micropool {
    fn region(&self, items: usize, rows: &(dyn Fn(Range<usize>) + Sync)) {
        let threads = self.threads;
        let slots = (0..threads).into_par_iter().with_thread_pool(self.pool.split_per_item());
        slots.for_each(move |slot| rows(share(items, threads, slot)));
    }
}

impl Pool for Micropool {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        let slots = (0..threads).into_par_iter().with_thread_pool(self.pool.split_per_item());
        slots.for_each(move |slot| rows(share(items, threads, slot)));
    }

    fn empty(&mut self, slots: usize) {
        let slots = (0..slots).into_par_iter().with_thread_pool(self.pool.split_per_item());
        slots.for_each(|slot| empty_slots(slot..slot + 1));
    }
}

const PARALIGHT: Candidate = Candidate { name: "paralight", threads: 2, open: paralight };

fn paralight(threads: usize, body: Body<'_>) {
    let pool = ThreadPoolBuilder {
        num_threads: threads.try_into().expect("above 0"),
        range_strategy: RangeStrategy::Fixed,
        cpu_pinning: CpuPinningPolicy::No,
    };
    body(&mut Paralight { pool: pool.build(), threads });
}

struct Paralight {
    pool: ThreadPool,
    threads: usize,
}

impl Pool for Paralight {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        let slots = (0..threads).into_par_iter().with_thread_pool(&mut self.pool);
        slots.for_each(move |slot| rows(share(items, threads, slot)));
    }

    fn empty(&mut self, slots: usize) {
        let slots = (0..slots).into_par_iter().with_thread_pool(&mut self.pool);
        slots.for_each(|slot| empty_slots(slot..slot + 1));
    }
}

/// On a rayon pool, which it takes over for the time of its lock.
const SPINDLE: Candidate = Candidate { name: "spindle", threads: 2, open: spindle };

fn spindle(threads: usize, body: Body<'_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let locked = || spindle::with_lock(threads, || body(&mut Spindle { threads }));
    pool.expect("rayon starts").install(locked);
}

struct Spindle {
    threads: usize,
}

impl Pool for Spindle {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let threads = self.threads;
        spindle::for_each_raw(threads, move |slot| rows(share(items, threads, slot)));
    }

    fn empty(&mut self, slots: usize) {
        spindle::for_each_raw(slots, |slot| empty_slots(slot..slot + 1));
    }
}

const ZERO_POOL: Candidate = Candidate { name: "zero-pool", threads: 2, open: zero_pool };

fn zero_pool(threads: usize, body: Body<'_>) {
    let workers = threads.try_into().expect("above 0");
    body(&mut Zero { pool: zero_pool::ZeroPool::with_workers(workers), threads });
}

struct Zero {
    pool: zero_pool::ZeroPool,
    threads: usize,
}

/// A slot of a region.
struct Task<'a, F> {
    rows: &'a F,
    range: Range<usize>,
}

impl Pool for Zero {
    fn run<F: Fn(Range<usize>) + Send + Sync>(&mut self, items: usize, _: usize, rows: F) {
        let task = |slot| Task { rows: &rows, range: share(items, self.threads, slot) };
        let tasks: Vec<Task<'_, F>> = (0..self.threads).map(task).collect();
        self.pool.run(|task: &Task<'_, F>| (task.rows)(task.range.clone()), &tasks);
    }

    fn empty(&mut self, slots: usize) {
        let slots: Vec<usize> = (0..slots).collect();
        self.pool.run(|slot: &usize| empty_slots(*slot..slot + 1), &slots);
    }
}
