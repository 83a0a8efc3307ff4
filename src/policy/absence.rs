//! What a policy may ask of a worker.

use std::time::Duration;

/// A worker is to go away between two slots, and to come back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    pub(crate) time: Duration,
    /// The width that regions have meanwhile, where it is to be narrower.
    pub(crate) width: Option<usize>,
}
