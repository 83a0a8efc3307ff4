//! Callers (C1), and steps: regions under one caller lock.

use super::*;

#[test]
fn two_callers_of_one_worker() {
    for setup in [PARKING, shared(PARKING)] {
        explore(Some(2), move || {
            with_team(setup, Life::Start, |team| {
                let rows = Rows::new(2);
                let other = {
                    let (team, rows) = (team.clone(), rows.clone());
                    thread::spawn(move || assert!(rows.region(&team, 2, false)))
                };
                assert!(rows.region(team, 2, false));
                other.join().unwrap();
                assert_eq!(rows.seen(), [2, 2]);
            });
        });
    }
}

/// ModelLock by themselves: one at a time, each sees what those before it did.
/// The tick says how long they find that they have waited.
/// `blocked`: who has waited for long gives up.
fn callers(preemptions: usize, callers: usize, rounds: usize, tick: Duration, blocked: bool) {
    explore(Some(preemptions), move || {
        let lock = Arc::new(ModelLock::new(tick, blocked));
        let state = Arc::new(Watched::new(0));
        let call = |_| {
            let (lock, state) = (Arc::clone(&lock), Arc::clone(&state));
            thread::spawn(move || {
                (0..rounds)
                    .filter(|_| {
                        lock.call(|n| {
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
            had += u32::from(lock.call(|n| {
                *n += 1;
                state.set(state.get() + 1);
                assert_eq!(state.get(), *n);
            }));
        }
        had += others.into_iter().map(|other| other.join().unwrap() as u32).sum::<u32>();
        // However the others ended, the turn can be had, and nothing is lost.
        assert!(lock.call(|n| assert_eq!(*n, had)));
        if tick.is_zero() || !blocked {
            assert_eq!(had as usize, callers * rounds, "nobody gives up");
        }
    });
}

#[test]
fn callers_that_look_again() {
    callers(3, 2, 2, ZERO, true);
}

#[test]
fn callers_that_nap() {
    callers(3, 2, 2, Duration::from_micros(100), true);
}

/// From the first look on: a batch of one that waits is over.
#[test]
fn callers_that_demand() {
    callers(3, 2, 2, Duration::from_millis(4), false);
}

#[test]
fn callers_that_give_up() {
    callers(3, 2, 2, Duration::from_millis(21), true);
}

#[test]
fn three_callers_that_demand() {
    callers(2, 3, 1, Duration::from_millis(4), false);
}

#[test]
fn three_callers_that_give_up() {
    callers(2, 3, 1, Duration::from_millis(21), true);
}

/// A scope of steps beside callers, who are let between after long: whoever has
/// the lock has it alone.
fn callers_beside_steps(tick: Duration) {
    explore(Some(3), move || {
        let lock = Arc::new(ModelLock::new(tick, true));
        let state = Arc::new(Watched::new(0));
        let other = {
            let (lock, state) = (Arc::clone(&lock), Arc::clone(&state));
            thread::spawn(move || {
                usize::from(lock.call(|n| {
                    *n += 1;
                    state.set(state.get() + 1);
                }))
            })
        };
        let had = lock.steps(2, |n| {
            *n += 1;
            state.set(state.get() + 1);
            assert_eq!(state.get(), *n);
        });
        let had = had + other.join().unwrap();
        assert!(lock.call(|n| assert_eq!(*n as usize, had)));
        if tick.is_zero() {
            assert_eq!(had, 3, "nobody gives up");
        }
    });
}

#[test]
fn callers_that_wait_for_steps() {
    callers_beside_steps(ZERO);
}

#[test]
fn callers_that_come_between_steps() {
    callers_beside_steps(Duration::from_millis(4));
    callers_beside_steps(Duration::from_millis(21));
}

// Steps: regions under one caller lock.

/// Steps of `widths`, and a region after them.
fn steps(preemptions: Option<usize>, setup: Setup, life: Life, widths: &'static [usize]) {
    explore(preemptions, move || {
        with_team(setup, life, |team| {
            let rows = Rows::new(setup.workers + 1);
            team.steps(|| rows.regions(team, widths, false));
            rows.regions(team, &widths[..1], false);
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
        with_team(PARKING, Life::Body, |team| {
            let between = Arc::new(Watched::new(0));
            let call = |team: &ModelTeam, between: &Watched<i32>| {
                team.steps(|| between.set(between.get() + 1));
            };
            let other = {
                let (team, between) = (team.clone(), Arc::clone(&between));
                thread::spawn(move || call(&team, &between))
            };
            call(team, &between);
            other.join().unwrap();
            assert_eq!(between.get(), 2);
        });
    });
}

/// Nobody has a region between the first step and the last.
#[test]
fn steps_against_another_caller() {
    explore(Some(1), || {
        with_team(SPINNING, Life::Body, |team| {
            let (rows, between) = (Rows::new(2), Arc::new(Watched::new(0)));
            let other = {
                let (team, rows, between) = (team.clone(), rows.clone(), Arc::clone(&between));
                thread::spawn(move || {
                    let region = team.region(2, false, |slot, _| {
                        if slot == 0 {
                            assert_eq!(between.get() % 2, 0, "a step is to come");
                        }
                        rows.bump(slot);
                    });
                    assert!(region);
                })
            };
            team.steps(|| {
                between.set(between.get() + 1);
                (0..2).for_each(|_| assert!(rows.region(team, 2, false)));
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
            with_team(SPINNING, Life::Body, |team| {
                let (first, later) = (Rows::new(2), Rows::new(2));
                let steps = || {
                    team.steps(|| {
                        team.region(2, false, |slot, _| {
                            first.bump(slot);
                            if panics(slot) {
                                panic_in(slot);
                            }
                        });
                        later.regions(team, &[2], false);
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
                later.regions(team, &[2], false);
            });
        });
    }
}
