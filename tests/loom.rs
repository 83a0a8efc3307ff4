//! The fork protocol under loom: the real team, its sleepers and its turn, in
//! every interleaving up to a number of preemptions, under the C11 memory
//! model. Steps (C1 .. W5) and invariants (I1 ..) are those of PROTOCOL.md.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom` runs the models;
//! `ROWPOOL_FAULT=<name>` plants a fault (`src/pool/fault.rs`), which at least
//! one of them must find; the first that does ends the process.
//! `LOOM_MAX_PREEMPTIONS` caps every bound, `LOOM_MORE_PREEMPTIONS` adds to it.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use rowpool::model::{pause, resume, Callers, Crew, Dormitory, Setup, Wait};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Explores `model` with at most so many preemptions; `None`: all of them.
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let more = std::env::var("LOOM_MORE_PREEMPTIONS").map_or(0, |n| n.parse().unwrap());
    let mut builder = loom::model::Builder::new();
    let bounds = [builder.preemption_bound, preemptions.map(|most| most + more)];
    builder.preemption_bound = bounds.into_iter().flatten().min();
    builder.max_branches = 10_000;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (count, begun) = (Arc::clone(&runs), Instant::now());
    let bound = builder.preemption_bound.map_or("all".to_owned(), |most| format!("up to {most}"));
    let check = || {
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            model();
        });
    };
    let outcome = catch_unwind(AssertUnwindSafe(check));
    println!("{} runs, {bound} preemptions, {:.1?}", runs.load(Ordering::Relaxed), begun.elapsed());
    if let Err(found) = outcome {
        if let Ok(fault) = std::env::var("ROWPOOL_FAULT") {
            eprintln!("{fault} is found by {}", std::thread::current().name().unwrap_or("a model"));
            std::process::exit(101);
        }
        resume_unwind(found);
    }
}

/// A value whose every access is checked for races.
struct Watched<T>(UnsafeCell<T>);

// SAFETY: loom fails the model where two accesses race.
unsafe impl<T> Sync for Watched<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Watched<T> {}

impl<T: Copy> Watched<T> {
    fn new(value: T) -> Self {
        Watched(UnsafeCell::new(value))
    }
    fn get(&self) -> T {
        // SAFETY: loom checks.
        self.0.with(|value| unsafe { *value })
    }
    fn set(&self, value: T) {
        // SAFETY: loom checks.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }
}

/// What the slots write: one row each, the number of regions that it saw.
#[derive(Clone)]
struct Rows(Arc<[Watched<usize>]>);

impl Rows {
    fn new(slots: usize) -> Self {
        Rows((0..slots).map(|_| Watched::new(0)).collect())
    }

    fn bump(&self, slot: usize) {
        self.0[slot].set(self.0[slot].get() + 1);
    }

    fn seen(&self) -> Vec<usize> {
        self.0.iter().map(Watched::get).collect()
    }

    /// Opens a region whose slots bump their rows; false if it got no turn.
    fn region(&self, crew: &Crew, width: usize, large: bool) -> bool {
        let frame = Watched::new(width);
        let opened = crew.region(width, large, |slot, of| {
            assert_eq!(of, frame.get(), "a dead frame was read");
            assert!(slot < of, "slot {slot} of {of}");
            self.bump(slot);
        });
        // I2: no worker looks at the frame any more.
        frame.set(0);
        opened
    }

