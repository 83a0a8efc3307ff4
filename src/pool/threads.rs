//! The threads of a pool: how they are named, and what each does before it looks
//! for its first region.

use super::context;
use super::team::Team;
use crate::machine::Binding;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// A name for the threads of a pool. Nobody outside needs to name the trait.
pub trait ThreadName {
    /// The name of the thread that owns `slot`.
    fn name(&self, slot: usize) -> String;
}

impl ThreadName for &str {
    fn name(&self, slot: usize) -> String {
        format!("{self}-{slot}")
    }
}

impl ThreadName for String {
    fn name(&self, slot: usize) -> String {
        self.as_str().name(slot)
    }
}

impl<F: Fn(usize) -> String> ThreadName for F {
    fn name(&self, slot: usize) -> String {
        self(slot)
    }
}

pub(super) type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// What the builder says of the threads.
#[derive(Default)]
pub(super) struct Threads {
    pub(super) name: Option<Box<dyn ThreadName>>,
    pub(super) stack_size: Option<usize>,
    pub(super) on_start: Option<Hook>,
    pub(super) keep_qos: bool,
    pub(super) inherit_priority: bool,
}

impl Threads {
    /// Starts the worker of `slot`.
    pub(super) fn spawn(
        &self,
        team: &Arc<Team>,
        slot: usize,
        binding: Binding,
    ) -> io::Result<JoinHandle<()>> {
        let name: &dyn ThreadName = self.name.as_deref().unwrap_or(&"rowpool");
        let mut thread = Builder::new().name(name.name(slot).replace('\0', "?"));
        if let Some(bytes) = self.stack_size {
            thread = thread.stack_size(bytes);
        }
        let team = Arc::clone(team);
        let hook = self.on_start.clone();
        let (raise, inherit) = (!self.keep_qos, self.inherit_priority);
        // From its first instruction on.
        let _blocked = crate::sys::BlockedForNew::new();
        thread.spawn(move || {
            context::mark_worker(Arc::as_ptr(&team) as usize);
            // A logger's panic, for one.
            caught(|| {
                if !inherit {
                    crate::sys::adopt_process_priority();
                }
                binding.apply(slot);
                if raise {
                    crate::sys::raise_worker_qos(slot);
                }
            });
            if let Some(hook) = hook {
                if !caught(|| hook(slot)) {
                    caught(|| log::error!("rowpool: on_worker_start({slot}) panicked"));
                }
                // The last owner drops what the hook has captured.
                caught(|| drop(hook));
            }
            team.work(slot - 1);
        })
    }
}

/// Runs what may panic and must not end the worker; whether it did not.
fn caught(f: impl FnOnce()) -> bool {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    // The payload's `Drop` may panic too.
    result.map_err(std::mem::forget).is_ok()
}
