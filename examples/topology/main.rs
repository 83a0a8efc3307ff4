//! Prints the CPUs that rowpool sees, the width that it chooses, and why.
//! Attach its output to a report about speed.

mod warn;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use rowpool::topology::{CoreKind, CpuSet, Settings, Topology, Width};
use rowpool::Pool;
use serde_json::{json, Value};

const USAGE: &str = "\
usage: topology [--json] [--root DIR | --macos FILE | --windows FILE]

  --root DIR      read the Linux or Android system below DIR, laid out as /
  --macos FILE    read a Mac from JSON: {\"keys\": {\"hw.ncpu\": 8, ..}}
  --windows FILE  read a PC from JSON: {\"cores\": [{\"smt\": 1, \"eff\": 0,
                  \"group\": 0, \"mask\": \"0x3\"}, ..], \"process_mask\": \"0xff\"}
  --json          print one JSON object

Without a source it reads this machine, and asks each worker of a pool where
it is. Settings are those of the environment, as for a pool.";

/// The settings of a pool's width, in the order of precedence.
const SETTINGS: [&str; 4] =
    ["ROWPOOL_NUM_THREADS", "FERROX_GEMV_THREADS", "FERROX_CPU_THREADS", "RAYON_NUM_THREADS"];

enum Source {
    ThisMachine,
    Root(PathBuf),
    Macos(PathBuf),
    Windows(PathBuf),
}

fn main() -> ExitCode {
    match run() {
        Ok(output) => {
            // A reader that has seen enough (`| head`) is no error.
            let _ = std::io::stdout().write_all(output.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("topology: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<String, String> {
    let mut source = Source::ThisMachine;
    let mut as_json = false;
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let option = arg.to_str().unwrap_or_default();
        let chosen: fn(PathBuf) -> Source = match option {
            "--json" => {
                as_json = true;
                continue;
            }
            "--help" | "-h" => return Ok(format!("{USAGE}\n")),
            "--root" => Source::Root,
            "--macos" => Source::Macos,
            "--windows" => Source::Windows,
            _ => return Err(format!("unknown option {arg:?}; --help lists them")),
        };
        let path = args.next().ok_or(format!("{option} wants a path"))?;
        if !matches!(source, Source::ThisMachine) {
            return Err("only one of --root, --macos and --windows".into());
        }
        source = chosen(path.into());
    }

    let topology = match &source {
        Source::ThisMachine => Topology::detect(),
        Source::Root(root) => read_root(root)?,
        Source::Macos(file) => from_file(file, mac)?,
        Source::Windows(file) => from_file(file, pc)?,
    };
    let (pool, workers) = match source {
        Source::ThisMachine => workers()?,
        _ => (Value::Null, Vec::new()),
    };
    let facts = facts(&topology, pool, workers);
    Ok(match as_json {
        true => format!("{facts:#}\n"),
        false => text(&facts),
    })
}

fn read_root(root: &Path) -> Result<Topology, String> {
    std::fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    Ok(Topology::read_from(root))
}

/// Reads a file of one record.
fn from_file(
    file: &Path,
    read: fn(&Value) -> Result<Topology, String>,
) -> Result<Topology, String> {
    let named = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
    let record = serde_json::from_str(&text).map_err(|error| named(error.to_string()))?;
    read(&record).map_err(named)
}

/// As `sysctl hw` would print the keys.
fn mac(record: &Value) -> Result<Topology, String> {
    let keys = record["keys"].as_object().ok_or("wants one record with an object \"keys\"")?;
    let mut text = String::new();
    for (key, value) in keys {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let _ = writeln!(text, "{key}: {value}");
    }
    Ok(Topology::from_sysctl(&text))
}

fn pc(record: &Value) -> Result<Topology, String> {
    let cores = record["cores"].as_array().ok_or("wants one record with an array \"cores\"")?;
    let mut records = Vec::new();
    for core in cores {
        let bad = || format!("cannot read the core {core}");
        let number = |key: &str| core[key].as_u64().ok_or_else(bad);
        let efficiency: u8 = number("eff")?.try_into().map_err(|_| bad())?;
        let group: u16 = number("group")?.try_into().map_err(|_| bad())?;
        let mask = hex(&core["mask"]).ok_or_else(bad)?;
        records.extend(core_record(efficiency, group, mask));
    }
    let mask = match &record["process_mask"] {
        Value::Null => 0,
        mask => hex(mask).ok_or_else(|| format!("cannot read the process_mask {mask}"))?,
    };
    let mask = (0..64).filter(|cpu| mask >> cpu & 1 != 0).collect();
    Ok(Topology::from_processor_records(&records, &mask))
}

/// A `SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX` of a core: its relation (0) and
/// size, a body that ends with the number of its groups, and a `GROUP_AFFINITY`.
fn core_record(efficiency: u8, group: u16, mask: u64) -> [u8; 48] {
    let mut record = [0; 48];
    record[4] = 48;
    record[9] = efficiency;
    record[30] = 1;
    record[32..40].copy_from_slice(&mask.to_le_bytes());
    record[40..42].copy_from_slice(&group.to_le_bytes());
    record
}

fn hex(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

fn settings() -> Settings {
    let find = |name: &&str| {
        let threads = std::env::var(name).ok()?.trim().parse().ok();
        let threads = threads.filter(|&threads: &usize| threads > 0)?;
        Some(Settings { threads: Some(threads), source: name.to_string() })
    };
    SETTINGS.iter().find_map(find).unwrap_or_default()
}

/// The width of a default pool, and where each of its workers says that it is.
fn workers() -> Result<(Value, Vec<Value>), String> {
    let (sender, reports) = mpsc::channel();
    let report = move |slot: usize| {
        let _ = sender.send((slot, worker(slot)));
    };
    let pool = Pool::builder().on_worker_start(report).build();
    let pool = pool.map_err(|error| error.to_string())?;
    let mut workers = vec![(0, worker(0))];
    while workers.len() < pool.num_threads() {
        // A second is long, but this prints what it has rather than hang.
        match reports.recv_timeout(Duration::from_secs(1)) {
            Ok(report) => workers.push(report),
            Err(_) => break,
        }
    }
    workers.sort_by_key(|&(slot, _)| slot);
    let width = json!({"threads": pool.num_threads(), "active": pool.active_width()});
    Ok((width, workers.into_iter().map(|(_, worker)| worker).collect()))
}

/// Of the calling thread. Linux tells CPU and mask in files; elsewhere they are
/// null.
fn worker(slot: usize) -> Value {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok();
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok();
    // Field 39, counted from the end of the name, which may hold spaces.
    let cpu: Option<u64> = stat
        .as_deref()
        .and_then(|stat| stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok());
    let mask = status
        .as_deref()
        .and_then(|status| status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")));
    json!({
        "slot": slot,
        "cpu": cpu,
        "may_run_on": mask.map(str::trim),
        "qos": rowpool::threads::current_qos_name(),
    })
}

fn facts(topology: &Topology, pool: Value, workers: Vec<Value>) -> Value {
    let width = Width::new(topology, &settings());
    let by_rule = Width::new(topology, &Settings::default());
    let found = warn::warnings(topology, |name| std::env::var(name).ok());
    let found: Vec<String> = found.iter().map(|warning| warning.to_string()).collect();
    let kind = |kind: CoreKind| {
        let of_kind = topology.cpus.iter().filter(|cpu| cpu.kind == kind);
        of_kind.map(|cpu| cpu.id).collect::<CpuSet>().to_string()
    };
    let groups = |number: fn(&rowpool::topology::Cpu) -> usize| {
        let mut groups = std::collections::BTreeMap::<usize, CpuSet>::new();
        for cpu in &topology.cpus {
            groups.entry(number(cpu)).or_default().insert(cpu.id);
        }
        groups.values().map(|set| set.to_string()).collect::<Vec<_>>()
    };
    let cpus: Vec<Value> = topology
        .cpus
        .iter()
        .map(|cpu| json!({"id": cpu.id, "core": cpu.core, "capacity": cpu.capacity}))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "width": width.threads,
        "reason": width.reason.to_string(),
        "cpus": width.cpus,
        "quota": topology.quota.map(|quota| quota.cpus()),
        "usable": topology.usable(),
        "width_without_settings": by_rule.threads,
        "rule": topology.rule.name(),
        "weights": width.weights(width.threads),
        "online": topology.online().to_string(),
        "mask": topology.mask.as_ref().map(|mask| mask.to_string()),
        "performance": kind(CoreKind::Performance),
        "efficiency": kind(CoreKind::Efficiency),
        "cores": groups(|cpu| cpu.core),
        "clusters": groups(|cpu| cpu.cluster),
        "nodes": groups(|cpu| cpu.node),
        "capacities": cpus,
        "pool": pool,
        "workers": workers,
        "warnings": found,
    })
}

fn text(facts: &Value) -> String {
    let show = |value: &Value| match value {
        Value::Null => "none".to_string(),
        Value::String(text) if text.is_empty() => "none".to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let item = |item: &Value| item.as_str().map_or(item.to_string(), str::to_string);
            items.iter().map(item).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<12} {value}");
    };
    let unequal = |text: String| match text == "none" {
        true => "equal".to_string(),
        false => text,
    };
    line("width", show(&facts["width"]));
    line("reason", show(&facts["reason"]));
    line("slots on", show(&facts["cpus"]));
    line("weights", unequal(show(&facts["weights"])));
    line("usable CPUs", show(&facts["usable"]));
    line("quota", show(&facts["quota"]));
    line("mask", show(&facts["mask"]));
    line("online", show(&facts["online"]));
    line("performance", format!("{} (by {})", show(&facts["performance"]), show(&facts["rule"])));
    line("efficiency", show(&facts["efficiency"]));
    for name in ["cores", "clusters", "nodes"] {
        let groups = facts[name].as_array().map_or(0, Vec::len);
        line(name, format!("{groups}: {}", show(&facts[name])));
    }
    if let Some(pool) = facts["pool"].as_object() {
        line(
            "pool",
            format!("{} threads, {} active", show(&pool["threads"]), show(&pool["active"])),
        );
    }
    for worker in facts["workers"].as_array().into_iter().flatten() {
        let slot = show(&worker["slot"]);
        let who = match slot.as_str() {
            "0" => "caller".to_string(),
            _ => format!("worker {slot}"),
        };
        let cpu = show(&worker["cpu"]);
        let (mask, qos) = (show(&worker["may_run_on"]), show(&worker["qos"]));
        line(&who, format!("on CPU {cpu}, may run on {mask}, QoS {qos}"));
    }
    for warning in facts["warnings"].as_array().into_iter().flatten() {
        line("warning", show(warning));
    }
    out
}
