//! The machines of `../shared/topology`: the width of each within its accepted
//! range, by the rule that should decide. Skipped where the folder is absent.

#[path = "topology_tree.rs"]
mod tree;

use std::fs;
use std::path::PathBuf;

use rowpool::topology::{macos, parse, windows, CpuSet, Settings, Topology, Width};
use serde_json::Value;

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/topology"));
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not there", folder.display());
    None
}

fn json(file: &str) -> Option<Value> {
    let text = fs::read_to_string(folder()?.join(file)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn threads(topology: &Topology) -> u64 {
    Width::new(topology, &Settings::default()).threads as u64
}

/// `accept`, else the answer alone.
fn accepted(record: &Value) -> std::ops::RangeInclusive<u64> {
    match record["accept"].as_array() {
        Some(range) => range[0].as_u64().unwrap()..=range[1].as_u64().unwrap(),
        None => {
            let answer = record["answer"].as_u64().unwrap();
            answer..=answer
        }
    }
}

/// Fails with all the records that do, not with the first.
fn all_hold(failures: Vec<String>, seen: usize, expected: usize) {
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert_eq!(seen, expected, "records seen");
}

#[test]
fn linux_machines() {
    let Some(expected) = json("linux-expected.json") else {
        return;
    };
    let mut failures = Vec::new();
    let machines = expected.as_object().unwrap();
    for (name, expected) in machines {
        let path = folder().unwrap().join(format!("linux/{name}.txt"));
        let tree = tree::Tree::of(&fs::read_to_string(path).unwrap());
        let topology = Topology::read_from(tree.root());
        let width = Width::new(&topology, &Settings::default());
        let quota = topology.quota.map(|quota| quota.cpus());
        let rule = width.reason.rule().unwrap().name();
        if !accepted(expected).contains(&(width.threads as u64))
            || quota != expected["quota"].as_f64()
            || Some(rule) != expected["by"].as_str()
        {
            failures.push(format!("{name}: {}, quota {quota:?}, want {expected}", width.reason));
        }
        // The chosen CPUs are as many as the threads, one a core, in the mask.
        let chosen: CpuSet = width.cpus.iter().copied().collect();
        let outside = chosen.iter().any(|cpu| !topology.allowed().contains(cpu));
        if chosen.len() != width.threads || outside {
            failures.push(format!("{name}: {} threads on {chosen}", width.threads));
        }
    }
    all_hold(failures, machines.len(), 48);
}

#[test]
fn every_linux_file_has_an_expectation() {
    let (Some(folder), Some(expected)) = (folder(), json("linux-expected.json")) else {
        return;
    };
    for file in fs::read_dir(folder.join("linux")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".txt").unwrap();
        assert!(expected.get(name).is_some(), "{name}");
    }
}

/// S8, S9: Apple Silicon, Intel Macs, absent keys and denied calls.
#[test]
fn macs() {
    let Some(records) = json("macos-sysctl.json") else {
        return;
    };
    let records = records.as_array().unwrap();
    let mut failures = Vec::new();
    for record in records {
        let read = |key: &str| match &record["keys"][key] {
            Value::Number(number) => Some(macos::Value::Number(number.as_i64().unwrap())),
            Value::String(text) => Some(macos::Value::Text(text.clone())),
            _ => None,
        };
        let threads = threads(&macos::topology(read, 1));
        if !accepted(record).contains(&threads) {
            failures.push(format!("{threads} for {record}"));
        }
    }
    all_hold(failures, records.len(), 18);
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// S24: groups, classes and masks.
#[test]
fn windows_machines() {
    let Some(records) = json("windows-cores.json") else {
        return;
    };
    let records = records.as_array().unwrap();
    let mut failures = Vec::new();
    for record in records {
        let cores = record["cores"].as_array().unwrap().iter();
        let cores = cores.map(|core| windows::Core {
            efficiency: core["eff"].as_u64().unwrap() as u8,
            cpus: windows::GroupMask {
                group: core["group"].as_u64().unwrap() as u16,
                mask: hex(core["mask"].as_str().unwrap()),
            },
        });
        let facts = windows::Records { cores: cores.collect(), ..Default::default() };
        let mask = record["process_mask"].as_str().map_or(0, hex);
        let process = windows::GroupMask { group: 0, mask };
        let threads = threads(&windows::topology(&facts, process, 1));
        if !accepted(record).contains(&threads) {
            failures.push(format!("{}: {threads}, want {}", record["name"], record["answer"]));
        }
    }
    all_hold(failures, records.len(), 7);
}

#[test]
fn cpu_list_cases() {
    let Some(cases) = json("cpulist-cases.json") else {
        return;
    };
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let set = parse::cpu_list(case["text"].as_str().unwrap());
        let right = if let Some(members) = case["set"].as_array() {
            let members = members.iter().map(|cpu| cpu.as_u64().unwrap() as usize);
            set == members.collect::<CpuSet>()
        } else if let Some(count) = case["n"].as_u64() {
            set.len() as u64 == count
        } else {
            // These must be survived.
            set.len() <= rowpool::topology::MAX_CPUS
        };
        if !right {
            failures.push(format!("{case} gives {set}"));
        }
    }
    all_hold(failures, cases.len(), 13);
}

#[test]
fn cgroup_quota_cases() {
    let Some(cases) = json("cgroup-quota-cases.json") else {
        return;
    };
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let text = |key: &str| case[key].as_str().unwrap();
        let quota = match case["v"].as_u64() {
            Some(2) => parse::cpu_max(text("text")),
            _ => parse::cfs_quota(text("quota"), Some(text("period"))),
        };
        let quota = quota.map(|quota| quota.cpus());
        if quota != case["q"].as_f64() {
            failures.push(format!("{case} gives {quota:?}"));
        }
    }
    all_hold(failures, cases.len(), 15);
}
