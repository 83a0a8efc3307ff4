// The README is the crate's page. Its links lead to files; the first definition
// of a link counts, so here they lead to items.
//! [`for_each_row`]: Pool::for_each_row
//! [`for_each_chunk`]: Pool::for_each_chunk
//! [`for_each_chunk_init`]: Pool::for_each_chunk_init
//! [`for_each_row2`]: Pool::for_each_row2
//! [`for_each_chunk2`]: Pool::for_each_chunk2
//! [`rows_of`]: Pool::rows_of
//! [`tiles`]: Pool::tiles
//! [`for_each_index`]: Pool::for_each_index
//! [`for_each_index_init`]: Pool::for_each_index_init
//! [`for_each_range`]: Pool::for_each_range
//! [`map_collect`]: Pool::map_collect
//! [`try_map_collect`]: Pool::try_map_collect
//! [`reduce`]: Pool::reduce
//! [`join`]: Pool::join
//! [`join3`]: Pool::join3
//! [`run`]: Pool::run
//! [`broadcast`]: Pool::broadcast
//! [`with_work`]: Pool::with_work
//! [`scope_steps`]: Pool::scope_steps
//! [`wake`]: Pool::wake
//! [`rest`]: Pool::rest
//! [`Pool::new`]: Pool::new
//! [`Pool::builder`]: Pool::builder
//! [`num_threads`]: Pool::num_threads
//! [`active_width`]: Pool::active_width
//! [`reason`]: Pool::reason
//! [`rowpool-gemv`]: https://docs.rs/rowpool-gemv
//! [`global`]: global()
//! [`topology`]: topology
//! [`threads`]: threads
//! [`cpu_pool`]: cpu_pool
//! [`par`]: par
//! [moving]: guide::moving
//! [measurements]: guide::measurements
//! [scenarios]: guide::scenarios
//! [protocol]: guide::protocol
//!
#![doc = include_str!("../README.md")]
#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]

// Imports run downwards in this list.
pub mod cpu_pool;
pub mod par;
pub mod threads;

mod global;

#[macro_use]
mod shapes;

mod pool;

mod policy;

mod machine;
pub mod topology;

mod config;
mod partition;
mod sys;

mod sync;

pub use global::global;
pub use policy::Policy;
#[cfg(loom)]
#[doc(hidden)]
pub use pool::model;
#[doc(hidden)]
pub use pool::Guest;
pub use pool::{BuildError, Pool, PoolBuilder, Work};
pub use shapes::Rows;

/// Pages of the repository, in its documentation alone.
#[cfg(doc)]
pub mod guide {
    #[doc = include_str!("../docs/MOVING.md")]
    pub mod moving {}
    #[doc = include_str!("../docs/MEASUREMENTS.md")]
    pub mod measurements {}
    #[doc = include_str!("../docs/SCENARIOS.md")]
    pub mod scenarios {}
    #[doc = include_str!("pool/PROTOCOL.md")]
    pub mod protocol {}
}
