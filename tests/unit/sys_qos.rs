//! Tests of `src/sys/qos.rs`, inside of it.

use super::*;

#[test]
fn callers_below_user_initiated_are_raised() {
    for (class, name_, raise) in [
        (0x21, "user-interactive", false),
        (0x19, "user-initiated", false),
        (0x15, "default", true),
        (0x11, "utility", true),
        (0x09, "background", true),
        (0x00, "unspecified", true),
    ] {
        assert_eq!((name(class), raised(class).is_some()), (name_, raise));
    }
    assert_eq!(raised(0x09), Some(0x19));
}
