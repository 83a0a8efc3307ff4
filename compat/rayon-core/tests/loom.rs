//! The package's protocols under loom, by the code that workers run.
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom`
#![cfg(loom)]

use rayon_core::model;

#[test]
fn a_letter_is_taken_once() {
    model::letter();
}

#[test]
fn the_sender_sees_the_answer() {
    model::answer();
}

#[test]
fn no_letter_finds_a_sleeper() {
    model::sleep();
}

#[test]
fn no_letter_finds_a_worker_parked_at_its_hosts() {
    model::host();
}

#[test]
fn no_job_is_left_at_a_lent_seat() {
    model::lease();
}
