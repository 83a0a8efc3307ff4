//! rayon-core's names over a pool that hands halves out along a static tree, as
//! rowpool's regions are, and steals only where somebody idles.
//!
//! Programs do not name this package: they patch it in below an unmodified
//! rayon. See the README for how, and for what differs.
//!
//! A `join` at the root of a thread's range of workers posts its second half
//! into the letter box ([`mail`]) of the worker in the middle of the range, and
//! runs the first with the range halved; below that, where the range is one
//! worker, halves lie on a deque for whoever has nothing to do ([`seat`]). A
//! caller from outside takes the seat of worker 0 for its time ([`lease`]); the
//! other seats of the global pool are held by rowpool's workers ([`host`]).

#![deny(unsafe_op_in_unsafe_fn, missing_docs, clippy::undocumented_unsafe_blocks)]
#![allow(rustdoc::private_intra_doc_links)]
// The models use what they are about.
#![cfg_attr(loom, allow(dead_code))]

mod bell;
mod latch;
mod mail;
mod sync;

#[cfg(loom)]
#[doc(hidden)]
pub mod model;

#[cfg(not(loom))]
mod broadcast;
#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
mod configuration;
#[cfg(not(loom))]
mod count_latch;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod global;
#[cfg(not(loom))]
mod host;
#[cfg(not(loom))]
mod job;
#[cfg(not(loom))]
mod join;
#[cfg(not(loom))]
mod lease;
#[cfg(not(loom))]
mod patience;
#[cfg(not(loom))]
mod registry;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
mod seat;
#[cfg(not(loom))]
mod spawn;
#[cfg(not(loom))]
mod spin_latch;
#[cfg(not(loom))]
mod stack;
#[cfg(not(loom))]
mod thread_pool;
#[cfg(not(loom))]
mod unwind;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
mod face {
    pub use crate::broadcast::{broadcast, spawn_broadcast, BroadcastContext};
    pub use crate::builder::ThreadPoolBuilder;
    #[allow(deprecated)]
    pub use crate::configuration::{initialize, Configuration};
    pub use crate::error::ThreadPoolBuildError;
    pub use crate::join::{join, join_context};
    pub use crate::scope::{
        in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo,
    };
    pub use crate::spawn::{spawn, spawn_fifo};
    pub use crate::thread_pool::{
        current_thread_has_pending_tasks, current_thread_index, yield_local, yield_now, ThreadPool,
        Yield,
    };
    pub use crate::worker::ThreadBuilder;

    /// The most threads that a pool may have.
    ///
    /// ```
    /// assert!(rayon_core::max_num_threads() >= rayon_core::current_num_threads());
    /// ```
    pub fn max_num_threads() -> usize {
        match usize::BITS {
            64.. => 0xffff,
            _ => 0xff,
        }
    }

    /// How many threads this thread's pool has, or the global one.
    ///
    /// ```
    /// assert!(rayon_core::current_num_threads() >= 1);
    /// ```
    pub fn current_num_threads() -> usize {
        match crate::seat::Seat::current() {
            Some(seat) => seat.registry().num_threads(),
            None => crate::global::global().num_threads(),
        }
    }

    /// What [`join_context`] tells its closures.
    #[derive(Debug)]
    pub struct FnContext {
        migrated: bool,
        /// It stays on its thread.
        _here: std::marker::PhantomData<*mut ()>,
    }

    impl FnContext {
        #[inline]
        pub(crate) fn new(migrated: bool) -> Self {
            FnContext { migrated, _here: std::marker::PhantomData }
        }

        /// Whether the closure runs on another thread than the one that called,
        /// or the call came from outside of the pool.
        #[inline]
        pub fn migrated(&self) -> bool {
            self.migrated
        }
    }
}

#[cfg(not(loom))]
pub use face::*;
