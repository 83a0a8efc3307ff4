//! The traits, for `use rowpool::rayon::prelude::*`.

pub use super::iter::{
    FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelExtend, ParallelIterator,
};
pub use super::slice::{ParallelSlice, ParallelSliceMut};
