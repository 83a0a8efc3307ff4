//! No test waits for ever.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a test may take: far above what it needs, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(30);

/// A child's bound, so that it fails before the test that waits for it.
const LONGEST_IN_CHILD: Duration = Duration::from_secs(25);

/// Where a test is.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Begins,
    Watched,
    Over,
}

/// Aborts the process unless it is dropped in time: 30 s, more under emulation.
pub struct Bound {
    phase: Arc<(Mutex<Phase>, Condvar)>,
    watch: Option<JoinHandle<()>>,
}

impl Bound {
    /// For the test `name`. The watching thread has started when this returns,
    /// and does nothing that a test could notice until its end.
    pub fn new(name: &'static str) -> Self {
        let phase = Arc::new((Mutex::new(Phase::Begins), Condvar::new()));
        let bound = if super::child::is_child() { LONGEST_IN_CHILD } else { LONGEST };
        let bound = bound * super::child::slowness();
        let watched = Arc::clone(&phase);
        let watch = std::thread::spawn(move || {
            let (phase, changed) = &*watched;
            let mut now = phase.lock().unwrap();
            *now = Phase::Watched;
            changed.notify_all();
            let not_over = |now: &mut Phase| *now != Phase::Over;
            if changed.wait_timeout_while(now, bound, not_over).unwrap().1.timed_out() {
                // Not by `eprintln`, which libtest captures and an abort loses.
                let mut out = std::io::stderr();
                let _ = writeln!(out, "\ntest {name} hangs: not over after {bound:?}");
                std::process::abort();
            }
        });
        let begins = |now: &mut Phase| *now == Phase::Begins;
        drop(phase.1.wait_while(phase.0.lock().unwrap(), begins).unwrap());
        Bound { phase, watch: Some(watch) }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        *self.phase.0.lock().unwrap() = Phase::Over;
        self.phase.1.notify_all();
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
    }
}
