//! rowpool: the fork-join runtime for CPU inference engines.

#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]

mod config;
mod shapes;
mod global;
mod machine;
mod partition;
mod pool;
mod rows;
mod sync;
mod sys;
pub mod threads;
pub mod topology;

pub use global::global;
pub use pool::{BuildError, Pool, PoolBuilder, ThreadName};
pub use rows::Work;
