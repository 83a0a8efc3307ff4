//! `init_cpu_pool`, and who comes first (S19): each test has processes of its
//! own.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

use rowpool::threads::{for_each_chunk_init, for_each_row, gemv_num_threads, init_cpu_pool};
use std::sync::Barrier;

fn region() {
    let mut y = vec![0.0; 1000];
    for_each_row(&mut y, 1000, 256, |row, out| *out = row as f32);
    assert!(y.iter().enumerate().all(|(row, &out)| out == row as f32));
}

#[test]
fn s19_some_once() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").env("FERROX_CPU_THREADS", "5").run(|| {
        common::record_logs();
        assert_eq!(init_cpu_pool(), Some(3), "the team's width, which is the GEMV's");
        assert_eq!(init_cpu_pool(), None);
        region();
        assert_eq!(init_cpu_pool(), None);
        assert_eq!(gemv_num_threads(), 3);
        assert_eq!(common::warnings(), [""; 0], "silent");
    });
}

#[test]
fn s19_none_after_a_region() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        region();
        assert_eq!(init_cpu_pool(), None);
        assert_eq!(gemv_num_threads(), 3);
    });
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        for_each_chunk_init(&mut [0.0; 1000], 10, 2560, || (), |(), _, _| ());
        assert_eq!(init_cpu_pool(), None);
    });
}

/// The global pool is the team: its regions count, however they were opened.
#[test]
fn s19_none_after_a_region_of_the_global_pool() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        rowpool::global().for_each_index(100, |_| ());
        assert_eq!(init_cpu_pool(), None);
    });
}

/// Also those that found one CPU only.
#[test]
fn s19_none_after_a_serial_region_of_the_global_pool() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "1").run(|| {
        rowpool::global().for_each_index(100, |_| ());
        assert_eq!(init_cpu_pool(), None);
    });
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        let one = rowpool::topology::Topology::new(1);
        let pool = rowpool::Pool::builder().topology(one).build_global().unwrap();
        assert_eq!((pool.num_threads(), pool.active_width()), (3, 1));
        pool.for_each_index(100, |_| ());
        assert_eq!(init_cpu_pool(), None);
    });
}

/// Work below the gate uses no pool, in the original neither.
#[test]
fn s19_serial_work_uses_up_nothing() {
    bounded!();
    isolated!().env("FERROX_CPU_THREADS", "3").run(|| {
        use ferrox_core::threads as original;
        for_each_row(&mut [0.0; 1000], 1000, 255, |_, _| ());
        for_each_chunk_init(&mut [0.0; 1000], 10, 2559, || (), |(), _, _| ());
        original::for_each_row(&mut [0.0; 1000], 1000, 255, |_, _| ());
        assert_eq!((init_cpu_pool(), original::init_cpu_pool()), (Some(3), Some(3)));
        assert_eq!((init_cpu_pool(), original::init_cpu_pool()), (None, None));
    });
}

/// Building the team by its width is no region and no `init_cpu_pool`.
#[test]
fn s19_some_after_init_gemv_pool() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        rowpool::threads::init_gemv_pool();
        assert_eq!(gemv_num_threads(), 3);
        assert_eq!(init_cpu_pool(), Some(3));
        assert_eq!(init_cpu_pool(), None);
    });
}

#[test]
fn s19_two_threads_at_once() {
    bounded!();
    for _ in 0..10 {
        isolated!().env("FERROX_GEMV_THREADS", "2").run(|| {
            let start = Barrier::new(4);
            let init = || {
                start.wait();
                init_cpu_pool()
            };
            let mut answers = std::thread::scope(|scope| {
                let threads = [(); 4].map(|()| scope.spawn(init));
                threads.map(|thread| thread.join().unwrap())
            });
            answers.sort();
            assert_eq!(answers, [None, None, None, Some(2)]);
            region();
        });
    }
}

/// Regions and inits from many threads at once build one team.
#[test]
#[cfg(target_os = "linux")]
fn s19_first_use_from_many_threads() {
    bounded!();
    for _ in 0..5 {
        isolated!().env("FERROX_GEMV_THREADS", "4").run(|| {
            let start = Barrier::new(6);
            std::thread::scope(|scope| {
                for thread in 0..6 {
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        match thread {
                            0 => assert!([None, Some(4)].contains(&init_cpu_pool())),
                            1 => rowpool::threads::init_gemv_pool(),
                            2 => assert!(rowpool::Pool::builder().build_global().is_ok()),
                            _ => region(),
                        }
                    });
                }
            });
            assert_eq!(gemv_num_threads(), 4);
            common::tasks::await_named("rowpool-", 3);
        });
    }
}

#[test]
fn s19_build_global_first() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        common::record_logs();
        let wide = || rowpool::Pool::builder().width(5);
        let pool = wide().build_global().unwrap();
        assert_eq!(pool.num_threads(), 5);
        assert!(std::ptr::eq(pool, rowpool::global()));
        assert_eq!(gemv_num_threads(), 5);
        // Again: what there is stays, silently; its width can be asked.
        let again = rowpool::Pool::builder().width(2).build_global().unwrap();
        assert!(std::ptr::eq(pool, again));
        assert_eq!(again.num_threads(), 5);
        assert_eq!(init_cpu_pool(), Some(5), "no region so far");
        region();
        assert_eq!(common::warnings(), [""; 0]);
    });
}

#[test]
fn s19_build_global_too_late_or_wrong() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        assert!(rowpool::Pool::builder().width(513).build_global().is_err());
        // An error leaves nothing behind.
        region();
        let pool = rowpool::Pool::builder().width(5).build_global().unwrap();
        assert_eq!(pool.num_threads(), 3);
    });
}
