//! The machines of `tests/machines`, of which somebody had a dump or posted
//! figures: the width of each and its reason. Runs on every system.

#[path = "common/records.rs"]
mod records;
#[path = "common/tree.rs"]
mod tree;

use rowpool::topology::{CpuSet, Settings, Topology, Width};
use std::ops::RangeInclusive;
use tree::{list, Tree, SYS};

/// Fails with all that went wrong, not with the first.
fn all_hold(failures: Vec<String>, seen: usize, expected: usize) {
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert_eq!(seen, expected, "machines in the table");
}

fn width(topology: &Topology) -> Width {
    Width::new(topology, &Settings::default())
}

/// `4` or `4-8`.
fn accepted(text: &str) -> RangeInclusive<usize> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    least.parse().unwrap()..=most.parse().unwrap()
}

/// The lines of a table without its comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// Groups of CPUs: `0-1` is one, `0-7/2` are four neighbours each, `0-3+4` are
/// four of CPUs that are 4 apart.
fn groups(text: &str) -> Vec<Vec<usize>> {
    if let Some((all, size)) = text.split_once('/') {
        return list(all).chunks(size.parse().unwrap()).map(<[usize]>::to_vec).collect();
    }
    match text.split_once('+') {
        Some((first, apart)) => {
            let apart: usize = apart.parse().unwrap();
            list(first).into_iter().map(|cpu| vec![cpu, cpu + apart]).collect()
        }
        None => vec![list(text)],
    }
}

/// Writes what a line of the table says.
fn write(tree: &Tree, word: &str, rest: &str) {
    // As the kernel ends each text.
    let text = |text: &str| format!("{text}\n");
    match word {
        "online" => tree.write(&format!("{SYS}/online"), text(rest)),
        "mask" => tree.write("proc/self/status", format!("Name:\tx\nCpus_allowed_list:\t{rest}\n")),
        "core_cpus_list" | "thread_siblings_list" => {
            let (rest, end) = rest.strip_suffix(" nul").map_or((rest, "\n"), |rest| (rest, "\n\0"));
            for group in rest.split(' ').flat_map(groups) {
                let ids: Vec<String> = group.iter().map(|cpu| cpu.to_string()).collect();
                let ids = ids.join(",");
                tree.each(&ids, &format!("topology/{word}"), ids.clone() + end);
            }
        }
        "file" => {
            let (path, line) = rest.split_once(' ').unwrap();
            let before = std::fs::read_to_string(tree.root().join(path)).unwrap_or_default();
            tree.write(path, before + &text(line));
        }
        _ => {
            let file = match word {
                "on" => "online",
                "thread_siblings" => "topology/thread_siblings",
                "cpu_capacity" => "cpu_capacity",
                "highest_perf" => "acpi_cppc/highest_perf",
                "max_freq" => "cpufreq/cpuinfo_max_freq",
                "scaling_driver" => "cpufreq/scaling_driver",
                "midr_el1" => "regs/identification/midr_el1",
                _ => panic!("no such word: {word} {rest}"),
            };
            for part in rest.split(' ') {
                let (cpus, content) = part.split_once('=').unwrap();
                tree.each(cpus, file, text(content));
            }
        }
    }
}

/// S1, S3, S5 to S7, S11, S31, S35, S40, S46.
#[test]
fn linux_machines() {
    let (mut failures, mut seen) = (Vec::new(), 0);
    let table: Vec<&str> = lines(include_str!("machines/linux.txt")).collect();
    for machine in table.split(|line| line.is_empty()).filter(|machine| !machine.is_empty()) {
        let tree = Tree::empty();
        let (mut name, mut answer, mut range, mut reason) = ("", 0, 0..=0, "");
        for line in machine {
            match line.split_once(' ').unwrap() {
                ("machine", rest) => name = rest,
                ("width", rest) => {
                    let (number, right) = rest.split_once(" of ").unwrap_or((rest, rest));
                    (answer, range) = (number.parse().unwrap(), accepted(right));
                }
                ("reason", rest) => reason = rest,
                (word, rest) => write(&tree, word, rest),
            }
        }
        let topology = Topology::read_from(tree.root());
        let width = width(&topology);
        if width.reason.to_string() != reason || !range.contains(&width.threads) {
            failures.push(format!(
                "{name}: {}\n    want {answer} of {range:?}, {reason}",
                width.reason
            ));
        }
        // The chosen CPUs are as many as the threads, one a core, in the mask.
        let chosen: CpuSet = width.cpus.iter().copied().collect();
        let outside = chosen.iter().any(|cpu| !topology.allowed().contains(cpu));
        if chosen.len() != width.threads || outside {
            failures.push(format!("{name}: {} threads on {chosen}", width.threads));
        }
        seen += 1;
    }
    all_hold(failures, seen, 52);
}

/// S8, S9: Apple Silicon, Intel Macs, absent keys and denied calls.
#[test]
fn macs() {
    let (mut failures, mut seen) = (Vec::new(), 0);
    for line in lines(include_str!("machines/macs.txt")).filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let (name, want) = (words.next().unwrap(), accepted(words.next().unwrap()));
        let key = |word: &str| {
            let (key, value) = word.split_once('=').unwrap();
            let level = if key.contains('.') { "perflevel" } else { "" };
            format!("hw.{level}{key}: {value}\n")
        };
        let width = width(&Topology::from_sysctl(&words.map(key).collect::<String>()));
        if !want.contains(&width.threads) {
            failures.push(format!("{name}: {}, want {want:?}", width.reason));
        }
        seen += 1;
    }
    all_hold(failures, seen, 18);
}

/// S24: groups, classes and masks.
#[test]
fn pcs() {
    let (mut failures, mut seen) = (Vec::new(), 0);
    for line in lines(include_str!("machines/pcs.txt")).filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let (name, want) = (words.next().unwrap(), accepted(words.next().unwrap()));
        let (mut records, mut mask) = (Vec::new(), CpuSet::new());
        for word in words {
            if let Some(cpus) = word.strip_prefix("mask=") {
                mask = list(cpus).into_iter().collect();
                continue;
            }
            let (class, cores) = word.split_once(':').unwrap();
            for core in groups(cores) {
                let bits = core.iter().fold(0, |bits, cpu| bits | 1 << (cpu % 64));
                let group = (core[0] / 64) as u16;
                records.extend(records::core(class.parse().unwrap(), group, bits));
            }
        }
        let width = width(&Topology::from_processor_records(&records, &mask));
        if !want.contains(&width.threads) {
            failures.push(format!("{name}: {}, want {want:?}", width.reason));
        }
        seen += 1;
    }
    all_hold(failures, seen, 7);
}
