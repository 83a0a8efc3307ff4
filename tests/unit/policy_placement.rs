//! Tests of `src/policy/placement.rs`, inside of it.

#[test]
fn only_known_cpus_that_are_the_same_collide() {
    assert!(super::collides(Some(0), Some(0)));
    assert!(!super::collides(Some(0), Some(1)));
    assert!(!super::collides(None, None));
    assert!(!super::collides(Some(1), None));
    assert!(!super::collides(None, Some(1)));
}
