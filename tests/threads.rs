//! The drop-in functions by their values: widths from the environment, the gate,
//! rows and chunks, and who comes too late to begin. (`tests/differential` compares
//! them with ferrox's.)

#[macro_use]
mod common;

use common::cpus;
use rowpool::threads::*;
use rowpool::topology::{Settings, Topology, Width};

#[test]
fn widths_are_the_environments_or_the_machines() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").env("FERROX_CPU_THREADS", "5").run(|| {
        assert_eq!((resolve_gemv_threads(), resolve_cpu_threads()), (3, 5));
        assert_eq!(gemv_num_threads(), 3);
        let facts = Topology::detect();
        assert_eq!(perf_core_count(), Width::new(&facts, &Settings::default()).threads);
        assert!(!rowpool::cpu_pool::in_region());
    });
}

#[test]
fn the_gate_is_at_256_000_and_two_rows() {
    for (rows, cols, parallel) in [
        (2, 128_000, true),
        (2, 127_999, false),
        (1000, 256, true),
        (1000, 255, false),
        (1, 256_000, false),
        (1, usize::MAX, false),
        (0, usize::MAX, false),
        (usize::MAX, 2, true),
    ] {
        assert_eq!(should_parallelize(rows, cols), parallel, "{rows} {cols}");
    }
}

#[test]
fn rows_and_chunks_below_and_above_the_gate() {
    bounded!();
    for work in [1, 1 << 20] {
        let mut y = [-1.0; 11];
        for_each_row(&mut y, 9, work, |row, out| *out = row as f32);
        assert_eq!(y, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -1.0, -1.0]);
        let mut y = [-1.0; 11];
        for_each_chunk_init(&mut y, 3, work, || 10, |ten, i, chunk| chunk.fill((*ten + i) as f32));
        assert_eq!(y, [10.0, 10.0, 10.0, 11.0, 11.0, 11.0, 12.0, 12.0, 12.0, -1.0, -1.0]);
    }
}

#[test]
fn a_team_that_has_not_run_is_in_time() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        init_gemv_pool();
        assert_eq!((init_cpu_pool(), init_cpu_pool()), (Some(3), None));
    });
}

#[test]
fn a_region_that_was_forked_comes_before() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        cpus::global().broadcast(|_| ());
        assert_eq!(init_cpu_pool(), None);
    });
}

#[test]
fn a_region_of_one_slot_comes_before() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        rowpool::global().for_each_index(1, |_| ());
        assert_eq!(init_cpu_pool(), None);
    });
}
