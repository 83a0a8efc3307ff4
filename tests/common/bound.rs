//! No test waits for ever.

use std::io::Write;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a test may take: far above what it needs, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(30);

/// A child's bound, so that it fails before the test that waits for it.
const LONGEST_IN_CHILD: Duration = Duration::from_secs(25);

/// Aborts the process unless it is dropped in time.
pub struct Bound {
    end: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

impl Bound {
    /// For the test `name`.
    pub fn new(name: &'static str) -> Self {
        let (end, ended) = channel();
        let bound = if super::child::is_child() { LONGEST_IN_CHILD } else { LONGEST };
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(bound) == Err(RecvTimeoutError::Timeout) {
                // Not by `eprintln`, which libtest captures and an abort loses.
                let _ =
                    writeln!(std::io::stderr(), "\ntest {name} hangs: not over after {bound:?}");
                std::process::abort();
            }
        });
        Bound { end: Some(end), watch: Some(watch) }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
    }
}
