//! Where the scheduler has put a worker: not on its caller's CPU.
//!
//! Beside a busy thread that is not bound, even one of low priority, the system
//! may leave worker and caller on one CPU and that thread alone on the other: its
//! balance counts threads, not what they are about. Each then waits for the other,
//! and the pool is as slow as serial code (MEASUREMENTS, "unbound neighbour"). So
//! a worker that has stalled its caller, was woken by it or has lost its slot to it
//! compares the two CPUs, and leaves if they are the same. Linux and Android only.

/// Whether a worker on CPU `own` is to leave it; `None` where a CPU is not known.
pub(crate) fn collides(own: Option<u32>, caller: Option<u32>) -> bool {
    own.is_some() && own == caller
}

#[cfg(test)]
#[path = "../../tests/unit/policy_placement.rs"]
mod tests;
