//! The token under a mask of one CPU, and under CPU quotas. Each turn is a
//! process of its own: a pool learns of both when it is made.

use super::report::{digits, Asked, Row};
use super::{announce, is_ours, time, tokens, usual_rounds, Cast, Rows, Turns, MS};
use crate::support::candidate::SERIAL;
use crate::support::cgroup::{self, Group};
use crate::support::child::Child;
use crate::support::fork::{Candidate, Fork};
use crate::support::rounds::{alternate, Series};
use crate::support::stats::{median, ratios};
use crate::support::token::{Format, Token};
use crate::support::wanted;
use std::path::Path;
use std::time::{Duration, Instant};

const ONE_CPU: &str = "one_cpu";
/// In hundredths of a CPU, with the least that is asked over serial code.
const QUOTAS: [(&str, u32, Option<f64>); 3] =
    [("quota_100", 100, Some(0.95)), ("quota_150", 150, Some(1.0)), ("quota_200", 200, None)];

/// When a pool is made: inside its group it sees the quota, and rowpool's
/// active width is the quota's floor. One that was made before does not, and
/// its width is the quota's ceiling.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Inside,
    Before,
}

/// What a turn in a process of its own measured.
struct Turn {
    /// Tokens a second, parts of a token included.
    rate: f64,
    /// The longest region, in ms.
    longest: f64,
    /// How long its CPUs stood still, in ms a second.
    throttled: f64,
}

/// What a process of its own is told, in words: threads, when to enter which
/// group ("-": none), the candidate's name last.
fn role(candidate: &Candidate, made: Made, group: Option<&Path>) -> String {
    let when = if made == Made::Inside { "inside" } else { "before" };
    let group = group.map_or("-".into(), |dir| dir.display().to_string());
    format!("turn {} {when} {group} {}", candidate.threads, candidate.name)
}

/// A turn, in the process of its own.
pub fn turn(role: &str, cast: &Cast<'_>) {
    let words: Vec<&str> = role.splitn(5, ' ').collect();
    let &["turn", threads, when, group, name] = &words[..] else {
        panic!("an unknown role: {role}");
    };
    let threads = threads.parse().expect("a number of threads");
    let found = cast.all.iter().find(|candidate| candidate.name == name);
    let candidate = Candidate { threads, ..*found.expect("a candidate") };
    let group = Some(Path::new(group)).filter(|_| group != "-");
    let enter = || group.map_or(Ok(()), cgroup::join).expect("the group is ours");
    // Before the group is entered: it takes longer than the rest.
    let mut token = Token::new(Format::Q8_0);
    if when == "inside" {
        enter();
    }
    candidate.run(&mut |pool| {
        if when == "before" {
            enter();
        }
        let Turn { rate, longest, throttled } = measure(pool, &mut token, group);
        println!("{rate} {longest} {throttled}");
    });
}

fn measure(pool: &mut dyn Fork, token: &mut Token, group: Option<&Path>) -> Turn {
    let stood = || group.and_then(cgroup::throttled).unwrap_or_default();
    pool.paced(token, tokens::limit());
    let (before, begun) = (stood(), Instant::now());
    let (mut done, mut longest) = (0.0, Duration::ZERO);
    while begun.elapsed() < time(1200 * MS) {
        let step = pool.paced(token, tokens::limit());
        done += step.done;
        longest = longest.max(step.longest);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let throttled = stood().saturating_sub(before);
    Turn {
        rate: done / seconds,
        longest: longest.as_secs_f64() * 1e3,
        throttled: throttled.as_secs_f64() * 1e3 / seconds,
    }
}

/// NaN where the child could not do it.
fn in_child(child: Option<Child>) -> Turn {
    let said = child.and_then(|mut child| child.says()).unwrap_or_default();
    let figures: Vec<f64> = said.split(' ').filter_map(|word| word.parse().ok()).collect();
    match figures[..] {
        [rate, longest, throttled] => Turn { rate, longest, throttled },
        _ => Turn { rate: f64::NAN, longest: f64::NAN, throttled: f64::NAN },
    }
}

pub fn play(cast: &Cast<'_>) -> Rows {
    let mut rows = Rows::new();
    if wanted(ONE_CPU) {
        announce(ONE_CPU);
        let start = |candidate: &Candidate, made| Child::start_on(0, &role(candidate, made, None));
        rows.extend(scene(cast, ONE_CPU, Some(0.95), false, start));
    }
    for (name, percent, least) in QUOTAS.into_iter().filter(|(name, ..)| wanted(name)) {
        announce(name);
        let group = match Group::with_quota(percent) {
            Ok(group) => group,
            Err(why) => {
                println!("{name}: skipped: {why}");
                continue;
            }
        };
        let start = |candidate: &Candidate, made| {
            Child::start(&role(candidate, made, Some(group.dir()))).ok()
        };
        rows.extend(scene(cast, name, least, true, start));
    }
    rows
}

/// All candidates under one restriction, rowpool also with the ceiling of the
/// quota where there is one.
fn scene(
    cast: &Cast<'_>,
    name: &'static str,
    least: Option<f64>,
    quota: bool,
    start: impl Fn(&Candidate, Made) -> Option<Child>,
) -> Rows {
    let mut cases: Vec<(&'static str, Candidate, Made)> =
        cast.all.iter().map(|&candidate| (candidate.name, candidate, Made::Inside)).collect();
    let ours = cast.all.iter().find(|candidate| is_ours(candidate.name));
    if let (true, Some(&ours)) = (quota, ours) {
        cases.push((CEILING, ours, Made::Before));
    }
    let names = cases.iter().map(|&(candidate, ..)| (name, candidate)).collect();
    let mut series = alternate(usual_rounds(), cases.len(), |i| {
        let (_, candidate, made) = &cases[i];
        in_child(start(candidate, *made))
    });
    series.iter_mut().for_each(|series| series.drop_if(|turn| turn.rate.is_nan()));
    let turns = Turns { names, series };
    let longest = |candidate| {
        let longest = turns.paired(name, candidate, |turn| turn.longest);
        longest.into_iter().flatten().fold(0.0, f64::max)
    };
    let row = |(_, candidate, series): (&str, &'static str, &Series<Turn>)| {
        let serial = turns.paired(name, SERIAL.name, |turn| turn.rate);
        let speed = ratios(&turns.paired(name, candidate, |turn| turn.rate), &serial);
        let asked = least.filter(|_| is_ours(candidate)).map(Asked::AtLeast);
        let stalls = format!("longest region {} ms", digits(longest(candidate)));
        let mut row = Row::new(name, candidate, series, "tokens/s", |turn| turn.rate)
            .compared("speed over serial", speed, asked)
            .note(&stalls);
        if quota {
            let stood = median(&series.figures(|turn| turn.throttled));
            row = row.note(&format!("throttled {} ms/s", digits(stood)));
        }
        if name == "quota_150" && is_ours(candidate) {
            // 100 ms, or what serial code has itself.
            let most = longest(SERIAL.name).max(100.0);
            let met = longest(candidate) <= most;
            row = row.required(&format!("longest region ≤ {} ms", digits(most)), met);
        }
        row
    };
    turns.iter().map(row).collect()
}

const CEILING: &str = "rowpool, made before the quota (its ceiling)";
