//! The fork-join runtime that CPU inference engines use in place of rayon: one
//! persistent team of spinning-then-parking workers, rows split statically.
//!
//! One decoded token of a language model opens 150 to 240 parallel regions, each
//! a matrix times a vector of 5 to 200 µs. A work-stealing pool answers each
//! with a queue, a wake and a latch; a bare spin pool collapses when a thread
//! too many or a busy neighbour comes along, and burns idle cores. rowpool is
//! one pool for all of it: a hot region costs one cache-line round trip, a late
//! or sleeping worker costs nothing but its absence, since the caller runs its
//! rows, and an idle pool sleeps.
//!
//! ```
//! use rowpool::Pool;
//!
//! let (rows, cols) = (1000, 576);
//! let (w, x) = (vec![0.5f32; rows * cols], vec![2.0f32; cols]);
//! let mut y = vec![0.0f32; rows];
//!
//! let pool = Pool::new(0)?; // the width that fits this machine
//! pool.with_work(cols).for_each_row(&mut y, |row, out| {
//!     *out = w[row * cols..][..cols].iter().zip(&x).map(|(w, x)| w * x).sum();
//! });
//! assert_eq!(y[999], 576.0);
//! # Ok::<(), rowpool::BuildError>(())
//! ```
//!
//! # One fork
//!
//! ```text
//! caller          gate (a line per worker)                     worker i
//!   take the turn
//!   move it in ─▶ ┌───────────────────────┐ ◀── look ─────────  spinning
//!   publish ────▶ │ epoch, width │ region │ ──▶ epoch is new
//!   run slot 0    └───────────────────────┘     claim: older → epoch
//!     :                                           run slot i
//!   look ◀─────── │ report: epoch         │ ◀── report
//!   all in, or: late? claim it, run it here
//!   give the turn
//! ```
//!
//! Rows are never split and never move between slots, so results are bitwise
//! the same at every width.
//!
//! # When not to use it
//!
//! - Work that is not a loop over rows: no `spawn`, no stealing, and a `join`
//!   occupies two threads. Unequal rows are not balanced.
//! - Slots that wait for each other: the caller may run one after another.
//! - Many independent requests at once on few cores: one region runs at a time.
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `ROWPOOL_NUM_THREADS` | default width, before all the others |
//! | `FERROX_GEMV_THREADS`, `FERROX_CPU_THREADS`, `RAYON_NUM_THREADS` | default width, in this order |
//! | `ROWPOOL_SPIN_US` | how long workers spin after a region before they park, in µs (300, and less where nothing comes within that) |
//! | `ROWPOOL_PIN` | `1` binds workers to CPUs, one per physical core; never the caller |
//! | `ROWPOOL_CALLER_QOS` | `keep` leaves a macOS caller's scheduling class alone |
//! | `FERROX_QOS_LOG` | macOS: each worker prints its class before and after |
//! | `FERROX_GEMV_DEDICATED` | accepted; there is one team, so it chooses nothing |

#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]

// Imports run downwards in this list.
#[cfg(all(feature = "rayon-api", not(loom)))]
pub mod rayon;

pub mod cpu_pool;
pub mod gemv;
pub mod par;
pub mod threads;

mod global;

#[macro_use]
mod shapes;

mod pool;

mod machine;
pub mod topology;

mod config;
mod partition;
mod sys;

mod sync;

pub use global::global;
#[cfg(loom)]
#[doc(hidden)]
pub use pool::model;
pub use pool::{BuildError, Pool, PoolBuilder, ThreadName, Work};
pub use shapes::Rows;
