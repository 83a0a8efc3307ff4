//! rowpool: the fork-join runtime for CPU inference engines.

#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]

pub mod topology;
