//! The environment of the drop-in module: each test has a process of its own.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

use rowpool::threads::{
    gemv_num_threads, perf_core_count, resolve_cpu_threads, resolve_gemv_threads,
};
use std::ffi::OsString;

/// The width settings, strongest first.
const SETTINGS: [&str; 4] =
    ["ROWPOOL_NUM_THREADS", "FERROX_GEMV_THREADS", "FERROX_CPU_THREADS", "RAYON_NUM_THREADS"];

/// Sets or removes one of them. The child has one test thread, and nothing
/// else reads its environment meanwhile.
fn set(name: &str, value: Option<&OsString>) {
    match value {
        Some(value) => std::env::set_var(name, value),
        None => std::env::remove_var(name),
    }
}

/// Values and what they are taken for; `None`: as if absent.
fn values() -> Vec<(OsString, Option<usize>)> {
    let good = ["1", "7", "+5", " 12\t", "\n3 ", "007", "100000"].map(|text| {
        (text.into(), text.trim().parse::<usize>().ok().filter(|n| (1..=100_000).contains(n)))
    });
    let bad = [
        "",
        " ",
        "0",
        "+0",
        "00",
        "-1",
        "+",
        "0x4",
        "4.0",
        "4 4",
        "4,",
        "four",
        "\u{664}",
        "1e3",
        "18446744073709551616",
    ];
    let bad = bad.map(|text| (text.into(), None));
    #[cfg(unix)]
    let no_text = {
        use std::os::unix::ffi::OsStringExt;
        [(OsString::from_vec(vec![b'4', 0xff]), None)]
    };
    #[cfg(not(unix))]
    let no_text = [];
    assert!(good.iter().all(|(_, width)| width.is_some()));
    good.into_iter().chain(bad).chain(no_text).collect()
}

#[test]
fn each_value_at_each_place() {
    bounded!();
    isolated!().run(|| {
        for (value, width) in values() {
            for (place, name) in SETTINGS.into_iter().enumerate() {
                set(name, Some(&value));
                let weaker = if place == 3 { None } else { Some("9".into()) };
                if place < 3 {
                    set("RAYON_NUM_THREADS", weaker.as_ref());
                }
                let fallback = if place < 3 { 9 } else { perf_core_count() };
                let expected = width.unwrap_or(fallback);
                assert_eq!(resolve_gemv_threads(), expected, "{name}={value:?}");
                let of_cpu = if name == "FERROX_GEMV_THREADS" { 9 } else { expected };
                assert_eq!(resolve_cpu_threads(), of_cpu, "{name}={value:?}");
                if place > 0 {
                    assert_eq!(
                        resolve_gemv_threads(),
                        ferrox_core::threads::resolve_gemv_threads()
                    );
                    assert_eq!(resolve_cpu_threads(), ferrox_core::threads::resolve_cpu_threads());
                }
                SETTINGS.into_iter().for_each(|name| set(name, None));
            }
        }
    });
}

/// All combinations of absent, bad and good settings, read afresh each time.
#[test]
fn the_first_good_setting_wins() {
    bounded!();
    isolated!().run(|| {
        for combination in 0..3usize.pow(4) {
            let state = |place: usize| combination / 3usize.pow(place as u32) % 3;
            for (place, name) in SETTINGS.into_iter().enumerate() {
                let value = match state(place) {
                    0 => None,
                    1 => Some("-2".into()),
                    _ => Some((place + 2).to_string().into()),
                };
                set(name, value.as_ref());
            }
            let first = |places: &[usize]| {
                let place = places.iter().copied().find(|&place| state(place) == 2);
                place.map_or_else(perf_core_count, |place| place + 2)
            };
            assert_eq!(resolve_gemv_threads(), first(&[0, 1, 2, 3]), "{combination}");
            assert_eq!(resolve_cpu_threads(), first(&[0, 2, 3]), "{combination}");
            if state(0) == 0 {
                assert_eq!(resolve_gemv_threads(), ferrox_core::threads::resolve_gemv_threads());
                assert_eq!(resolve_cpu_threads(), ferrox_core::threads::resolve_cpu_threads());
            }
        }
    });
}

/// The width is that of the first use, whatever is set later.
#[test]
fn asking_for_the_width_builds_the_team() {
    bounded!();
    isolated!().env("FERROX_GEMV_THREADS", "3").run(|| {
        #[cfg(target_os = "linux")]
        assert!(common::tasks::named("rowpool-").is_empty());
        assert_eq!(gemv_num_threads(), 3);
        #[cfg(target_os = "linux")]
        common::tasks::await_named("rowpool-", 2);
        std::env::set_var("FERROX_GEMV_THREADS", "5");
        assert_eq!(resolve_gemv_threads(), 5);
        assert_eq!(gemv_num_threads(), 3);
        rowpool::threads::init_gemv_pool();
        assert_eq!(gemv_num_threads(), 3);
        assert_eq!(rowpool::global().num_threads(), 3);
    });
}

