//! Settings, placement, weights and bounds over small made-up systems.

#[path = "common/tree.rs"]
mod tree;
#[path = "../examples/topology/warn.rs"]
mod warn;

use rowpool::topology::{Reason, Settings, Topology, Width, FULL_CAPACITY};
use tree::SYS;
use warn::warnings;

/// 4 P-cores with SMT on CPUs 0 to 7 and 4 E-cores on 8 to 11; then `more`.
fn hybrid(more: &[(&str, &str)]) -> Topology {
    let tree = tree::Tree::empty();
    tree.write(&format!("{SYS}/online"), b"0-11");
    for cpu in 0..8 {
        let siblings = format!("{}-{}", cpu & !1, cpu | 1);
        let path = format!("{SYS}/cpu{cpu}/topology/core_cpus_list");
        tree.write(&path, siblings.as_bytes());
    }
    tree.write("sys/devices/cpu_core/cpus", b"0-7");
    tree.write("sys/devices/cpu_atom/cpus", b"8-11");
    for (path, content) in more {
        tree.write(path, content.as_bytes());
    }
    Topology::read_from(tree.root())
}

fn set(threads: usize) -> Settings {
    Settings { threads: Some(threads), source: "ROWPOOL_NUM_THREADS".into() }
}

#[test]
fn a_setting_wins_and_may_exceed_everything() {
    let narrow = hybrid(&[("sys/fs/cgroup/cpu.max", "200000 100000")]);
    assert_eq!(Width::new(&narrow, &Settings::default()).threads, 2);
    let width = Width::new(&narrow, &set(100));
    assert_eq!(width.threads, 100);
    assert_eq!(width.cpus.len(), 12);
    let reason = "100 threads: set by ROWPOOL_NUM_THREADS; 2 CPUs usable";
    assert_eq!(width.reason.to_string(), reason);
    assert_eq!(Width::new(&narrow, &set(usize::MAX)).threads, usize::MAX);
}

#[test]
fn zero_threads_are_no_setting() {
    let width = Width::new(&hybrid(&[]), &set(0));
    assert_eq!(width.threads, 4);
    assert!(matches!(width.reason, Reason::Cores { .. }));
}

/// S3, S5: above the P-cores come E-cores, then siblings.
#[test]
fn wider_than_the_performance_cores() {
    let topology = hybrid(&[]);
    let order = [0, 2, 4, 6, 8, 9, 10, 11, 1, 3, 5, 7];
    for threads in 1..=12 {
        assert_eq!(Width::new(&topology, &set(threads)).cpus, order[..threads]);
    }
}

#[test]
fn small_slots_for_small_cores() {
    let topology = hybrid(&[]);
    assert_eq!(Width::new(&topology, &set(4)).weights(4), None);
    let six = Width::new(&topology, &set(6));
    // 614/1024: the figure for an E-core where the system gives none.
    assert_eq!(six.weights(6), Some(vec![1024, 1024, 1024, 1024, 614, 614]));
    // A bound below the width leaves equal cores.
    assert_eq!(six.weights(3), None);
    assert_eq!(six.weights(0), None);
}

#[test]
fn siblings_share_their_core() {
    let width = Width::new(&hybrid(&[]), &set(10));
    let expected = [512, 512, 1024, 1024, 614, 614, 614, 614, 512, 512];
    assert_eq!(width.capacities, expected);
    // Two of the P-cores run two threads; all P-slots weigh the mean.
    let weights = [682, 682, 682, 682, 614, 614, 614, 614, 682, 682];
    assert_eq!(width.weights(10), Some(weights.to_vec()));
    // Without the siblings the cores are whole again.
    assert_eq!(width.weights(5), Some(vec![1024, 1024, 1024, 1024, 614]));
}

/// Between the cores and the threads of equal cores: which of the workers is
/// alone on its core is the system's choice, so no slot may be larger.
#[test]
fn equal_cores_with_some_siblings_have_equal_slots() {
    let tree = tree::Tree::empty();
    tree.write(&format!("{SYS}/online"), b"0-7");
    for cpu in 0..8 {
        let siblings = format!("{}-{}", cpu & !1, cpu | 1);
        let path = format!("{SYS}/cpu{cpu}/topology/core_cpus_list");
        tree.write(&path, siblings.as_bytes());
    }
    let topology = Topology::read_from(tree.root());
    for threads in 1..=8 {
        assert_eq!(Width::new(&topology, &set(threads)).weights(threads), None);
    }
}

#[test]
fn capacities_are_the_systems_where_it_has_them() {
    let tree = tree::Tree::empty();
    tree.write(&format!("{SYS}/online"), b"0-3");
    for (cpu, capacity) in ["300", "860", "1000", "1024"].iter().enumerate() {
        tree.write(&format!("{SYS}/cpu{cpu}/cpu_capacity"), capacity.as_bytes());
    }
    let width = Width::new(&Topology::read_from(tree.root()), &set(4));
    assert_eq!(width.cpus, [3, 2, 1, 0]);
    assert_eq!(width.capacities, [FULL_CAPACITY, 1000, 860, 300]);
    // 1000 is within 1/32 of 1024: one kind of core.
    assert_eq!(width.weights(2), None);
    assert_eq!(width.weights(3), Some(vec![1024, 1000, 860]));
}

/// S1, S6: siblings and E-cores can be used, CPUs outside of the mask cannot.
#[test]
fn the_bound_of_the_active_width() {
    let quota = ("sys/fs/cgroup/cpu.max", "350000 100000");
    let mask = ("proc/self/status", "Cpus_allowed_list:\t1,9-10,40");
    assert_eq!(hybrid(&[]).usable(), 12);
    assert_eq!(hybrid(&[quota]).usable(), 3);
    assert_eq!(hybrid(&[mask]).usable(), 3);
    let half = ("sys/fs/cgroup/cpu.max", "50000 100000");
    assert_eq!(hybrid(&[mask, half]).usable(), 1);
}

#[test]
fn warnings_name_what_bounds() {
    let warn = |topology: &Topology, name: &'static str, value: &'static str| {
        let lookup = |asked: &str| (asked == name).then(|| value.to_string());
        let found = warnings(topology, lookup);
        found.iter().map(|warning| warning.to_string()).collect::<Vec<_>>()
    };
    let four = hybrid(&[("sys/fs/cgroup/cpu.max", "400000 100000")]);
    let expected = "RAYON_NUM_THREADS=16 exceeds the 4 CPUs of this cgroup";
    assert_eq!(warn(&four, "RAYON_NUM_THREADS", "16"), [expected]);
    assert!(warn(&four, "RAYON_NUM_THREADS", "4").is_empty());
    assert!(warn(&four, "RAYON_NUM_THREADS", "many").is_empty());
    assert!(warn(&four, "SOMETHING_ELSE", "16").is_empty());

    let masked = hybrid(&[("proc/self/status", "Cpus_allowed_list:\t3")]);
    let expected = "OMP_NUM_THREADS=8 exceeds the one CPU of this process's affinity mask";
    assert_eq!(warn(&masked, "OMP_NUM_THREADS", "8,2"), [expected]);

    let expected = "ROWPOOL_NUM_THREADS=13 exceeds the 12 CPUs of this machine";
    assert_eq!(warn(&hybrid(&[]), "ROWPOOL_NUM_THREADS", " 13 "), [expected]);

    let half = hybrid(&[("sys/fs/cgroup/cpu.max", "5000 100000")]);
    let expected = "the quota of 0.05 CPUs stops even one thread for a part of each period";
    assert_eq!(warn(&half, "", ""), [expected]);
}
