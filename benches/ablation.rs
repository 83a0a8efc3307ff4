//! What each policy of the pool gains: its own scenario with the policy and
//! without it (`ROWPOOL_WITHOUT`), each turn a process of its own, alternated in
//! one run. The gain is that of speed, or the share of CPU time that is saved: the
//! median of the rounds' ratios and its interval of 95%. A policy that does not
//! gain 3%, with the interval clear of zero, has no place in the pool.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench ablation --
//! [FILTER] [--test]`; a filter is a part of a policy's name.

mod scenarios;
mod support;

use rowpool::topology::Topology;
use rowpool::Pool;
use scenarios::{callers, confined, light, neighbours, seldom, tokens};
use support::cgroup::{self, Group};
use support::child::{self, Child, Hog, Light};
use support::prelude::*;

/// One scenario of a policy.
struct Ablation {
    /// As `ROWPOOL_WITHOUT` calls it, or what `figure` leaves out by itself.
    policy: &'static str,
    scenario: &'static str,
    unit: Unit,
    /// Runs in a process of its own; told whether the policy is there.
    figure: fn(with: bool) -> f64,
    /// CPUs with a busy neighbour.
    hogs: &'static [usize],
    /// Light neighbours, and busy ones that are not bound.
    lights: &'static [Light],
    /// A CPU quota, in hundredths.
    quota: Option<u32>,
}

/// What a figure is, and so whether more of it is better.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Time(&'static str),
    Rate(&'static str),
}
use Unit::{Rate, Time};

const fn row(
    policy: &'static str,
    scenario: &'static str,
    unit: Unit,
    figure: fn(bool) -> f64,
) -> Ablation {
    Ablation { policy, scenario, unit, figure, hogs: &[], lights: &[], quota: None }
}

const ABLATIONS: [Ablation; 14] = [
    row("wake", "a small region every 5 ms", Time("µs"), |_| {
        seldom::after_gaps(seldom::GAPS[1], &ROWPOOL)
    }),
    row("wake", "the first token after 1 s", Time("ms"), |_| {
        seldom::first_of(&ROWPOOL, &mut Token::new(Format::Q8_0))[0]
    }),
    row("spin", "CPU of a region every ms", Time("% of a core"), |_| {
        seldom::share(seldom::SHARES[2], &ROWPOOL)
    }),
    row("spin", "CPU of a region every 100 ms", Time("% of a core"), |_| {
        seldom::share(seldom::SHARES[0], &ROWPOOL)
    }),
    Ablation {
        quota: Some(150),
        ..row("quota", "token under 1.5 CPUs", Rate("tokens/s"), |_| {
            let mut token = Token::new(Format::Q8_0);
            ROWPOOL.run(|pool| confined::measure(pool, &mut token, None)[0])
        })
    },
    Ablation { hogs: &[1], ..row("timeslice", "token beside a hog", Time("ms"), token) },
    Ablation { hogs: &[0, 1], ..row("timeslice", "beside two", Time("ms"), token) },
    Ablation {
        lights: &[light::BUSY],
        ..row("placement", "beside a busy loop, unbound", Time("ms"), token)
    },
    Ablation {
        lights: &[light::COMPILER],
        ..row("placement", "beside a compiler at nice 10", Time("ms"), token)
    },
    row("oversubscription", "two pools in turn", Time("ms"), |_| {
        neighbours::in_turn(&ROWPOOL, &mut Token::new(Format::Q8_0))[0]
    }),
    Ablation {
        lights: &[SLOWER],
        ..row("weights", "long regions, the worker's CPU at 0.79", Time("ms"), weighted)
    },
    row("caller lock", "2 callers, not by a mutex", Rate("regions/s"), |own| calls(2, own)),
    row("caller lock", "4 callers", Rate("regions/s"), |own| calls(4, own)),
    row("caller lock", "8 callers", Rate("regions/s"), |own| calls(8, own)),
];

/// The token's median, in ms.
fn token(_: bool) -> f64 {
    let mut token = Token::new(Format::Q8_0);
    median(&ROWPOOL.run(|pool| tokens::decode(pool, &mut token, time(1200))))
}

/// Leaves 1024 / (1024 + 272) of its CPU, by the kernel's table of nice values.
const SLOWER: Light = Light { cpu: 1, nice: 6, ..light::BUSY };

/// A region of some 100 ms of work, with slots by the CPUs' shares or even ones.
fn weighted(by_share: bool) -> f64 {
    let mut facts = Topology::new(2);
    if by_share {
        facts.cpus[1].capacity = 1024 * 1024 / (1024 + 272);
    }
    let pool = Pool::builder().topology(facts).width(2).pin(true).build().expect("a pool");
    let work = callers::Work::calibrated();
    let times = (0..some(15, 1)).map(|_| ms(work.timed(&pool, 400, time(100))));
    median(&times.collect::<Vec<_>>())
}

/// Regions a second of so many callers, by the pool's own lock or by a mutex.
fn calls(callers: usize, own: bool) -> f64 {
    let pool = if own { ROWPOOL_COMMON } else { ROWPOOL_MUTEX };
    let work = callers::Work::calibrated();
    pool.run(|pool| callers::turn(pool, callers, work)[0])
}

/// What a turn's process is told: which ablation, with or without, its group.
fn turn(role: &str) {
    let words: Vec<&str> = role.splitn(3, ' ').collect();
    let [at, with, group] = words[..] else { panic!("an unknown role: {role}") };
    if !group.is_empty() {
        cgroup::join(group.as_ref()).expect("the group is ours");
    }
    let ablation: &Ablation = &ABLATIONS[at.parse::<usize>().expect("a number")];
    println!("{}", (ablation.figure)(with == "with"));
}

const SIDES: [&str; 2] = ["with", "without"];

fn main() {
    child::run(turn);
    let mut rows = Vec::new();
    for (at, ablation) in ABLATIONS.iter().enumerate().filter(|(_, it)| wanted(it.policy)) {
        let Ablation { policy, scenario, unit, hogs, lights, quota, .. } = ablation;
        eprintln!("measuring: {policy}, {scenario}");
        let group = match quota.map(Group::with_quota).transpose() {
            Ok(group) => group,
            Err(why) => {
                println!("{policy}, {scenario}: skipped: {why}");
                continue;
            }
        };
        let dir = group.as_ref().map_or(String::new(), |group| group.dir().display().to_string());
        let name = format!("{policy}: {scenario}");
        let cases: Vec<Case<&str>> =
            SIDES.iter().map(|side| (name.clone().into(), *side, *side)).collect();
        let turns = Turns::of(rounds(15), &cases, |side| {
            let Some(_neighbours) = Hog::on_all(hogs).zip(Hog::light(lights)) else {
                return [f64::NAN; 3];
            };
            let without = if *side == "without" { policy } else { "" };
            let role = format!("{at} {side} {dir}");
            let child = Child::start(&role, &[("ROWPOOL_WITHOUT", without)]);
            let said = child.ok().and_then(|mut child| child.says()?.parse().ok());
            [said.unwrap_or(f64::NAN); 3]
        });
        rows.extend(turns.rows(|one| {
            let (unit_name, gain) = match unit {
                Time(name) => (name, one.speed(0, one.measure(), "without")),
                Rate(name) => (name, one.over(0, one.measure(), "without")),
            };
            let row = one.row(unit_name, 0);
            vec![match one.candidate() {
                "with" => row.compared("gain", gain, Some(Asked::Gains(1.03))),
                _ => row,
            }]
        }));
    }
    report::print("Policies, with and without", &rows);
}
