//! Callers, and steps: regions under one turn.

use super::*;

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
