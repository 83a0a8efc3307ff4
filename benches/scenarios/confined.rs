//! The token under a mask of one CPU, and under CPU quotas. Each turn is a
//! process of its own: a pool learns of both when it is made.

use super::{begin, tokens, usual_rounds, Candidates};
use crate::support::cgroup::{self, Group};
use crate::support::child::Child;
use crate::support::prelude::*;
use crate::support::report::digits;
use std::path::Path;

const ONE_CPU: &str = "one_cpu";
/// In hundredths of a CPU, with the least that is asked over serial code.
const QUOTAS: [(&str, u32, Option<f64>); 3] =
    [("quota_100", 100, Some(0.95)), ("quota_150", 150, Some(1.0)), ("quota_200", 200, None)];

/// What a process of its own is told, in words: which group to enter ("-": none),
/// the candidate's name last.
fn role(candidate: &Candidate, group: Option<&Path>) -> String {
    let group = group.map_or("-".into(), |dir| dir.display().to_string());
    format!("turn {group} {}", candidate.name)
}

/// A turn, in the process of its own.
pub fn turn(role: &str, candidates: &Candidates<'_>) {
    let words: Vec<&str> = role.splitn(3, ' ').collect();
    let &["turn", group, name] = &words[..] else {
        panic!("an unknown role: {role}");
    };
    let found = candidates.all.iter().find(|candidate| candidate.name == name);
    let group = Some(Path::new(group)).filter(|_| group != "-");
    // Before the group is entered: it takes longer than the rest.
    let mut token = Token::new(Format::Q8_0);
    group.map_or(Ok(()), cgroup::join).expect("the group is ours");
    let run = |pool: &mut dyn Fork| measure(pool, &mut token, group);
    let [rate, longest, throttled] = found.expect("a candidate").run(run);
    println!("{rate} {longest} {throttled}");
}

/// Tokens a second, parts of a token included; the longest region, in ms; how
/// long its CPUs stood still, in ms a second.
pub fn measure(pool: &mut dyn Fork, token: &mut Token, group: Option<&Path>) -> Figures {
    let stood = || group.and_then(cgroup::throttled).unwrap_or_default();
    pool.paced(token, tokens::limit());
    let (before, begun) = (stood(), Instant::now());
    let (mut done, mut longest) = (0.0, Duration::ZERO);
    while begun.elapsed() < time(1200) {
        let step = pool.paced(token, tokens::limit());
        done += step.done;
        longest = longest.max(step.longest);
    }
    let seconds = begun.elapsed().as_secs_f64();
    [done / seconds, ms(longest), ms(stood().saturating_sub(before)) / seconds]
}

/// NaN where the child could not do it.
fn in_child(child: Option<Child>) -> Figures {
    let said = child.and_then(|mut child| child.says()).unwrap_or_default();
    let figures: Vec<f64> = said.split(' ').filter_map(|word| word.parse().ok()).collect();
    figures.try_into().unwrap_or([f64::NAN; 3])
}

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    if begin(ONE_CPU) {
        let start = |candidate: &_| Child::start_on(0, &role(candidate, None));
        rows.extend(scenario(candidates, ONE_CPU, Some(0.95), false, start));
    }
    for (name, percent, least) in QUOTAS {
        if !begin(name) {
            continue;
        }
        match Group::with_quota(percent) {
            Ok(group) => {
                let role = |candidate: &_| role(candidate, Some(group.dir()));
                let start = |candidate: &_| Child::start(&role(candidate), &[]).ok();
                rows.extend(scenario(candidates, name, least, true, start));
            }
            Err(why) => println!("{name}: skipped: {why}"),
        }
    }
    rows
}

/// All candidates under one restriction.
fn scenario(
    candidates: &Candidates<'_>,
    name: &'static str,
    least: Option<f64>,
    quota: bool,
    start: impl Fn(&Candidate) -> Option<Child>,
) -> Vec<Row> {
    let cases = each(name, candidates.all);
    let turns = Turns::of(usual_rounds(), &cases, |candidate| in_child(start(candidate)));
    let longest = |one: One<'_>| one.figures(1).into_iter().fold(0.0, f64::max);
    turns.rows(|one| {
        let ours = one.candidate() == ROWPOOL.name;
        let asked = least.filter(|_| ours).map(Asked::AtLeast);
        let mut row = one
            .row("tokens/s", 0)
            .compared("speed over serial", one.over(0, name, SERIAL.name), asked)
            .note(&format!("longest region {} ms", digits(longest(one))));
        if quota {
            row = row.note(&format!("throttled {} ms/s", digits(one.median(2))));
        }
        if name == "quota_150" && ours {
            // 100 ms, or what serial code has itself.
            let most = turns.one(name, SERIAL.name).map_or(0.0, longest).max(100.0);
            row = row
                .required(&format!("longest region ≤ {} ms", digits(most)), longest(one) <= most);
        }
        vec![row]
    })
}
