//! The token under a mask of one CPU, and under CPU quotas. Each turn is a
//! process of its own: a pool learns of both when it is made.

use super::{begin, tokens, usual_rounds, Candidates};
use crate::support::cgroup::{self, Group};
use crate::support::child::{self, Child};
use crate::support::prelude::*;
use crate::support::report::digits;

/// Quotas in hundredths of a CPU (none: a mask of one), with the least that is
/// asked over serial code.
type Scene = (&'static str, Option<u32>, Option<f64>);
const SCENES: [Scene; 4] = [
    ("one_cpu", None, Some(0.95)),
    ("quota_100", Some(100), Some(0.95)),
    ("quota_150", Some(150), Some(1.0)),
    ("quota_200", Some(200), None),
];

/// A turn, in the process of its own: the role is the candidate's name.
pub fn turn(role: &str, candidates: &Candidates<'_>) {
    let found = candidates.all.iter().find(|candidate| candidate.name == role);
    let [rate, longest, throttled] = measure(found.expect("a candidate"));
    println!("{rate} {longest} {throttled}");
}

/// Tokens a second, parts of a token included; the longest region, in ms; how
/// long its CPUs stood still, in ms a second.
pub fn measure(candidate: &Candidate) -> Figures {
    let (mut token, group) = (Token::new(Format::Q8_0), std::env::var(child::GROUP).ok());
    let stood = || group.as_ref().and_then(|dir| cgroup::throttled(dir)).unwrap_or_default();
    candidate.run(|pool| {
        pool.paced(&mut token, tokens::limit());
        let (before, begun) = (stood(), Instant::now());
        let (mut done, mut longest) = (0.0, Duration::ZERO);
        while begun.elapsed() < time(1200) {
            let step = pool.paced(&mut token, tokens::limit());
            done += step.done;
            longest = longest.max(step.longest);
        }
        let seconds = begun.elapsed().as_secs_f64();
        [done / seconds, ms(longest), ms(stood().saturating_sub(before)) / seconds]
    })
}

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    let asked = SCENES.iter().filter(|scene| begin(scene.0));
    asked.flat_map(|scene| scenario(candidates, scene)).collect()
}

/// All candidates under one restriction.
fn scenario(candidates: &Candidates<'_>, &(name, quota, least): &Scene) -> Vec<Row> {
    let group = quota.map(Group::with_quota).transpose();
    let Ok(group) = group.inspect_err(|why| println!("{name}: skipped: {why}")) else {
        return Vec::new();
    };
    let env = group.as_ref().map(|group| (child::GROUP, group.dir()));
    let cpu = quota.is_none().then_some(0);
    let cases = each(name, (), candidates.all);
    let turns =
        Turns::of(usual_rounds(), &cases, |((), it)| Child::figures(it.name, cpu, env.as_slice()));
    let longest = |one: One<'_>| one.figures(1).into_iter().fold(0.0, f64::max);
    turns.rows(|one| {
        let ours = one.candidate() == ROWPOOL.name;
        let asked = least.filter(|_| ours).map(Asked::AtLeast);
        let mut row = one
            .row("tokens/s", 0)
            .compared("speed over serial", one.over(0, name, SERIAL.name), asked)
            .note(&format!("longest region {} ms", digits(longest(one))));
        if quota.is_some() {
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
