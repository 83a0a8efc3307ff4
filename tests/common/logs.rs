//! What the library says to `log`.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::Mutex;

struct Recorder(Mutex<Vec<(Level, String)>>);

static RECORDER: Recorder = Recorder(Mutex::new(Vec::new()));

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

/// From now on this process's log is recorded.
pub fn record_logs() {
    log::set_logger(&RECORDER).expect("the first logger");
    log::set_max_level(LevelFilter::Trace);
}

/// The warnings and errors so far.
pub fn warnings() -> Vec<String> {
    let all = RECORDER.0.lock().unwrap();
    all.iter().filter(|(level, _)| *level <= Level::Warn).map(|(_, text)| text.clone()).collect()
}
