//! One decode step of SmolLM2-135M's shape, serial and on each pool, in int8
//! and f32: each shape, the whole, and the limit. The tables decide (alternated
//! rounds, paired ratios); criterion keeps the history.
//!
//! `RUSTFLAGS="-C target-cpu=native" cargo bench -p rowpool-bench --bench gemv`

#[path = "support/published.rs"]
mod published;
mod support;

use criterion::Criterion;
use published::{ferrox_rows, FERROX, FORKUNION, RAYON_INSIDE, RAYON_OUTSIDE};
use std::time::{Duration, Instant};
use support::candidate::{ROWPOOL, ROWPOOL_OVER, SERIAL, YARDSTICK};
use support::token::{Format, Token};
use support::token_table::{print, rowpool_rows, serial_rows, Ratio, Way};

const WAYS: [Way; 10] = [
    Way::Regions(SERIAL),
    Way::Regions(ROWPOOL),
    Way::Gemv,
    Way::Regions(ROWPOOL_OVER),
    Way::Limit(YARDSTICK),
    Way::Regions(YARDSTICK),
    Way::Regions(FORKUNION),
    Way::Regions(RAYON_INSIDE),
    Way::Regions(RAYON_OUTSIDE),
    Way::Regions(FERROX),
];

/// As ferrox calls its pool: one closure for each row, hence the kernel of one
/// row, which is slower.
const BY_ROW: [Way; 3] = [
    Way::ByRow("serial, by row", serial_rows),
    Way::ByRow("rowpool::threads, by row", rowpool_rows),
    Way::ByRow("ferrox threads, by row", ferrox_rows),
];

fn main() {
    published::set_up();
    let mut criterion = Criterion::default().configure_from_args();
    for (format, rounds) in [(Format::Q8_0, 25), (Format::F32, 9)] {
        // Hundreds of MB: one at a time.
        let mut token = Token::new(format);
        if support::wanted("gemv_table") {
            print("Token, T = 2", &mut token, &WAYS, &ratios(), support::rounds(rounds));
            if format == Format::Q8_0 {
                let required = Some(1.0);
                let drop_in =
                    Ratio { over: BY_ROW[1].name(), under: BY_ROW[2].name(), least: required };
                print("Token by rows, T = 2", &mut token, &BY_ROW, &[drop_in], support::rounds(9));
            }
        }
        track(&mut criterion, &mut token);
    }
    criterion.final_summary();
}

fn ratios() -> Vec<Ratio> {
    let own = ROWPOOL.name;
    let peers = [FORKUNION, RAYON_INSIDE, RAYON_OUTSIDE, FERROX];
    let peers = peers.map(|peer| Ratio { over: own, under: peer.name, least: Some(1.0) });
    let mut ratios = vec![
        Ratio { over: own, under: YARDSTICK.name, least: Some(0.98) },
        Ratio { over: own, under: Way::Limit(YARDSTICK).name(), least: None },
        Ratio { over: YARDSTICK.name, under: Way::Limit(YARDSTICK).name(), least: None },
        Ratio { over: ROWPOOL_OVER.name, under: own, least: Some(0.95) },
        Ratio { over: Way::Gemv.name(), under: own, least: None },
    ];
    ratios.extend(peers);
    ratios
}

fn track(criterion: &mut Criterion, token: &mut Token) {
    let mut group = criterion.benchmark_group(format!("token_{:?}", token.format()).to_lowercase());
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    for way in &WAYS {
        group.bench_function(way.name(), |bencher| {
            bencher.iter_custom(|steps| {
                let mut time = Duration::ZERO;
                way.run(&mut |mut step| {
                    step.decode(token);
                    let begun = Instant::now();
                    (0..steps).for_each(|_| step.decode(token));
                    time = begun.elapsed();
                });
                time
            });
        });
    }
    group.finish();
}