    /// One region after another: each slot of each runs once (I3).
    fn regions(&self, crew: &Crew, widths: &[usize], large: bool) {
        let mut expected = self.seen();
        for &width in widths {
            expected[..width].iter_mut().for_each(|row| *row += 1);
            assert!(self.region(crew, width, large));
            assert_eq!(self.seen(), expected);
        }
    }
}

const ZERO: Duration = Duration::ZERO;
const PARKING: Setup = Setup { workers: 1, group: 1, wait: Wait::Park, looks: 0, tick: ZERO };
const SPINNING: Setup = Setup { wait: Wait::Spin, ..PARKING };

/// Two workers that share a gate where `PARKING` ones have one each.
const fn shared(setup: Setup) -> Setup {
    Setup { group: 2, ..setup }
}

const fn two(setup: Setup) -> Setup {
    Setup { workers: 2, ..setup }
}

/// What of a crew's life is explored besides the body of a model.
#[derive(Clone, Copy, PartialEq)]
enum Life {
    /// Nothing: the workers spin or are parked when the body begins.
    Body,
    /// Its start: no worker has run when the body begins.
    Start,
    /// Its end.
    End,
    /// All of it.
    Whole,
}

/// A crew whose threads run while `body` does, and end.
fn with_crew(setup: Setup, life: Life, body: impl FnOnce(&Crew)) {
    let crew = Crew::new(setup);
    let work = |worker| {
        let crew = crew.clone();
        thread::spawn(move || crew.work(worker))
    };
    pause();
    let workers: Vec<_> = (0..setup.workers).map(work).collect();
    if matches!(life, Life::Body | Life::End) {
        let asleep = if setup.wait == Wait::Park { setup.workers } else { 0 };
        while crew.parked() != asleep || crew.asleep() != asleep {
            thread::yield_now();
        }
    }
    resume();
    body(&crew);
    let end_is_explored = matches!(life, Life::End | Life::Whole);
    if !end_is_explored {
        pause();
    }
    crew.stop();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

/// Regions of `widths` on a crew.
fn regions(preemptions: Option<usize>, setup: Setup, life: Life, widths: &'static [usize]) {
    explore(preemptions, move || {
        with_crew(setup, life, |crew| {
            Rows::new(setup.workers + 1).regions(crew, widths, false);
        });
    });
}

// Publish, take, relieve, report (C2 to C7, W1 to W5).

#[test]
fn a_spinning_worker() {
    regions(None, SPINNING, Life::Body, &[2, 2]);
}

#[test]
fn a_spinning_worker_at_a_shared_gate() {
    regions(None, shared(SPINNING), Life::Body, &[2, 2]);
}

#[test]
fn a_spinning_worker_over_three_regions() {
    regions(Some(3), SPINNING, Life::Body, &[2, 2, 2]);
}

#[test]
fn a_worker_that_starts_and_parks() {
    regions(Some(3), PARKING, Life::Start, &[2, 2]);
}

#[test]
fn a_worker_that_starts_and_parks_at_a_shared_gate() {
    regions(Some(3), shared(PARKING), Life::Start, &[2, 2]);
}

/// The caller looks before it relieves.
#[test]
fn a_worker_within_its_grace() {
    regions(Some(3), Setup { looks: 1, ..SPINNING }, Life::Body, &[2, 2]);
}

#[test]
fn two_workers_growing() {
    regions(Some(2), two(PARKING), Life::Start, &[2, 3]);
}

#[test]
fn two_workers_growing_at_a_shared_gate() {
    regions(Some(2), shared(two(PARKING)), Life::Start, &[2, 3]);
}

#[test]
fn two_workers_shrinking() {
    regions(Some(2), two(PARKING), Life::Start, &[3, 2]);
}

#[test]
fn two_workers_shrinking_at_a_shared_gate() {
    regions(Some(2), shared(two(PARKING)), Life::Start, &[3, 2]);
}

#[test]
fn two_workers_in_and_out() {
    regions(Some(1), two(PARKING), Life::Start, &[2, 3, 2]);
}

#[test]
fn two_workers_in_and_out_at_a_shared_gate() {
    regions(Some(1), shared(two(PARKING)), Life::Start, &[2, 3, 2]);
}

#[test]
fn three_workers() {
    regions(Some(1), Setup { workers: 3, ..PARKING }, Life::Start, &[4, 2]);
}

#[test]
fn three_workers_at_a_shared_gate() {
    regions(Some(1), Setup { workers: 3, group: 3, ..PARKING }, Life::Start, &[4, 2]);
}

// Waking (C3), and what hints do.

/// Parked workers are woken for a region; those who come late find it done.
#[test]
fn regions_that_wake() {
    explore(Some(3), || {
        with_crew(PARKING, Life::Body, |crew| Rows::new(2).regions(crew, &[2, 2], true));
    });
}

#[test]
fn regions_that_wake_two() {
    explore(Some(1), || {
        with_crew(two(PARKING), Life::Body, |crew| Rows::new(3).regions(crew, &[3, 2], true));
    });
}

/// Sleepers' slots cost so much that they are woken in the middle of a region.
#[test]
fn a_debt_that_wakes() {
    let setup = Setup { tick: Duration::from_micros(20), ..two(PARKING) };
    explore(Some(1), move || {
        with_crew(setup, Life::Body, |crew| Rows::new(3).regions(crew, &[3, 3], false));
    });
}

/// Hints change the word that a publication stores to.
fn hints(preemptions: usize, setup: Setup, hint: impl Fn(&Crew) + Send + Sync + Copy + 'static) {
    explore(Some(preemptions), move || {
        with_crew(setup, Life::Body, |crew| {
            let other = {
                let crew = crew.clone();
                thread::spawn(move || hint(&crew))
            };
            Rows::new(2).regions(crew, &[2, 2], false);
            other.join().unwrap();
        });
    });
}

#[test]
fn rest_against_publish() {
    hints(3, SPINNING, Crew::rest);
}

#[test]
fn rest_against_publish_at_a_shared_gate() {
    hints(2, shared(SPINNING), Crew::rest);
}

#[test]
fn wake_against_publish() {
    hints(2, PARKING, Crew::wake);
}

#[test]
fn rest_and_wake_against_publish() {
    hints(2, SPINNING, |crew| {
        crew.rest();
        crew.wake();
    });
}

/// Only what a rest parks is up to be woken: a worker that spins for ever
/// sleeps after `rest`, and is up after `wake`.
#[test]
fn rest_parks_and_wake_ends_it() {
    explore(Some(3), || {
        with_crew(SPINNING, Life::Body, |crew| {
            crew.rest();
            while crew.parked() == 0 {
                thread::yield_now();
            }
            crew.wake();
            while crew.asleep() != 0 {
                thread::yield_now();
            }
            Rows::new(2).regions(crew, &[2], false);
        });
    });
}

// Sleeping and waking by themselves: a lost wake is a deadlock here.

/// `workers` sleep one night each while `wake` runs on another thread. They
/// look at the news before they sleep, and stay up for wakes after `since`.
fn night(
    preemptions: Option<usize>,
    workers: usize,
    since: Option<u32>,
    wake: impl Fn(&Dormitory, &AtomicU32) + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let house = Arc::new((Dormitory::new(workers), AtomicU32::new(0)));
        let sleep = |worker| {
            let house = Arc::clone(&house);
            thread::spawn(move || {
                house.0.night(worker, since, || house.1.load(Ordering::Relaxed) != 0);
            })
        };
        let sleepers: Vec<_> = (0..workers).map(sleep).collect();
        wake(&house.0, &house.1);
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

/// As `Team::publish`, then C3.
fn publish_and_wake(dormitory: &Dormitory, news: &AtomicU32) {
    news.store(1, Ordering::Release);
    dormitory.wake();
}

/// As `Pool::wake` at rest.
fn stir_and_wake(dormitory: &Dormitory, news: &AtomicU32) {
    news.fetch_or(1, Ordering::Relaxed);
    dormitory.wake();
}

#[test]
fn park_against_wake() {
    night(None, 1, Some(0), |dormitory, _| dormitory.wake());
}

/// One is woken by the caller, and wakes the other.
#[test]
fn two_park_against_wake() {
    night(Some(2), 2, Some(0), |dormitory, _| dormitory.wake());
}

/// A worker that saw the wake before it looked at the news has to see these.
#[test]
fn park_against_publish() {
    night(None, 1, None, publish_and_wake);
}

#[test]
fn park_against_stir() {
    night(None, 1, None, stir_and_wake);
}

#[test]
fn two_park_against_publish() {
    night(Some(2), 2, None, publish_and_wake);
}

/// Two wakes at once, each with its news.
#[test]
fn park_against_two_wakes() {
    night(Some(2), 1, None, |dormitory, news| {
        news.store(1, Ordering::Release);
        dormitory.wake();
        dormitory.wake();
    });
}

#[test]
fn two_park_against_stop() {
    night(Some(3), 2, None, |dormitory, news| {
        news.fetch_or(1, Ordering::Release);
        dormitory.wake_all();
    });
}

// The end.

#[test]
fn stop_while_a_worker_starts() {
    for setup in [SPINNING, PARKING, shared(PARKING)] {
        regions(None, setup, Life::Whole, &[]);
    }
}

#[test]
fn stop_while_a_worker_is_parked() {
    regions(None, PARKING, Life::End, &[]);
}

#[test]
fn stop_while_a_worker_spins() {
    regions(None, SPINNING, Life::End, &[]);
}

#[test]
fn stop_while_a_worker_goes_to_park_after_a_region() {
    regions(Some(2), PARKING, Life::Whole, &[2]);
}

#[test]
fn stop_while_two_workers_park() {
    for setup in [two(PARKING), shared(two(PARKING))] {
        regions(Some(2), setup, Life::Whole, &[]);
    }
}

#[test]
fn stop_at_rest() {
    explore(Some(3), || with_crew(SPINNING, Life::End, Crew::rest));
}

// Panics (I7).

/// Raises the slot's number, without the hook's message.
fn panic_in(slot: usize) {
    resume_unwind(Box::new(slot));
}

/// A region in which the slots for which `panics` holds panic; gives the slot
/// whose panic reached the caller.
fn panicking(crew: &Crew, rows: &Rows, width: usize, panics: fn(usize) -> bool) -> usize {
    let region = || {
        crew.region(width, false, |slot, _| {
            rows.bump(slot);
            if panics(slot) {
                panic_in(slot);
            }
        })
    };
    match catch_unwind(AssertUnwindSafe(region)) {
        Ok(_) => panic!("no panic came out"),
        // loom's own panics are texts.
        Err(payload) => *payload.downcast().unwrap_or_else(|other| resume_unwind(other)),
    }
}

/// A panic is raised once on the caller; the next region is as new.
fn panics(preemptions: usize, setup: Setup, panics: fn(usize) -> bool) {
    explore(Some(preemptions), move || {
        with_crew(setup, Life::Body, |crew| {
            let width = setup.workers + 1;
            let rows = Rows::new(width);
            let slot = panicking(crew, &rows, width, panics);
            assert!(panics(slot));
            assert!(rows.seen().iter().all(|&times| times <= 1), "each slot at most once");
            assert_eq!(rows.seen()[slot], 1);
            rows.regions(crew, &[width], false);
        });
    });
}

#[test]
fn a_panic_in_a_workers_slot() {
    panics(3, SPINNING, |slot| slot == 1);
}

#[test]
fn a_panic_in_a_workers_slot_at_a_shared_gate() {
    panics(3, shared(SPINNING), |slot| slot == 1);
}

#[test]
fn a_panic_in_the_callers_slot() {
    panics(3, SPINNING, |slot| slot == 0);
}

#[test]
fn panics_in_both_slots() {
    panics(3, SPINNING, |_| true);
}

#[test]
fn panics_in_two_workers_slots() {
    explore(Some(1), || {
        with_crew(two(PARKING), Life::Start, |crew| {
            let rows = Rows::new(3);
            assert_ne!(panicking(crew, &rows, 3, |slot| slot != 0), 0);
            rows.regions(crew, &[3], false);
        });
    });
}

// Callers.

#[test]
fn two_callers_of_one_worker() {
    for setup in [PARKING, shared(PARKING)] {
        explore(Some(2), move || {
            with_crew(setup, Life::Start, |crew| {
                let rows = Rows::new(2);
                let other = {
                    let (crew, rows) = (crew.clone(), rows.clone());
                    thread::spawn(move || assert!(rows.region(&crew, 2, false)))
                };
                assert!(rows.region(crew, 2, false));
                other.join().unwrap();
                assert_eq!(rows.seen(), [2, 2]);
            });
        });
    }
}

/// Callers by themselves: one at a time, each sees what those before it did.
/// The tick says how long they find that they have waited.
fn callers(preemptions: Option<usize>, callers: usize, rounds: usize, tick: Duration) {
    explore(preemptions, move || {
        let turn = Arc::new(Callers::new(tick));
        let state = Arc::new(Watched::new(0));
        let call = |_| {
            let (turn, state) = (Arc::clone(&turn), Arc::clone(&state));
            thread::spawn(move || {
                (0..rounds)
                    .filter(|_| {
                        turn.call(|n| {
                            *n += 1;
                            state.set(state.get() + 1);
                            assert_eq!(state.get(), *n);
                        })
                    })
                    .count()
            })
        };
        let others: Vec<_> = (1..callers).map(call).collect();
        let mut had: u32 = 0;
        for _ in 0..rounds {
            had += u32::from(turn.call(|n| {
                *n += 1;
                state.set(state.get() + 1);
                assert_eq!(state.get(), *n);
            }));
        }
        had += others.into_iter().map(|other| other.join().unwrap() as u32).sum::<u32>();
        // However the others ended, the turn can be had, and nothing is lost.
        assert!(turn.call(|n| assert_eq!(*n, had)));
        if tick.is_zero() {
            assert_eq!(had as usize, callers * rounds, "nobody gives up");
        }
    });
}

#[test]
fn callers_that_look_again() {
    callers(Some(3), 2, 2, ZERO);
}

#[test]
fn callers_that_nap() {
    callers(Some(3), 2, 2, Duration::from_micros(100));
}

#[test]
fn callers_that_demand() {
    callers(Some(3), 2, 2, Duration::from_micros(600));
}

#[test]
fn callers_that_give_up() {
    callers(Some(3), 2, 2, Duration::from_millis(21));
}

#[test]
fn three_callers_that_demand() {
    callers(Some(2), 3, 1, Duration::from_micros(600));
}

#[test]
fn three_callers_that_give_up() {
    callers(Some(2), 3, 1, Duration::from_millis(21));
}

// Steps: regions under one turn.

/// Steps of `widths`, and a region after them.
fn steps(preemptions: Option<usize>, setup: Setup, life: Life, widths: &'static [usize]) {
    explore(preemptions, move || {
        with_crew(setup, life, |crew| {
            let rows = Rows::new(setup.workers + 1);
            crew.steps(|| rows.regions(crew, widths, false));
            rows.regions(crew, &widths[..1], false);
        });
    });
}

#[test]
fn steps_of_a_spinning_worker() {
    steps(Some(4), SPINNING, Life::Body, &[2, 2]);
}

#[test]
fn steps_of_a_spinning_worker_at_a_shared_gate() {
    steps(Some(4), shared(SPINNING), Life::Body, &[2, 2]);
}

#[test]
fn steps_of_a_worker_that_starts_and_parks() {
    steps(Some(2), PARKING, Life::Start, &[2, 2]);
}

#[test]
fn steps_of_two_workers() {
    steps(Some(1), two(PARKING), Life::Start, &[2, 3]);
}

#[test]
fn steps_of_two_workers_at_a_shared_gate() {
    steps(Some(1), shared(two(PARKING)), Life::Start, &[3, 2]);
}

/// What stands between steps is one caller's at a time.
#[test]
fn steps_of_two_callers() {
    explore(Some(3), || {
        with_crew(PARKING, Life::Body, |crew| {
            let between = Arc::new(Watched::new(0));
            let call = |crew: &Crew, between: &Watched<i32>| {
                crew.steps(|| between.set(between.get() + 1));
            };
            let other = {
                let (crew, between) = (crew.clone(), Arc::clone(&between));
                thread::spawn(move || call(&crew, &between))
            };
            call(crew, &between);
            other.join().unwrap();
            assert_eq!(between.get(), 2);
        });
    });
}

/// Nobody has a region between the first step and the last.
#[test]
fn steps_against_another_caller() {
    explore(Some(1), || {
        with_crew(SPINNING, Life::Body, |crew| {
            let (rows, between) = (Rows::new(2), Arc::new(Watched::new(0)));
            let other = {
                let (crew, rows, between) = (crew.clone(), rows.clone(), Arc::clone(&between));
                thread::spawn(move || {
                    let region = crew.region(2, false, |slot, _| {
                        if slot == 0 {
                            assert_eq!(between.get() % 2, 0, "a step is to come");
                        }
                        rows.bump(slot);
                    });
                    assert!(region);
                })
            };
            crew.steps(|| {
                between.set(between.get() + 1);
                (0..2).for_each(|_| assert!(rows.region(crew, 2, false)));
                between.set(between.get() + 1);
            });
            other.join().unwrap();
            assert_eq!(rows.seen(), [3, 3]);
        });
    });
}

/// A panic in a step cancels the later ones, and gives the turn.
#[test]
fn a_panic_in_a_step() {
    for panics in [|slot: usize| slot == 0, |slot: usize| slot == 1] {
        explore(Some(3), move || {
            with_crew(SPINNING, Life::Body, |crew| {
                let (first, later) = (Rows::new(2), Rows::new(2));
                let steps = || {
                    crew.steps(|| {
                        crew.region(2, false, |slot, _| {
                            first.bump(slot);
                            if panics(slot) {
                                panic_in(slot);
                            }
                        });
                        later.regions(crew, &[2], false);
                    });
                };
                match catch_unwind(AssertUnwindSafe(steps)) {
                    Ok(()) => panic!("no panic came out"),
                    Err(payload) => match payload.downcast::<usize>() {
                        Ok(slot) => assert!(panics(*slot)),
                        Err(other) => resume_unwind(other),
                    },
                }
                assert_eq!(later.seen(), [0, 0]);
                later.regions(crew, &[2], false);
            });
        });
    }
}
