//! Serial and pool, products and reading in turns, so that what disturbs one
//! disturbs the others.

use std::time::{Duration, Instant};

use rowpool::Pool;
use rowpool_gemv::Input;

use crate::step::{Sample, Step, Work};

/// Steps in a turn where they are short: a model decodes many in a row, and
/// the pool's workers are awake for all but the first.
const TURN: usize = 4;
/// A turn should not take longer.
const LONG: Duration = Duration::from_millis(200);
/// A median of fewer says nothing.
const LEAST: usize = 3;

#[derive(Default)]
pub struct Samples {
    pub serial: Vec<Sample>,
    pub pool: Vec<Sample>,
    pub serial_read: Vec<Sample>,
    pub pool_read: Vec<Sample>,
    pub bitwise_equal: bool,
}

/// Runs turns for about `time`, but three steps of each kind at least.
pub fn alternate(step: &Step<'_>, pool: &Pool, time: Duration) -> Result<Samples, String> {
    let mut samples = Samples { bitwise_equal: true, ..Samples::default() };
    let mut x = Input::default();
    // Never equal by what was there before.
    let mut serial = vec![f32::NEG_INFINITY; step.outputs()];
    let mut pooled = vec![f32::INFINITY; step.outputs()];

    // Memory, caches, the pool's first measurements.
    step.run(Work::Multiply, Some(pool), &mut x, &mut pooled)?;
    let warm = step.run(Work::Multiply, None, &mut x, &mut serial)?;
    let turn = (LONG.as_nanos() as u64 / warm.token.max(1)).clamp(1, TURN as u64);

    let start = Instant::now();
    for pool_first in [false, true].into_iter().cycle() {
        for on_pool in [pool_first, !pool_first] {
            let pool = on_pool.then_some(pool);
            let (times, reads, y, before) = match on_pool {
                true => (&mut samples.pool, &mut samples.pool_read, &mut pooled, f32::INFINITY),
                false => {
                    let other = f32::NEG_INFINITY;
                    (&mut samples.serial, &mut samples.serial_read, &mut serial, other)
                }
            };
            for _ in 0..turn {
                y.fill(before);
                times.push(step.run(Work::Multiply, pool, &mut x, y)?);
            }
            for _ in 0..turn {
                reads.push(step.run(Work::Read, pool, &mut x, y)?);
            }
        }
        samples.bitwise_equal &= same(&serial, &pooled);
        if start.elapsed() >= time && samples.pool.len() >= LEAST {
            break;
        }
    }
    Ok(samples)
}

/// The same bits; but a NaN is a NaN, since its payload is not specified.
pub fn same(a: &[f32], b: &[f32]) -> bool {
    let same = |a: &f32, b: &f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// The middle one of what `field` picks from the samples, in ns.
pub fn median(samples: &[Sample], field: impl Fn(&Sample) -> u64) -> f64 {
    let mut values: Vec<u64> = samples.iter().map(field).collect();
    values.sort_unstable();
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2] as f64,
        n => (values[n / 2 - 1] + values[n / 2]) as f64 / 2.0,
    }
}
