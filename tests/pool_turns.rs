//! Whose turn it is: one region at a time, in the order of the queue, and past a
//! caller that keeps the pool by a scope of steps.

#[macro_use]
mod common;

use common::{cpus, Latch};
use rowpool::Pool;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Works for so long, in the eyes of the system too.
fn busy(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Works until somebody says that it is enough.
fn busy_until(end: &AtomicBool) {
    while !end.load(Ordering::SeqCst) {
        std::hint::spin_loop();
    }
}

/// Who runs a slot, and whether two ever did at once.
struct Users {
    of_slot: Vec<AtomicUsize>,
    met: AtomicUsize,
}

impl Users {
    fn new(width: usize) -> Self {
        let of_slot = (0..width).map(|_| AtomicUsize::new(0)).collect();
        Users { of_slot, met: AtomicUsize::new(0) }
    }

    fn during(&self, slot: usize, f: impl FnOnce()) {
        if self.of_slot[slot].fetch_add(1, Ordering::SeqCst) != 0 {
            common::tick(&self.met);
        }
        f();
        self.of_slot[slot].fetch_sub(1, Ordering::SeqCst);
    }
}

/// However long a region works, no other one of this pool runs meanwhile: its
/// slots' numbers are one thread's each.
#[test]
fn s18_one_region_at_a_time() {
    bounded!();
    let pool = cpus::pool(2);
    for ms in [1, 25, 40] {
        let users = Users::new(2);
        let slots = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        pool.run(2, |slot| {
                            common::tick(&slots);
                            users.during(slot, || busy(Duration::from_millis(ms)));
                        });
                    }
                });
            }
        });
        assert_eq!((users.met.into_inner(), slots.into_inner()), (0, 24), "slots of {ms} ms");
    }
}

/// The same between steps and regions, where each is let in by the other.
#[test]
fn s51_steps_and_regions_take_turns() {
    bounded!();
    let pool = cpus::pool(2);
    let users = Users::new(2);
    let slots = AtomicUsize::new(0);
    let region = |ms| {
        pool.run(2, |slot| {
            common::tick(&slots);
            users.during(slot, || busy(Duration::from_millis(ms)));
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| pool.scope_steps(|| (0..20).for_each(|_| region(3))));
        scope.spawn(|| pool.scope_steps(|| (0..20).for_each(|_| region(4))));
        scope.spawn(|| (0..5).for_each(|_| region(25)));
    });
    assert_eq!((users.met.into_inner(), slots.into_inner()), (0, 90));
}

/// A caller that has a lock which a slot of the running steps wants: it runs
/// its own steps by itself, and gives the lock.
#[test]
fn s18_a_step_wants_what_a_waiting_scope_holds() {
    bounded!();
    let pool = cpus::pool(2);
    let held = Mutex::new(0);
    let (running, locked) = (Latch::default(), Latch::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            running.wait();
            let mut held = held.lock().unwrap();
            locked.open();
            let me = thread::current().id();
            let rows = AtomicUsize::new(0);
            pool.scope_steps(|| {
                for _ in 0..10 {
                    pool.for_each_index(10, |_| {
                        assert_eq!(thread::current().id(), me, "by itself");
                        common::tick(&rows);
                    });
                }
            });
            *held += rows.into_inner();
        });
        pool.scope_steps(|| {
            pool.run(2, |slot| {
                if slot == 0 {
                    running.open();
                    locked.wait();
                    *held.lock().unwrap() += 1;
                }
            });
        });
    });
    assert_eq!(held.into_inner().unwrap(), 101);
}

/// S51: a caller that polls in its scope for what another caller does after a
/// region of its own. With steps between its looks, and with none.
#[test]
fn s51_a_scope_that_polls_for_another_callers_region() {
    bounded!();
    let pool = cpus::pool(2);
    for steps in [true, false] {
        for _ in 0..3 {
            let inside = Latch::default();
            let done = AtomicBool::new(false);
            let rows = AtomicUsize::new(0);
            let users = Users::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    inside.wait();
                    pool.run(2, |slot| users.during(slot, || common::tick(&rows)));
                    done.store(true, Ordering::SeqCst);
                });
                pool.scope_steps(|| {
                    pool.run(2, |_| ());
                    inside.open();
                    while !done.load(Ordering::SeqCst) {
                        if steps {
                            pool.run(2, |slot| users.during(slot, std::hint::spin_loop));
                        }
                    }
                    // It has the pool again, or still.
                    let mut own = [0; 10];
                    pool.for_each_row(&mut own, |row, out| *out = row + 1);
                    assert_eq!(own.iter().sum::<usize>(), 55);
                });
            });
            assert_eq!((rows.into_inner(), users.met.into_inner()), (2, 0));
        }
    }
}

