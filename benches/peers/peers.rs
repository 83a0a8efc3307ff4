//! rowpool beside published pools that want a newer compiler: the same tables
//! as `fork_join` and `gemv` of the package above.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench --ignore-rust-version
//! --manifest-path benches/peers/Cargo.toml`

#[path = "../support/mod.rs"]
mod support;

use paralight::prelude::*;
use support::candidate::{share, Body, Candidate, Fork, Rows, ROWPOOL, SERIAL, YARDSTICK};
use support::token::{Format, Token};
use support::token_table::{Ratio, Way};
use support::{fork_table, rounds, token_table, wanted};

const PEERS: [Candidate; 7] = [CANDLE, FORTE, FORTE_JOIN, MICROPOOL, PARALIGHT, SPINDLE, ZERO_POOL];

fn main() {
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
}

/// candle's process-wide pool; it parks by itself, and is never dropped.
const CANDLE: Candidate =
    Candidate { name: "candle 0.11 BarrierPool", threads: 2, open: |_, body| body(&mut Candle) };

struct Candle;
impl Fork for Candle {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        let pool = candle_core::utils::barrier_pool();
        let width = pool.n_workers() + 1;
        pool.execute(|slot| rows(share(items, width, slot)));
    }
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

impl Fork for Forte<'_> {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        if self.join {
            self.worker.join(|_| rows(share(items, 2, 0)), |_| rows(share(items, 2, 1)));
        } else {
            self.worker.broadcast(|own| rows(share(items, own.participants, own.index)));
        }
    }
}

const MICROPOOL: Candidate = Candidate { name: "micropool", threads: 2, open: micropool };

fn micropool(threads: usize, body: Body<'_>) {
    let pool = micropool::ThreadPoolBuilder::default().num_threads(threads - 1).build();
    body(&mut Micropool { pool, threads });
}

struct Micropool {
    pool: micropool::ThreadPool,
    threads: usize,
}

impl Fork for Micropool {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        let slots = (0..self.threads).into_par_iter().with_thread_pool(self.pool.split_per_item());
        slots.for_each(|slot| rows(share(items, self.threads, slot)));
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

impl Fork for Paralight {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        let slots = (0..self.threads).into_par_iter().with_thread_pool(&mut self.pool);
        slots.for_each(|slot| rows(share(items, self.threads, slot)));
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

impl Fork for Spindle {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        spindle::for_each_raw(self.threads, |slot| rows(share(items, self.threads, slot)));
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
struct Task<'a> {
    rows: Rows<'a>,
    range: std::ops::Range<usize>,
}

impl Fork for Zero {
    fn region(&mut self, items: usize, _: usize, rows: Rows<'_>) {
        let task = |slot| Task { rows, range: share(items, self.threads, slot) };
        let tasks: Vec<Task<'_>> = (0..self.threads).map(task).collect();
        self.pool.run(|task: &Task<'_>| (task.rows)(task.range.clone()), &tasks);
    }
}
