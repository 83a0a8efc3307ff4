//! Tests of `src/config.rs`, inside of it.

use super::*;

fn with<'a>(vars: &'a [(&'a str, &'a str)]) -> impl Lookup + 'a {
    move |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
}

fn gemv(vars: &[(&str, &str)]) -> Option<usize> {
    gemv_threads(with(vars)).map(|setting| setting.threads)
}

#[test]
fn the_first_good_value_wins() {
    let all = [
        ("ROWPOOL_NUM_THREADS", "2"),
        ("FERROX_GEMV_THREADS", "3"),
        ("FERROX_CPU_THREADS", "4"),
        ("RAYON_NUM_THREADS", "5"),
    ];
    for from in 0..4 {
        assert_eq!(gemv(&all[from..]), Some(from + 2));
    }
    assert_eq!(gemv(&[]), None);
    assert_eq!(cpu_threads(with(&all[1..])).map(|s| s.threads), Some(4), "not the GEMV's");
    assert_eq!(cpu_threads(with(&all)).map(|s| s.name), Some("ROWPOOL_NUM_THREADS"));
}

#[test]
fn bad_values_fall_through() {
    for bad in ["", " ", "0", "-1", "0x4", "four", "18446744073709551616", "4.0", "4 4"] {
        let vars = [("FERROX_GEMV_THREADS", bad), ("RAYON_NUM_THREADS", " +5\n")];
        assert_eq!(gemv(&vars), Some(5), "{bad:?}");
    }
}

#[test]
#[cfg(unix)]
fn bad_bytes_fall_through() {
    use std::os::unix::ffi::OsStringExt;
    let lookup = |name: &str| match name {
        "FERROX_GEMV_THREADS" => Some(OsString::from_vec(vec![b'4', 0xff])),
        "FERROX_CPU_THREADS" => Some("6".into()),
        _ => None,
    };
    assert_eq!(gemv_threads(lookup).map(|s| s.threads), Some(6));
}

#[test]
fn switches_are_off_unless_set() {
    let set = |name, text| pin(with(&[(name, text)]));
    assert!(set("ROWPOOL_PIN", "1") && set("ROWPOOL_PIN", " on ") && set("ROWPOOL_PIN", "true"));
    assert!(!set("ROWPOOL_PIN", "0") && !set("ROWPOOL_PIN", "") && !set("OTHER", "1"));
    let keep = |text| keep_caller_qos(with(&[("ROWPOOL_CALLER_QOS", text)]));
    assert!(keep("keep") && !keep("raise") && !keep(""));
}

#[test]
fn the_window_is_in_microseconds() {
    let window = |text| spin_window(with(&[("ROWPOOL_SPIN_US", text)]));
    assert_eq!(window("250"), Some(Duration::from_micros(250)));
    assert_eq!(window(" 0 "), Some(Duration::ZERO));
    assert_eq!((window(""), window("-3"), window("fast")), (None, None, None));
}
