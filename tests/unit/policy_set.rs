//! Tests of `src/policy/set.rs`, inside of it.

use super::*;

#[test]
fn policies_go_by_name() {
    let unknown = std::cell::RefCell::new(Vec::new());
    let note = |name: &str| unknown.borrow_mut().push(name.to_owned());
    let on = Policies::ALL.without_named(" timeslice,,nap , wake", note);
    let off: Vec<_> = Policy::ALL.iter().filter(|known| !on.has(known.0)).collect();
    assert_eq!(off, [&(Policy::Wake, "wake"), &(Policy::Timeslice, "timeslice")]);
    assert_eq!(unknown.into_inner(), ["nap"]);
    assert_eq!(Policies::ALL.without_named("", |_| ()), Policies::ALL);
}
