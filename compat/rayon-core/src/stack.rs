//! How much stack the calling thread has left, where the system tells.

/// What a caller must have to run a pool's work itself: most of what a thread
/// of Rust's default size has.
const ENOUGH: usize = 1 << 20;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn suffices() -> bool {
    use std::cell::Cell;
    thread_local! {
        /// The lowest address of this thread's stack; 0 before the first look.
        static LOWEST: Cell<usize> = const { Cell::new(0) };
    }
    let here = 0u8;
    let here = (&raw const here).addr();
    let mut lowest = LOWEST.get();
    if lowest == 0 {
        lowest = lowest_address().unwrap_or(1);
        LOWEST.set(lowest);
    }
    here.saturating_sub(lowest) >= ENOUGH
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn lowest_address() -> Option<usize> {
    // SAFETY: plain data, which the call fills in.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are read only if they were filled in, and
    // destroyed then.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let known = libc::pthread_attr_getstack(&attributes, &raw mut lowest, &raw mut size) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        known.then_some(lowest.addr())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn suffices() -> bool {
    let _ = ENOUGH;
    true
}
