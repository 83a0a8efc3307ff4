//! rowpool under rayon's name: `[patch.crates-io] rayon = { path = ".." }` moves
//! a program, and all crates below it, from rayon to rowpool.

pub use rowpool::rayon::*;
