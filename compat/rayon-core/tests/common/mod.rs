//! What the tests share.
#![allow(dead_code)]

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

/// Runs a test that might hang, for 30 s at most.
pub fn bounded<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || {
        let result = test();
        let _ = done.send(());
        result
    });
    if wait.recv_timeout(Duration::from_secs(30)) == Err(RecvTimeoutError::Timeout) {
        panic!("it hangs");
    }
    match thread.join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

pub fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// Long enough for workers to fall asleep; nothing depends on it but what the
/// test reaches.
pub fn let_workers_sleep() {
    std::thread::sleep(Duration::from_millis(5));
}

/// The text of a panic.
pub fn message(result: std::thread::Result<impl Sized>) -> &'static str {
    match result {
        Ok(_) => "no panic",
        Err(payload) => {
            payload.downcast_ref::<&'static str>().copied().unwrap_or("another payload")
        }
    }
}

/// Calls `leaf` for each of `0..count`, by a binary tree of joins.
pub fn tree(from: usize, to: usize, leaf: &(impl Fn(usize) + Sync)) {
    match to - from {
        0 => {}
        1 => leaf(from),
        count => {
            let middle = from + count / 2;
            rayon_core::join(|| tree(from, middle, leaf), || tree(middle, to, leaf));
        }
    }
}

/// Which thread has an index at a time.
pub struct Holders(Vec<AtomicUsize>);

impl Holders {
    pub fn new(threads: usize) -> Self {
        Holders((0..threads).map(|_| AtomicUsize::new(0)).collect())
    }

    /// The calling thread has this index, and no other thread has.
    pub fn check(&self, index: usize) {
        let holder = &self.0[index];
        match holder.compare_exchange(0, token(), SeqCst, SeqCst) {
            Ok(_) => {
                std::thread::yield_now();
                assert_eq!(holder.swap(0, SeqCst), token());
            }
            // A thread may meet itself: it works while it waits.
            Err(other) => assert_eq!(other, token()),
        }
    }
}

/// A number of this thread, not 0.
fn token() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    thread_local! {
        static TOKEN: usize = NEXT.fetch_add(1, SeqCst);
    }
    TOKEN.with(|token| *token)
}
