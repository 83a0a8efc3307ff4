//! Tests of `src/sys/fp.rs`, inside of it.

use super::*;

/// Flush-to-zero of this architecture.
#[cfg(target_arch = "x86_64")]
const FTZ: u32 = 1 << 15;
#[cfg(target_arch = "aarch64")]
const FTZ: u32 = 1 << 24;

#[test]
fn an_adopted_state_flushes_denormals() {
    let plain = State::current();
    let tiny = std::hint::black_box(f32::MIN_POSITIVE);
    assert_ne!(tiny * std::hint::black_box(0.5), 0.0, "denormals are kept at first");
    State(plain.0 | FTZ).adopt();
    let flushed = std::hint::black_box(tiny) * std::hint::black_box(0.5);
    plain.adopt();
    assert_eq!(flushed, 0.0);
    assert_eq!(State::current(), plain);
    assert_ne!(std::hint::black_box(tiny) * std::hint::black_box(0.5), 0.0);
}
