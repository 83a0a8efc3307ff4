//! The life of a pool's own thread.

use crate::lease;
use crate::registry::Registry;
use crate::seat::Seat;
use crate::unwind::AbortIfPanic;
use std::fmt;
use std::sync::Arc;

/// What a [spawn handler](crate::ThreadPoolBuilder::spawn_handler) makes a
/// thread of: it calls [`run`](Self::run) there.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    registry: Arc<Registry>,
    index: usize,
}

impl ThreadBuilder {
    pub(crate) fn new(
        name: Option<String>,
        stack_size: Option<usize>,
        registry: Arc<Registry>,
        index: usize,
    ) -> Self {
        ThreadBuilder { name, stack_size, registry, index }
    }

    /// The index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that was asked for, if any.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size in bytes that was asked for, if any.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool, and returns when the pool has ended.
    pub fn run(self) {
        let ThreadBuilder { registry, index, .. } = self;
        let seat = registry.seat(index);
        let handlers = registry.handlers();
        let resident = index == 0 && registry.lends();
        if !resident {
            // SAFETY: this is the one thread of this index, and it has a share
            // of the registry.
            unsafe { Seat::set_current(Some(seat)) };
            registry.has_started();
        }
        if let Some(start) = &handlers.start {
            registry.report_panic(|| start(index));
        }
        let guard = AbortIfPanic;
        match resident {
            true => serve_lent_seat(seat),
            false => seat.idle(&seat.stop),
        }
        std::mem::forget(guard);
        if let Some(exit) = &handlers.exit {
            registry.report_panic(|| exit(index));
        }
        // SAFETY: this thread uses the seat no more.
        unsafe { Seat::set_current(None) };
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// The thread of a seat that callers from outside take: it comes when it is
/// called, and leaves when there is nothing more to do, or callers would find
/// the seat taken by somebody who only waits.
fn serve_lent_seat(seat: &Seat) {
    while seat.bell.wait_for_call(&seat.stop) {
        // SAFETY: who calls has taken the seat for this thread.
        unsafe { Seat::set_current(Some(seat)) };
        while let Some(job) = seat.find() {
            seat.registry().pass_on();
            seat.execute(job);
        }
        // SAFETY: this thread uses the seat no more.
        unsafe { Seat::set_current(None) };
        lease::leave(seat);
    }
}
