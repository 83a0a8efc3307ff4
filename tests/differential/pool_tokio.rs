//! S23 from a tokio program: regions opened by `spawn_blocking`, on the runtime's
//! own threads, and by threads that come and go.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

use common::cpus;
use rowpool::Pool;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Tasks that call one pool.
const TASKS: usize = 8;

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    // Blocking threads end when they are idle for so long, and new ones start.
    builder.worker_threads(2).thread_keep_alive(Duration::from_millis(1)).enable_time();
    builder.build().unwrap()
}

/// Regions of one task; the sum of all that their rows held.
fn regions(pool: &Pool, task: usize, count: usize) -> usize {
    let mut rows = vec![0usize; 64];
    let sum_of = |region: usize| {
        pool.for_each_row(&mut rows, |row, out| *out = task * 1000 + region + row);
        let right = |(row, out): (usize, &usize)| *out == task * 1000 + region + row;
        assert!(rows.iter().enumerate().all(right), "rows of another region");
        rows.iter().sum::<usize>()
    };
    (0..count).map(sum_of).sum()
}

/// What `count` regions of a task must give.
fn sum(task: usize, count: usize) -> usize {
    (0..count).map(|region| 64 * (task * 1000 + region) + 64 * 63 / 2).sum()
}

/// Runs one task of each number, each so often so many regions, and compares
/// the sums.
fn check(
    width: usize,
    (times, count): (usize, usize),
    spawn: impl Fn(&mut JoinSet<(usize, usize)>, Arc<Pool>, usize),
) {
    let pool = Arc::new(cpus::pool(width));
    let mut sums = runtime().block_on(async {
        let mut tasks = JoinSet::new();
        (0..TASKS).for_each(|task| spawn(&mut tasks, Arc::clone(&pool), task));
        tasks.join_all().await
    });
    sums.sort_unstable();
    let right = (0..TASKS).map(|task| (task, times * sum(task, count)));
    assert_eq!(sums, right.collect::<Vec<_>>());
}

#[test]
fn s23_spawn_blocking() {
    bounded!();
    check(3, (1, 1000), |tasks, pool, task| {
        tasks.spawn_blocking(move || (task, regions(&pool, task, 1000)));
    });
}

/// Tokens of a few regions each, a `spawn_blocking` for each, with sleeps
/// between: blocking threads end and start meanwhile.
#[test]
fn s23_spawn_blocking_for_each_token() {
    bounded!();
    check(2, (20, 10), |tasks, pool, task| {
        tasks.spawn(async move {
            let mut sum = 0;
            for _ in 0..20 {
                let pool = Arc::clone(&pool);
                let token = tokio::task::spawn_blocking(move || regions(&pool, task, 10));
                sum += token.await.unwrap();
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            (task, sum)
        });
    });
}

/// On the runtime's own threads: bad manners, but no reason to hang.
#[test]
fn s23_inside_async_tasks() {
    bounded!();
    check(2, (20, 10), |tasks, pool, task| {
        tasks.spawn(async move {
            let mut sum = 0;
            for _ in 0..20 {
                sum += regions(&pool, task, 10);
                tokio::task::yield_now().await;
            }
            (task, sum)
        });
    });
}
