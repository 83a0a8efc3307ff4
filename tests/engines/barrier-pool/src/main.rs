//! Decodes tokens on one pool for a while: POOL THREADS SECONDS --bench. Prints
//! the median and the 99th percentile of their times, in ms.

#[path = "../../../../benches/support/barrier_pool.rs"]
mod barrier_pool;
#[path = "../../../../benches/support/mod.rs"]
mod support;

use barrier_pool::{CANDLE, CANDLE_CHUNKED};
use std::time::{Duration, Instant};
use support::candidate::{ROWPOOL, SERIAL};
use support::fork::Candidate;
use support::stats::{median, quantile};
use support::token::{Format, Token};

/// A token that takes this long is the last.
const LIMIT: Duration = Duration::from_secs(2);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [pool, threads, seconds, ..] = &args[..] else {
        panic!("usage: engine-barrier-pool POOL THREADS SECONDS --bench");
    };
    // Read when the process-wide pool is made.
    std::env::set_var("CANDLE_NUM_THREADS", threads);
    let threads = threads.parse().expect("a number of threads");
    let enough = Duration::from_secs_f64(seconds.parse().expect("a number of seconds"));
    let pools = [SERIAL, ROWPOOL, CANDLE, CANDLE_CHUNKED];
    let pool = pools.into_iter().find(|candidate| candidate.name == pool).expect("a pool");

    let mut token = Token::new(Format::Q8_0);
    SERIAL.run(|serial| serial.decode(&mut token));
    let right = token.output();
    token.clear();
    let mut times = Vec::new();
    Candidate { threads, ..pool }.run(|pool| {
        let mut given_up = pool.paced(&mut token, LIMIT).done < 1.0;
        assert!(given_up || token.output() == right, "another result");
        let begun = Instant::now();
        while times.is_empty() || (!given_up && begun.elapsed() < enough) {
            let step = pool.paced(&mut token, LIMIT);
            times.push(step.time.as_secs_f64() * 1e3);
            given_up = step.done < 1.0;
        }
    });
    println!("{} {}", median(&times), quantile(&times, 0.99));
}
