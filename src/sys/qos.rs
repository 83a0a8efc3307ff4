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
#[path = "../../tests/unit/sys_qos.rs"]
mod tests;