/// S51: also where steps follow each other at once, so that hardly anybody finds
/// the pool free: who has waited is let between.
#[test]
#[cfg(target_os = "linux")]
fn s51_a_scope_of_long_steps_lets_others_in() {
    bounded!();
    /// A second at least, of which 20 ms are to be waited.
    const STEPS: usize = 200;
    let pool = cpus::pool(2);
    let inside = Latch::default();
    let done = AtomicBool::new(false);
    let mut steps = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            inside.wait();
            pool.run(2, |_| ());
            done.store(true, Ordering::SeqCst);
        });
        pool.scope_steps(|| {
            while !done.load(Ordering::SeqCst) && steps < 2 * STEPS {
                pool.run(2, |_| {
                    inside.open();
                    busy(Duration::from_millis(5));
                });
                steps += 1;
            }
        });
    });
    assert!(steps <= STEPS, "let in after {steps} steps");
}

/// Keeps a pool busy until `end`, while callers queue one after another, each
/// for one region; gives the order in which they got it.
#[cfg(target_os = "linux")]
fn order_of_turns(pool: &Pool, callers: usize, scoped: bool) -> Vec<usize> {
    use common::tasks::{await_asleep, await_named, nap};
    let begun = Latch::default();
    let end = AtomicBool::new(false);
    let turns = Mutex::new(Vec::new());
    let order = &turns;
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(2, |_| {
                begun.open();
                busy_until(&end);
            });
        });
        begun.wait();
        for number in 0..callers {
            let region = move || {
                let first = AtomicBool::new(true);
                pool.run(2, |_| {
                    if first.swap(false, Ordering::SeqCst) {
                        order.lock().unwrap().push(number);
                    }
                });
            };
            // With a letter behind: 1 is no prefix of 10.
            let name = format!("turn{number}x");
            let call = move || if scoped { pool.scope_steps(region) } else { region() };
            thread::Builder::new().name(name.clone()).spawn_scoped(scope, call).unwrap();
            let task = await_named(&name, 1);
            if number == 0 {
                // The head: it naps, and is seldom seen asleep on a busy machine.
                while task[0].sleeps() < 3 {
                    nap();
                }
            } else {
                await_asleep(&task);
            }
        }
        // Longer than anybody's patience.
        thread::sleep(Duration::from_millis(60));
        assert!(order.lock().unwrap().is_empty(), "a region began beside another");
        end.store(true, Ordering::SeqCst);
    });
    turns.into_inner().unwrap()
}

/// S23, S51: first come, first served; nobody loses his place, however long it
/// takes.
#[test]
#[cfg(target_os = "linux")]
fn s51_turns_come_in_the_order_of_the_queue() {
    bounded!();
    let pool = cpus::pool(2);
    for scoped in [false, true] {
        let order = order_of_turns(&pool, 12, scoped);
        assert_eq!(order, (0..12).collect::<Vec<_>>(), "by scopes: {scoped}");
    }
}

/// S51: of 64 callers who all want ever more, each gets turns within so many
/// regions of all.
#[test]
fn s51_sixty_four_callers_get_their_turns() {
    bounded!();
    const CALLERS: usize = 64;
    const REGIONS: usize = 60_000;
    let pool = cpus::pool(2);
    for scoped in [false, true] {
        let total = AtomicUsize::new(0);
        let users = Users::new(2);
        let start = std::sync::Barrier::new(CALLERS);
        let caller = || {
            let mut own = 0;
            start.wait();
            while total.fetch_add(1, Ordering::SeqCst) < REGIONS {
                let region =
                    || pool.run(2, |slot| users.during(slot, || busy(Duration::from_micros(10))));
                if scoped {
                    pool.scope_steps(region);
                } else {
                    region();
                }
                own += 1;
            }
            own
        };
        let turns: Vec<usize> = thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(caller)).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(users.met.into_inner(), 0);
        assert_eq!(turns.iter().sum::<usize>(), REGIONS);
        // The first of each is had before anything is queued.
        assert!(turns.iter().all(|&turns| turns > 1), "by scopes: {scoped}: {turns:?}");
    }
}
