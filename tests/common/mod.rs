//! What the tests of behaviour share. Each test binary uses a part of it.

#![allow(dead_code, unused_imports, unused_macros, reason = "every binary uses a part")]

mod bound;
mod checked;
mod child;
pub mod cpus;
mod logs;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub mod tasks;
mod threads;

pub use bound::Bound;
pub use checked::{cannot_check, is_root, pass_on};
pub use child::{done, slowness, Isolated};
pub use logs::{record_logs, warnings};
pub use threads::{on_all_threads, Latch, LatePool, Meeting};

/// The path of the function that it is written in, without the crate's name:
/// what libtest calls a test.
macro_rules! test_name {
    () => {{
        fn here() {}
        $crate::common::name_of(std::any::type_name_of_val(&here))
    }};
}

/// Aborts the process with the test's name where the test, from here to its
/// end, takes longer than 30 s: a hang is a failure, not a wait.
macro_rules! bounded {
    () => {
        let _bound = $crate::common::Bound::new(test_name!());
    };
}

/// A process of its own for the rest of this test: see [`Isolated`].
macro_rules! isolated {
    () => {
        $crate::common::Isolated::new(test_name!())
    };
}

/// Says on the terminal that a check cannot be made here, for want of something:
/// `cannot_check!("cgroup1-pids", "{error}")`. Panics where `.ci/run` has found
/// that this machine has it; else the test goes on, and usually returns. What is
/// wanted is one of `root`, `cpus` (two at least), `glibc`, `mounts` (a mount
/// namespace of one's own), `cgroup1-cpu`, `cgroup1-cpuset`, `cgroup1-pids`,
/// `cgroup2-cpu`.
macro_rules! cannot_check {
    ($need:expr, $($why:tt)+) => {
        $crate::common::cannot_check(concat!(file!(), ":", line!()), $need, &format!($($why)+))
    };
}

/// Hints: nothing at all, below the break-even, above it, beyond all bounds.
pub const HINTS: [usize; 4] = [0, 1, 10_000, usize::MAX];

/// Calls `$body` with the pool itself and with each of its views.
macro_rules! plain_and_with_work {
    ($pool:expr, |$view:ident| $body:expr) => {{
        let $view = $pool;
        $body;
        for $view in $crate::common::HINTS.map(|ops| $pool.with_work(ops)) {
            $body;
        }
    }};
}

/// Numbers of very different sizes, whose sums depend on the order of addition.
pub fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let size = 2f32.powi((state >> 28) as i32 * 4 - 30);
            ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * size
        })
        .collect()
}

/// `crate::module::test::here` without its first and last part.
pub fn name_of(here: &'static str) -> &'static str {
    let path = here.strip_suffix("::here").expect("made by `test_name!`");
    // A closure's path goes on behind the function's.
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_, name)| name)
}

/// One more.
pub fn tick(counter: &std::sync::atomic::AtomicUsize) {
    counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
}

/// The payload of the panic that `f` raises.
pub fn panic_of(f: impl FnOnce()) -> Box<dyn std::any::Any + Send> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(()) => panic!("no panic was raised"),
        Err(payload) => payload,
    }
}

/// The text of a panic's payload.
pub fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}
