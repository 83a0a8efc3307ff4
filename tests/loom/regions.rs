//! Publish, take, help, done epoch (C2 to C7, W1 to W5), and panics (I7).

use super::*;

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

/// The caller looks before it helps.
#[test]
fn a_worker_within_its_grace() {
    regions(Some(3), Setup { looks: 1, ..SPINNING }, Life::Body, &[2, 2]);
}

/// A caller that has time waits for every owner, whichever gate it looks at.
#[test]
fn a_worker_at_the_last_gate_takes_part() {
    let setup = Setup { looks: 1000, ..two(SPINNING) };
    regions(Some(0), setup, Life::Body, &[3]);
}

/// The same where the last of two gates is the third worker's alone.
#[test]
fn a_worker_at_the_last_shared_gate_takes_part() {
    let setup = Setup { looks: 1000, workers: 3, ..shared(SPINNING) };
    regions(Some(0), setup, Life::Body, &[4]);
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

// Panics (I7).

/// A region in which the slots for which `panics` holds panic; gives the slot
/// whose panic reached the caller.
fn panicking(team: &ModelTeam, rows: &Rows, width: usize, panics: fn(usize) -> bool) -> usize {
    let region = || {
        team.region(width, false, |slot, _| {
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
        with_team(setup, Life::Body, |team| {
            let width = setup.workers + 1;
            let rows = Rows::new(width);
            let slot = panicking(team, &rows, width, panics);
            assert!(panics(slot));
            assert!(rows.seen().iter().all(|&times| times <= 1), "each slot at most once");
            assert_eq!(rows.seen()[slot], 1);
            rows.regions(team, &[width], false);
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
        with_team(two(PARKING), Life::Start, |team| {
            let rows = Rows::new(3);
            assert_ne!(panicking(team, &rows, 3, |slot| slot != 0), 0);
            rows.regions(team, &[3], false);
        });
    });
}
