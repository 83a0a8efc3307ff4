//! Parallel iterators with rayon's names.
//!
//! Each runs as one region: its positions are cut into as many contiguous
//! ranges as the pool is wide, and each part is worked off in order on one
//! thread. What depends on the cut, such as the sum of floats or the number of
//! values that a `fold` gives, is the same for the same width.

mod adapters;
mod collect;
mod convert;
mod gather;
mod indexed;
mod outcome;
mod parallel;

pub use adapters::{
    Cloned, Copied, Enumerate, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    Inspect, Map, MapInit, MapWith, MaxLen, MinLen, Zip,
};
pub use collect::{FromParallelIterator, ParallelExtend};
pub use convert::{IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator};
pub use indexed::IndexedParallelIterator;
pub use parallel::ParallelIterator;