#[test]
fn init_gemv_pool_builds_the_team() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "4").env("FERROX_GEMV_THREADS", "3").run(|| {
        rowpool::threads::init_gemv_pool();
        #[cfg(target_os = "linux")]
        common::tasks::await_named("rowpool-", 3);
        std::env::remove_var("ROWPOOL_NUM_THREADS");
        assert_eq!(gemv_num_threads(), 4, "ROWPOOL_NUM_THREADS comes first");
    });
}

#[test]
fn no_setting_means_the_machine() {
    bounded!();
    isolated!().run(|| {
        assert_eq!(gemv_num_threads(), perf_core_count());
        assert_eq!(perf_core_count(), ferrox_core::threads::perf_core_count());
    });
}

#[test]
fn a_huge_width_is_clamped_with_a_warning() {
    bounded!();
    let huge = usize::MAX.to_string();
    isolated!().env("FERROX_GEMV_THREADS", huge).run(|| {
        common::record_logs();
        assert_eq!(resolve_gemv_threads(), usize::MAX);
        assert_eq!(common::warnings(), [""; 0], "asking builds nothing");
        assert_eq!(gemv_num_threads(), 512);
        let warnings = common::warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("512"), "{warnings:?}");
        let mut y = vec![0.0; 1000];
        rowpool::threads::for_each_row(&mut y, 1000, 1000, |row, out| *out = row as f32);
        assert!(y.iter().enumerate().all(|(row, &out)| out == row as f32));
    });
}

/// The builder clamps the default width too, but refuses an explicit one.
#[test]
fn the_builders_default_width_is_clamped() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "513").run(|| {
        common::record_logs();
        assert_eq!(rowpool::Pool::new(0).unwrap().num_threads(), 512);
        assert_eq!(common::warnings().len(), 1);
        assert!(rowpool::Pool::new(513).is_err());
        assert_eq!(common::warnings().len(), 1);
    });
}

#[test]
fn dedicated_has_nothing_to_choose() {
    for value in ["1", "true", "on", "0", ""] {
        bounded!();
        let child = isolated!().env("FERROX_GEMV_DEDICATED", value).env("RAYON_NUM_THREADS", "2");
        child.run(|| {
            let mut y = vec![0.0; 1000];
            rowpool::threads::for_each_row(&mut y, 1000, 1000, |row, out| *out = row as f32);
            assert!(y.iter().enumerate().all(|(row, &out)| out == row as f32));
            assert_eq!(gemv_num_threads(), 2);
            #[cfg(target_os = "linux")]
            common::tasks::await_named("rowpool-", 1);
        });
    }
}

/// Off macOS there are no classes, and nothing to say about them.
#[test]
#[cfg(not(target_vendor = "apple"))]
fn qos_is_silent_here() {
    use rowpool::threads::current_qos_name;

    bounded!();
    let output = isolated!().env("FERROX_QOS_LOG", "1").env("FERROX_GEMV_THREADS", "3").run(|| {
        assert_eq!(current_qos_name(), None);
        assert_eq!(rowpool::threads::init_cpu_pool(), Some(3));
        rowpool::global().run(3, |_| assert_eq!(current_qos_name(), None));
    });
    if let Some(output) = output {
        let said = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("->"));
    }
}

/// With an endless window workers stay up; every other value lets them park.
#[test]
#[cfg(target_os = "linux")]
fn the_spin_window() {
    use common::tasks;

    fn workers() -> Vec<tasks::Task> {
        assert_eq!(gemv_num_threads(), 3);
        common::on_all_threads(rowpool::global(), |_| ());
        tasks::await_named("rowpool-", 2)
    }

    bounded!();
    for value in ["0", "50", " 300\n", "-3", "fast", ""] {
        isolated!().env("ROWPOOL_SPIN_US", value).env("ROWPOOL_NUM_THREADS", "3").run(|| {
            tasks::await_asleep(&workers());
        });
    }
    isolated!().env("ROWPOOL_SPIN_US", "3600000000").env("ROWPOOL_NUM_THREADS", "3").run(|| {
        // A hundred looks in no less than 0.1 s: with any usual window they
        // would sleep by then.
        let workers = workers();
        for _ in 0..100 {
            tasks::nap();
            assert!(!workers.iter().any(tasks::Task::asleep));
        }
    });
}
