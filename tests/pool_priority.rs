//! S41: workers have the process's scheduling policy and nice value, whoever
//! builds the pool. (`stat`: the nice value of a realtime thread is 0.)

#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/forked.rs"]
mod forked;

use common::cpus;
use common::tasks::{await_named, Task};
use common::{is_root, on_all_threads};
use forked::{fork_and_listen, GOOD};
use rowpool::{Pool, PoolBuilder};
use std::thread;

const WIDTH: usize = 3;

/// Policy and nice value of the calling thread.
fn own() -> (i32, i32) {
    // SAFETY: both read.
    unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS as _, 0)) }
}

fn set_nice(nice: i32) {
    // SAFETY: takes numbers; 0 is the calling thread.
    let done = unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, nice) };
    assert_eq!(done, 0, "nice {nice}: {}", std::io::Error::last_os_error());
}

/// False where the system does not let us.
fn set_policy(policy: i32, priority: i32) -> bool {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: reads a live parameter; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &param) == 0 }
}

/// The pool that `builder` gives on a thread of its own, after `prepare`.
fn built_by(prepare: impl FnOnce() + Send, builder: impl FnOnce() -> PoolBuilder + Send) -> Pool {
    let build = || {
        prepare();
        builder().build().unwrap()
    };
    thread::scope(|scope| scope.spawn(build).join().unwrap())
}

fn builder(name: &'static str) -> PoolBuilder {
    cpus::builder().width(WIDTH).thread_name(name)
}

/// Policies and nice values of the workers, all of which have run a slot.
fn workers(pool: &Pool, name: &str) -> Vec<(i32, i32)> {
    on_all_threads(pool, |_| ());
    let tasks = await_named(&format!("{name}-"), WIDTH - 1);
    tasks.iter().map(|task: &Task| task.priority().unwrap()).collect()
}

/// Whether this is root, who may set what these tests set.
fn root() -> bool {
    if !is_root() {
        cannot_check!("root", "nice values are lowered again");
    }
    is_root()
}

#[test]
fn s41_workers_of_a_background_thread() {
    bounded!();
    if root() {
        let process = own();
        let pool = built_by(|| set_nice(19), || builder("low"));
        assert_eq!(workers(&pool, "low"), [process; WIDTH - 1]);
        assert!(!pool.reason().to_string().contains("nice"), "{}", pool.reason());
    }
}

/// The process as a whole may be nice: then its workers are.
#[test]
fn s41_workers_of_a_nice_process() {
    bounded!();
    if root() {
        isolated!().run(|| {
            // SAFETY: the process's main thread is libtest's, of the same number.
            let done = unsafe { libc::setpriority(libc::PRIO_PROCESS as _, std::process::id(), 7) };
            assert_eq!(done, 0);
            let pool = builder("seven").build().unwrap();
            assert_eq!(workers(&pool, "seven"), [(libc::SCHED_OTHER, 7); WIDTH - 1]);
            // A builder in the foreground does not lift them.
            let pool = built_by(|| set_nice(-5), || builder("lifted"));
            assert_eq!(workers(&pool, "lifted"), [(libc::SCHED_OTHER, 7); WIDTH - 1]);
        });
    }
}

/// `RLIMIT_RTTIME` would kill them.
#[test]
fn s41_workers_of_a_realtime_thread() {
    bounded!();
    if !is_root() {
        return cannot_check!("root", "a realtime policy");
    }
    for policy in [libc::SCHED_FIFO, libc::SCHED_RR] {
        let process = own();
        let name = if policy == libc::SCHED_FIFO { "fifo" } else { "robin" };
        let realtime = || assert!(set_policy(policy, 1), "{}", std::io::Error::last_os_error());
        let pool = built_by(realtime, || builder(name));
        assert_eq!(workers(&pool, name), [process; WIDTH - 1], "policy {policy}");
    }
}

#[test]
fn s41_inherited_on_request() {
    bounded!();
    if root() {
        let pool = built_by(|| set_nice(13), || builder("kept").inherit_priority(true));
        assert_eq!(workers(&pool, "kept"), [(libc::SCHED_OTHER, 13); WIDTH - 1]);
        let fifo = || assert!(set_policy(libc::SCHED_FIFO, 1));
        let pool = built_by(fifo, || builder("real").inherit_priority(true));
        let policies: Vec<i32> = workers(&pool, "real").iter().map(|worker| worker.0).collect();
        assert_eq!(policies, [libc::SCHED_FIFO; WIDTH - 1]);
    }
}

/// Who may not raise a nice value gets the reason said, and logged.
#[test]
fn s41_stuck_at_the_builders_nice_value() {
    bounded!();
    if root() {
        isolated!().run(|| {
            let (end, errors) = fork_and_listen(|| {
                common::record_logs();
                become_nobody();
                let pool = built_by(|| set_nice(19), || builder("stuck"));
                let stuck = "workers stay at the builder's nice value 19";
                assert!(pool.reason().to_string().ends_with(stuck), "{}", pool.reason());
                assert_eq!(workers(&pool, "stuck"), [(libc::SCHED_OTHER, 19); WIDTH - 1]);
                let warnings = common::warnings();
                assert!(warnings.iter().any(|text| text.ends_with(stuck)), "{warnings:?}");
                // Nothing to say: of one thread, asked for, or no worse than allowed.
                let nice = own().1;
                let others = [
                    built_by(|| set_nice(19), || builder("one").width(1)),
                    built_by(|| set_nice(19), || builder("asked").inherit_priority(true)),
                    built_by(|| set_nice(nice), || builder("same")),
                ];
                for pool in others {
                    assert!(!pool.reason().to_string().contains("nice"), "{}", pool.reason());
                }
                assert_eq!(common::warnings().len(), 1, "{:?}", common::warnings());
            });
            assert_eq!(end, GOOD, "{errors}");
        });
    }
}

/// This process, of one thread: from now on a user who may not raise nice values.
fn become_nobody() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads a live limit; takes numbers.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NICE, &none), 0);
        assert_eq!(libc::setresuid(65_534, 65_534, 65_534), 0);
    }
}
