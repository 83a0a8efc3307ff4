//! Apple's Quality-of-Service classes (`sys/qos.h`), as numbers and names: pure,
//! so that what is decided over them is tested on every system.

/// For threads that a user waits for.
pub(crate) const USER_INTERACTIVE: u32 = 0x21;
/// For work that a user has started.
const USER_INITIATED: u32 = 0x19;

/// The class in words.
pub(crate) fn name(class: u32) -> &'static str {
    match class {
        USER_INTERACTIVE => "user-interactive",
        USER_INITIATED => "user-initiated",
        0x15 => "default",
        0x11 => "utility",
        0x09 => "background",
        _ => "unspecified",
    }
}

/// The class that a caller should be raised to; `None` where it is good enough.
pub(crate) fn raised(class: u32) -> Option<u32> {
    (class < USER_INITIATED).then_some(USER_INITIATED)
}

#[cfg(test)]
mod tests {
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
}
