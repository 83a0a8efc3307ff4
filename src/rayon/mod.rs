//! rayon's names over rowpool: what engines use of rayon, source-compatible.
//!
//! `use rowpool::rayon::prelude::*` moves one file; a line of
//! `[patch.crates-io]` moves a whole engine with the crates below it:
//! `docs/MOVING.md` has both.
//!
//! ```
//! use rowpool::rayon::prelude::*;
//!
//! let (rows, cols) = (1000, 576);
//! let (w, x) = (vec![0.5f32; rows * cols], vec![2.0f32; cols]);
//! let mut y = vec![0.0f32; rows];
//! y.par_iter_mut().zip(w.par_chunks(cols)).for_each(|(out, row)| {
//!     *out = row.iter().zip(&x).map(|(w, x)| w * x).sum();
//! });
//! assert_eq!(y[999], 576.0);
//! ```
//!
//! # What is different from rayon
//!
//! - **The caller takes part**: it runs the first part of each loop itself, and
//!   `install`, `scope` and `join` do not move to another thread.
//! - **Static parts, no stealing.** A loop is one region, cut beforehand into
//!   one contiguous range per thread. `with_max_len` has no effect. Items of
//!   very unequal cost, recursion by `join`, and loops inside loops are what a
//!   stealing pool does better: here the former are as slow as the slowest part,
//!   and the latter run inline.
//! - **Nothing may wait for a neighbour**: no barriers or channels between items
//!   or spawned closures. One thread may run them one after another.
//! - Scratch (`for_each_init`, `map_with`) is made once per part.
//! - Where several items fail, `try_for_each` and a collected `Result` report
//!   the one with the lowest index.
//!
//! # What is not there
//!
//! `spawn` outside of a scope, `broadcast`, `par_bridge`, `par_sort`, strings,
//! maps and sets as sources, adapters that move positions (`rev`, `chain`,
//! `skip`, `take`, `step_by`, `chunks`), and iterators of one's own
//! (`iter::plumbing`): what is missing does not compile, nothing behaves
//! differently behind one's back.
//!
//! # Why written here
//!
//! paralight's iterators run on any pool that implements its (unsafe)
//! `GenericThreadPool`, and a static pool like this one could. But they are a
//! trait family of its own, in which each chain names its pool
//! (`with_thread_pool`), so that code which says `par_iter().for_each(..)` or
//! `impl IndexedParallelIterator` would not compile, and no patched `rayon` could
//! be made of it. A second layer of rayon's traits over its sources would be as
//! long as these iterators are over [`Pool::for_each_range`](crate::Pool), whose
//! parts are the serial iterators of the standard library, with the unsafe code
//! in one file.

pub mod iter;
pub mod prelude;
pub mod range;
pub mod slice;
pub mod vec;

mod join;
mod thread_pool;

mod raw;
mod region;

pub use join::{in_place_scope, join, scope, Scope};
pub use region::{current_num_threads, current_thread_index, max_num_threads};
pub use thread_pool::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
