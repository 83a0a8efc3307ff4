//! The token on an idle machine and beside the light neighbours that laptops and
//! servers really have, against the better of the bare spin pools. What users feel
//! is asked for here, so no turn is dropped, whoever used the CPUs.

use super::{begin, tokens, usual_rounds, Candidates};
use crate::support::child::Neighbour;
use crate::support::prelude::*;
use crate::support::token::{layer, Shape};

/// Bound to the worker's CPU, once in so many µs, for so many.
const fn every(period: u32, work: u32) -> Neighbour {
    Neighbour { cpu: Some(1), work, sleep: period - work, ..Neighbour::BUSY }
}

const TIMER: Neighbour = every(240, 20);
const KERNEL: Neighbour = every(1000, 100);
const BURST: Neighbour = every(10_000, 2000);
/// Busy, and the last to get a CPU.
pub const COMPILER: Neighbour = Neighbour { nice: 10, ..Neighbour::BUSY };
/// A frame, and the timers of pages.
const FRAMES: Neighbour = Neighbour { cpu: None, ..every(16_667, 3000) };
const PAGES: Neighbour = Neighbour { cpu: None, ..every(1000, 50) };
/// Some 60 000 packets a second, with their interrupts' work.
const NETWORK: Neighbour = Neighbour { work: 0, sleep: 100, packets: 10, ..Neighbour::BUSY };

/// A scene and who is in it.
type Scene = (&'static str, &'static [Neighbour]);
const SCENES: [Scene; 8] = [
    ("light_none", &[]),
    ("light_20us_per_240us", &[TIMER]),
    ("light_100us_per_ms", &[KERNEL]),
    ("light_2ms_per_10ms", &[BURST]),
    ("light_all_three", &[TIMER, KERNEL, BURST]),
    ("light_compiler", &[COMPILER]),
    ("light_browser", &[FRAMES, PAGES]),
    ("light_network", &[NETWORK]),
];

/// One layer of llama3-8b.
const LLAMA_8B: [Shape; 7] = layer(4096, 1024, 14336);

/// p50, p99 and, after 100 ms of idleness, the first token, in ms.
fn turn(((_, neighbours), candidate): &(Scene, Candidate), token: &mut Token) -> Figures {
    let Some(_neighbours) = Neighbour::start_all(neighbours) else {
        return [f64::NAN; 3];
    };
    candidate.run(|pool| {
        let times = tokens::decode(pool, token, time(1000));
        let first = median_of(some(3, 1), || {
            std::thread::sleep(time(100));
            ms(pool.paced(token, tokens::limit()).time)
        });
        [median(&times), quantile(&times, 0.99), first]
    })
}

pub fn run(candidates: &Candidates<'_>) -> Vec<Row> {
    let works = [
        ("int8", Format::Q8_0, None),
        ("f32", Format::F32, None),
        ("8b layer", Format::Q8_0, Some(&LLAMA_8B)),
    ];
    let mut rows = Vec::new();
    for (name, format, shapes) in works {
        let mut cases: Vec<Case<(Scene, Candidate)>> = Vec::new();
        for scene in SCENES {
            let measure = format!("{}, {name}", scene.0);
            if begin(&measure) {
                cases.extend(each(measure, scene, candidates.spin));
            }
        }
        if cases.is_empty() {
            continue;
        }
        let mut token = match shapes {
            Some(shapes) if !short() => Token::of(format, shapes),
            _ => Token::new(format),
        };
        let turn = |case: &_| turn(case, &mut token);
        let turns = Turns::within(|_| 1e3, usual_rounds(), &cases, turn);
        rows.extend(turns.rows(|one| figures(one, &cases)));
    }
    rows
}

/// The three figures, ours with the speed over the better spin pool of each round.
fn figures(one: One<'_>, cases: &[Case<(Scene, Candidate)>]) -> Vec<Row> {
    let rivals = cases.iter().map(|case| case.1).filter(|name| *name != ROWPOOL.name);
    let rivals: Vec<&str> = rivals.collect();
    let row = |(at, what): (usize, &str)| {
        let row = one.row_as(&format!("{}, {what}", one.measure()), one.candidate(), "ms", at);
        if one.candidate() != ROWPOOL.name {
            return row;
        }
        let speed = |name: &&str| one.speed(at, one.measure(), name);
        let worst = rivals.iter().map(speed).min_by(|a, b| a.median.total_cmp(&b.median));
        let asked = Some(Asked::AtLeast(0.99));
        row.compared("speed over the best spin pool", worst.unwrap_or_default(), asked)
    };
    [(0, "p50"), (1, "p99"), (2, "first")].into_iter().map(row).collect()
}
