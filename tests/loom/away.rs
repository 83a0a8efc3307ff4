//! W6, W7: a worker that goes away between two slots and comes back by itself,
//! against everything that can happen meanwhile.

use super::*;

const AWAY: Setup = Setup { away: Some(None), ..PARKING };
const SPINNING_AWAY: Setup = Setup { away: Some(None), ..SPINNING };
/// Regions are narrower while it is away.
const NARROWED: Setup = Setup { away: Some(Some(1)), ..SPINNING };

#[test]
fn away_against_publish() {
    for setup in [SPINNING_AWAY, shared(SPINNING_AWAY)] {
        regions(Some(3), setup, Life::Body, &[2, 2]);
    }
}

/// Its caller waits for it as long as it is not away.
#[test]
fn away_against_a_patient_caller() {
    regions(Some(2), Setup { looks: 1, ..SPINNING_AWAY }, Life::Body, &[2, 2, 2]);
}

#[test]
fn two_away_against_publish() {
    regions(Some(1), two(AWAY), Life::Start, &[3, 2, 3]);
}

#[test]
fn away_against_a_region_that_wakes() {
    explore(Some(2), || {
        with_team(AWAY, Life::Body, |team| Rows::new(2).regions(team, &[2, 2, 2], true));
    });
}

/// A hint after a region, while the worker may be away, and another region.
fn hint(preemptions: usize, setup: Setup, hint: fn(&ModelTeam)) {
    explore(Some(preemptions), move || {
        with_team(setup, Life::Body, |team| {
            let rows = Rows::new(2);
            rows.regions(team, &[2], true);
            hint(team);
            rows.regions(team, &[2], true);
        });
    });
}

#[test]
fn away_against_wake() {
    hint(2, AWAY, ModelTeam::wake);
}

#[test]
fn away_against_rest() {
    hint(2, SPINNING_AWAY, ModelTeam::rest);
}

#[test]
fn away_against_rest_and_wake() {
    hint(2, SPINNING_AWAY, |team| {
        team.rest();
        team.wake();
    });
}

#[test]
fn stop_against_away() {
    for setup in [AWAY, SPINNING_AWAY, shared(SPINNING_AWAY)] {
        regions(Some(2), setup, Life::End, &[2]);
    }
}

/// Regions of the active width, which changes: each slot of each runs once.
#[test]
fn away_against_a_changing_width() {
    explore(Some(3), || {
        with_team(NARROWED, Life::Body, |team| {
            for _ in 0..2 {
                let frame = Watched::new(1);
                let rows = Rows::new(2);
                team.region(None, false, |slot, width| {
                    assert_eq!(frame.get(), 1);
                    assert!(slot < width && width <= 2);
                    rows.bump(slot);
                });
                frame.set(0);
                let seen = rows.seen();
                assert!(seen == [1, 1] || seen == [1, 0], "{seen:?}");
            }
        });
    });
}

/// Once it is back, the width is what it was.
#[test]
fn the_width_comes_back() {
    explore(Some(2), || {
        with_team(NARROWED, Life::Body, |team| {
            Rows::new(2).regions(team, &[2], false);
            while team.asleep() != 0 || team.active() != 2 {
                thread::yield_now();
            }
        });
    });
}
