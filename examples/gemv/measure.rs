//! Serial and pool in turns, so that what disturbs one disturbs the other.

use std::time::{Duration, Instant};

use rowpool::Pool;

use crate::step::{Sample, Step};

/// Steps in a turn where they are short: a model decodes many in a row, and
/// the pool's workers are awake for all but the first.
const TURN: usize = 4;
/// A turn should not take longer.
const LONG: Duration = Duration::from_millis(200);
/// A median of fewer says nothing.
const LEAST: usize = 3;

pub struct Samples {
    pub serial: Vec<Sample>,
    pub pool: Vec<Sample>,
    pub bitwise_equal: bool,
}

/// Runs turns for about `time`, but three steps of each kind at least.
pub fn alternate(step: &Step, pool: &Pool, time: Duration) -> Result<Samples, String> {
    let mut samples = Samples { serial: vec![], pool: vec![], bitwise_equal: true };
    let mut blocks = Vec::new();
    // Never equal by what was there before.
    let mut serial = vec![f32::NAN; step.outputs()];
    let mut pooled = vec![f32::NAN; step.outputs()];

    // Memory, caches, the pool's first measurements.
    step.run(Some(pool), &mut blocks, &mut pooled)?;
    let warm = step.run(None, &mut blocks, &mut serial)?;
    let turn = (LONG.as_nanos() as u64 / warm.token.max(1)).clamp(1, TURN as u64);

    let start = Instant::now();
    for pool_first in [false, true].into_iter().cycle() {
        for on_pool in [pool_first, !pool_first] {
            for _ in 0..turn {
                if on_pool {
                    pooled.fill(f32::NAN);
                    samples.pool.push(step.run(Some(pool), &mut blocks, &mut pooled)?);
                } else {
                    serial.fill(f32::INFINITY);
                    samples.serial.push(step.run(None, &mut blocks, &mut serial)?);
                }
            }
        }
        samples.bitwise_equal &=
            serial.iter().zip(&pooled).all(|(serial, pooled)| serial.to_bits() == pooled.to_bits());
        if start.elapsed() >= time && samples.pool.len() >= LEAST {
            break;
        }
    }
    Ok(samples)
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
