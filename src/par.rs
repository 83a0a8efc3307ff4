//! Shapes as free functions, on the process-wide pool ([`global`](crate::global)):
//! those that take the place of a function of ferrox's `par` or of a chain of
//! rayon's (see the tables in `docs/MOVING.md`), under the name that they have on
//! [`Pool`](crate::Pool). All other shapes, and work hints, are on the pool:
//! `rowpool::global().with_work(cols).for_each_row(..)`.
//!
//! ```
//! use rowpool::par;
//! let mut y = vec![0.0f32; 192];
//! par::for_each_row(&mut y, |row, out| *out = row as f32 / 2.0);
//! assert_eq!(y[191], 95.5);
//! assert_eq!(par::map_collect(3, |i| i * i), [0, 1, 4]);
//! ```

#[doc(inline)]
pub use crate::shapes::{
    chunks::{for_each_chunk, for_each_chunk_init},
    collect::{map_collect, try_map_collect},
    indices::{for_each_index, for_each_index_init},
    join::{join, join3},
    pairs::for_each_chunk2,
    reduce::reduce,
    rows::for_each_row,
};
