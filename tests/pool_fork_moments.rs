//! Forks at the wrong moment and by other ways than `fork()`: while another
//! thread builds the global pool or holds a lock (S36), past libc's handlers (S43).

#![cfg(target_os = "linux")]

#[macro_use]
mod common;
#[path = "common/forked.rs"]
mod forked;

use common::{cpus, on_all_threads, Latch};
use forked::{end_of, fork, in_child, quietly, End, GOOD};
use rowpool::Pool;
use std::mem::ManuallyDrop;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Regions of any pool, wherever they run.
fn regions(pool: &Pool) {
    for round in 0..3 {
        let mut rows = vec![0; 1000];
        pool.with_work(usize::MAX).for_each_row(&mut rows, |row, out| *out = row * 3 + round);
        assert!(rows.iter().enumerate().all(|(row, out)| *out == row * 3 + round));
    }
}

/// Everything that builds the global pool, or waits for who does.
fn first_use() {
    regions(rowpool::global());
    let mut y = vec![0.0; 1000];
    rowpool::threads::for_each_row(&mut y, 1000, 1000, |row, out| *out = row as f32);
    assert!(y.iter().enumerate().all(|(row, out)| *out == row as f32));
    assert_eq!(rowpool::global().num_threads(), 3);
}

/// In a process where nobody has used the global pool: forks so long after
/// another thread has begun with it.
fn fork_during_the_first_use(delay: Duration) {
    let begun = Latch::default();
    let other = thread::scope(|scope| {
        let other = scope.spawn(|| {
            begun.open();
            first_use();
        });
        begun.wait();
        let since = Instant::now();
        while since.elapsed() < delay {
            std::hint::spin_loop();
        }
        assert_eq!(fork(first_use), GOOD, "{delay:?} after the first use");
        other.join()
    });
    other.expect("the parent's own");
}

/// S36: the child waits for no thread that it has not got, in no phase of it.
#[test]
fn s36_a_fork_while_another_thread_builds_the_global_pool() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        for delay in (0..120).map(|step| Duration::from_micros(step * 10)) {
            assert_eq!(fork(|| fork_during_the_first_use(delay)), GOOD);
        }
    });
}

/// The same where it is sure that the child finds it half built: a thread's name
/// is asked for in the middle.
#[test]
fn s36_a_fork_in_the_middle_of_the_first_use() {
    bounded!();
    isolated!().env("ROWPOOL_NUM_THREADS", "3").run(|| {
        let (named, forked) = (Latch::default(), Latch::default());
        let name = {
            let (named, forked) = (named.clone(), forked.clone());
            move |slot: usize| {
                named.open();
                forked.wait();
                format!("w{slot}")
            }
        };
        thread::scope(|scope| {
            let own = move || Pool::builder().thread_name(name).build_global().unwrap();
            let own = scope.spawn(own);
            named.wait();
            let end = fork(first_use);
            forked.open();
            regions(own.join().unwrap());
            assert_eq!(end, GOOD);
        });
        first_use();
    });
}

/// A region of both slots, of which slot 0 lets `child` return from a fork in it.
fn return_from_a_fork(pool: &Pool) -> End {
    let pid = Mutex::new(None);
    pool.run(2, |slot| {
        if slot == 0 {
            // SAFETY: the child goes on to the end of its slot, where the library
            // has to stop it.
            match unsafe { libc::fork() } {
                0 => quietly(),
                made => *pid.lock().unwrap() = Some(made),
            }
        }
    });
    end_of(pid.into_inner().unwrap().expect("the child does not come here"))
}

/// S36: a child that has to abort says so and does, whoever held stderr.
#[test]
fn s36_a_child_aborts_while_another_thread_has_stderr() {
    bounded!();
    let output = isolated!().run(|| {
        let pool = cpus::pool(2);
        let (held, end) = (Latch::default(), Latch::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _errors = std::io::stderr().lock();
                held.open();
                end.wait();
            });
            held.wait();
            let ended = return_from_a_fork(&pool);
            end.open();
            assert_eq!(ended, End::Signal(libc::SIGABRT));
        });
        regions(&pool);
    });
    if let Some(output) = output {
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = "rowpool: a fork() child returned from inside a region, aborting\n";
        assert!(errors.contains(line), "{errors}");
    }
}

/// The system's own call, of which no handler of `pthread_atfork` hears.
fn clone_call() -> libc::pid_t {
    // SAFETY: as `fork`: flags, no stack of its own, nothing to store.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
}

/// The C library's call without handlers; `None` where it has none.
fn fork_without_handlers() -> Option<libc::pid_t> {
    // SAFETY: a name with an end.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_Fork".as_ptr()) };
    // SAFETY: POSIX gives `_Fork` this type.
    let call: Option<extern "C" fn() -> libc::pid_t> = unsafe { std::mem::transmute(found) };
    Some(call?())
}

/// S43: regions are right and serial there, `scope_steps` too, and dropping the
/// pool ends. In a process whose other threads have nothing to do.
#[test]
fn s43_children_without_fork_handlers() {
    bounded!();
    isolated!().run(|| {
        for call in [|| Some(clone_call()), fork_without_handlers] {
            for (width, drops) in [(2, false), (3, true), (12, true)] {
                let mut pool = ManuallyDrop::new(cpus::pool(width));
                on_all_threads(&pool, |_| ());
                pool.rest();
                common::tasks::await_asleep(&common::tasks::await_named("rowpool-", width - 1));
                let Some(made) = call() else { continue };
                let me = thread::current().id();
                let end = in_child(made, || {
                    regions(&pool);
                    let here = |_| assert_eq!(thread::current().id(), me, "serially");
                    pool.for_each_index(100, here);
                    pool.scope_steps(|| pool.run(width, here));
                    assert_eq!(pool.active_width(), 1);
                    if drops {
                        // SAFETY: the child's copy; nobody uses it after this.
                        unsafe { ManuallyDrop::drop(&mut pool) };
                    }
                });
                assert_eq!(end, GOOD, "width {width}");
                on_all_threads(&pool, |_| ());
                drop(ManuallyDrop::into_inner(pool));
                common::tasks::await_named("rowpool-", 0);
            }
        }
    });
}
