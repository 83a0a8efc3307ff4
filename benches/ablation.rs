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
use support::cgroup::Group;
use support::child::{self, Child, Neighbour};
use support::prelude::*;

/// One scenario of a policy.
struct Ablation {
    /// As `ROWPOOL_WITHOUT` calls it, or what `figure` leaves out by itself.
    policy: &'static str,
    scenario: &'static str,
    /// Of a rate if it ends in "/s": more is better.
    unit: &'static str,
    /// Runs in a process of its own; told whether the policy is there.
    figure: fn(with: bool) -> f64,
    neighbours: &'static [Neighbour],
    /// A CPU quota, in hundredths.
    quota: Option<u32>,
}

const fn row(
    policy: &'static str,
    scenario: &'static str,
    unit: &'static str,
    figure: fn(bool) -> f64,
) -> Ablation {
    Ablation { policy, scenario, unit, figure, neighbours: &[], quota: None }
}

impl Ablation {
    const fn beside(self, neighbours: &'static [Neighbour]) -> Ablation {
        Ablation { neighbours, ..self }
    }
}

const ABLATIONS: [Ablation; 14] = [
    row("wake", "a small region every 5 ms", "µs", |_| {
        seldom::after_gaps(seldom::GAPS[1], &ROWPOOL)
    }),
    row("wake", "the first token after 1 s", "ms", |_| {
        seldom::first_of(&ROWPOOL, &mut Token::new(Format::Q8_0))[0]
    }),
    row("spin", "CPU of a region every ms", "% of a core", |_| {
        seldom::share(seldom::SHARES[2], &ROWPOOL)
    }),
    row("spin", "CPU of a region every 100 ms", "% of a core", |_| {
        seldom::share(seldom::SHARES[0], &ROWPOOL)
    }),
    Ablation {
        quota: Some(150),
        ..row("quota", "token under 1.5 CPUs", "tokens/s", |_| confined::measure(&ROWPOOL)[0])
    },
    row("timeslice", "token beside a hog", "ms", token).beside(&[Neighbour::HOGS[0]]),
    row("timeslice", "beside two", "ms", token).beside(&Neighbour::HOGS),
    row("placement", "beside a busy loop, unbound", "ms", token).beside(&[Neighbour::BUSY]),
    row("placement", "beside a compiler at nice 10", "ms", token).beside(&[light::COMPILER]),
    row("oversubscription", "two pools in turn", "ms", |_| {
        neighbours::in_turn(&ROWPOOL, &mut Token::new(Format::Q8_0))[0]
    }),
    row("weights", "long regions, the worker's CPU at 0.79", "ms", weighted).beside(&[SLOWER]),
    row("caller lock", "2 callers, not by a mutex", "regions/s", |own| calls(2, own)),
    row("caller lock", "4 callers", "regions/s", |own| calls(4, own)),
    row("caller lock", "8 callers", "regions/s", |own| calls(8, own)),
];

/// The token's median, in ms.
fn token(_: bool) -> f64 {
    let mut token = Token::new(Format::Q8_0);
    median(&ROWPOOL.run(|pool| tokens::decode(pool, &mut token, time(1200))))
}

/// Leaves 1024 / (1024 + 272) of its CPU, by the kernel's table of nice values.
const SLOWER: Neighbour = Neighbour { cpu: Some(1), nice: 6, ..Neighbour::BUSY };

/// A region of some 100 ms of work, with slots by the CPUs' shares or even ones.
fn weighted(by_share: bool) -> f64 {
    let mut facts = Topology::new(2);
    if by_share {
        facts.cpus[1].capacity = 1024 * 1024 / (1024 + 272);
    }
    let pool = Pool::builder().topology(facts).width(2).pin(true).build().expect("a pool");
    let work = callers::Work::calibrated();
    median_of(some(15, 1), || {
        let begun = Instant::now();
        work.region(&pool, time(100), &|| ());
        ms(begun.elapsed())
    })
}

/// Regions a second of so many callers, by the pool's own lock or by a mutex.
fn calls(callers: usize, own: bool) -> f64 {
    let pool = if own { ROWPOOL_COMMON } else { ROWPOOL_MUTEX };
    let work = callers::Work::calibrated();
    pool.run(|pool| callers::turn(pool, callers, work)[0])
}

/// What a turn's process is told: with or without, and which ablation.
fn turn(role: &str) {
    let (side, at) = role.split_once(' ').expect("two words");
    let ablation: &Ablation = &ABLATIONS[at.parse::<usize>().expect("a number")];
    println!("{}", (ablation.figure)(side == "with"));
}

fn main() {
    child::run(turn);
    let mut rows = Vec::new();
    for (at, ablation) in ABLATIONS.iter().enumerate().filter(|(_, it)| wanted(it.policy)) {
        let Ablation { policy, scenario, unit, neighbours, quota, .. } = ablation;
        let name = format!("{policy}: {scenario}");
        eprintln!("measuring: {name}");
        let group = quota.map(Group::with_quota).transpose();
        let Ok(group) = group.inspect_err(|why| println!("{name}: skipped: {why}")) else {
            continue;
        };
        let case = |side: &'static str| (name.clone().into(), side, side);
        let cases: [Case<&str>; 2] = ["with", "without"].map(case);
        let turns = Turns::of(rounds(15), &cases, |side| {
            let Some(_neighbours) = Neighbour::start_all(neighbours) else {
                return [f64::NAN; 3];
            };
            let without = if *side == "without" { policy } else { "" };
            let mut env = vec![("ROWPOOL_WITHOUT", without)];
            env.extend(group.as_ref().map(|group| (child::GROUP, group.dir())));
            Child::figures(&format!("{side} {at}"), None, &env)
        });
        rows.extend(turns.rows(|one| {
            let row = one.row(unit, 0);
            if one.candidate() == "without" {
                return vec![row];
            }
            let gain = match unit.ends_with("/s") {
                true => one.over(0, one.measure(), "without"),
                false => one.speed(0, one.measure(), "without"),
            };
            vec![row.compared("gain", gain, Some(Asked::Gains(1.03)))]
        }));
    }
    report::print("Policies, with and without", &rows);
}
