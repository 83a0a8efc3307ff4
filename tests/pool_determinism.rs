//! Results are bitwise the same for every width, whoever runs the slots, and
//! under every floating point state of the caller (I4, I6).

#[macro_use]
mod common;

use common::cpus;
use common::{on_all_threads, LatePool};
use rowpool::Pool;
use std::hint::black_box;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

const ROWS: usize = 331;
const COLS: usize = 577;

/// A matrix and a vector.
struct Product {
    w: Vec<f32>,
    x: Vec<f32>,
}

impl Product {
    fn new() -> Self {
        Product { w: common::numbers(ROWS * COLS, 1), x: common::numbers(COLS, 2) }
    }

    fn row(&self, row: usize) -> f32 {
        let w = &self.w[row * COLS..][..COLS];
        w.iter().zip(&self.x).fold(0.0, |sum, (w, x)| sum + w * x)
    }

    fn serial(&self) -> Vec<u32> {
        (0..ROWS).map(|row| self.row(row).to_bits()).collect()
    }

    /// The product by each shape that has rows, plain and with a hint.
    fn by_each_shape(&self, pool: &Pool) -> Vec<Vec<u32>> {
        let by = |call: &dyn Fn(&mut [f32])| {
            let mut y = vec![f32::NAN; ROWS];
            call(&mut y);
            y.into_iter().map(f32::to_bits).collect()
        };
        let row = |row: usize, out: &mut f32| *out = self.row(row);
        let chunk = |i: usize, chunk: &mut [f32]| {
            chunk.iter_mut().enumerate().for_each(|(at, out)| row(i * 7 + at, out));
        };
        vec![
            by(&|y| pool.for_each_row(y, row)),
            by(&|y| pool.with_work(COLS).for_each_row(y, row)),
            // Inline: too little work, as far as the pool is told.
            by(&|y| pool.with_work(0).for_each_row(y, row)),
            by(&|y| pool.for_each_chunk(y, 7, chunk)),
            by(&|y| pool.for_each_chunk_init(y, 7, || (), |(), i, part| chunk(i, part))),
            by(&|y| {
                let rows = Mutex::new(y);
                pool.for_each_range(ROWS, |range| {
                    let part: Vec<f32> = range.clone().map(|row| self.row(row)).collect();
                    rows.lock().unwrap()[range].copy_from_slice(&part);
                });
            }),
        ]
    }
}

#[test]
fn every_width_gives_the_same_bits() {
    bounded!();
    let product = Product::new();
    let serial = product.serial();
    for width in 1..=9 {
        let pool = cpus::pool(width);
        on_all_threads(&pool, |_| ());
        for round in 0..3 {
            for (shape, bits) in product.by_each_shape(&pool).into_iter().enumerate() {
                assert_eq!(bits, serial, "width {width} round {round} shape {shape}");
            }
            if round == 1 {
                pool.rest();
            }
        }
    }
}

/// Scratch that is used again does not carry anything from one row to another.
#[test]
fn scratch_does_not_show_in_the_results() {
    bounded!();
    let product = Product::new();
    let by = |pool: &Pool| {
        let mut y = vec![0.0f32; ROWS];
        pool.for_each_chunk_init(&mut y, 1, Vec::new, |scratch: &mut Vec<f32>, row, out| {
            scratch.clear();
            scratch
                .extend(product.w[row * COLS..][..COLS].iter().zip(&product.x).map(|(w, x)| w * x));
            scratch.sort_by(f32::total_cmp);
            out[0] = scratch.iter().sum();
        });
        y.into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let serial = by(&cpus::pool(1));
    assert_ne!(serial, product.serial(), "the order of addition shows in these numbers");
    (2..=9).for_each(|width| assert_eq!(by(&cpus::pool(width)), serial, "width {width}"));
}

/// I4: none of the workers comes, so the caller runs everything, with the
/// slots of a pool whose workers do.
#[test]
fn i4_late_owners_are_relieved_by_the_caller() {
    bounded!();
    let product = Product::new();
    let serial = product.serial();
    for width in 2..=9 {
        let pool = LatePool::new(width);
        for (shape, bits) in product.by_each_shape(&pool).into_iter().enumerate() {
            assert_eq!(bits, serial, "width {width} shape {shape}");
        }
        let threads = Mutex::new(Vec::new());
        pool.for_each_range(1000, |_| threads.lock().unwrap().push(thread::current().id()));
        let threads: Vec<ThreadId> = threads.into_inner().unwrap();
        assert_eq!(threads, vec![thread::current().id(); pool.active_width()]);
        // And after they have come, with them.
        pool.arrive();
        on_all_threads(&pool, |_| ());
        for (shape, bits) in product.by_each_shape(&pool).into_iter().enumerate() {
            assert_eq!(bits, serial, "width {width} shape {shape}");
        }
    }
}

/// One owner is late for good, the others are not.
#[test]
fn i4_one_late_owner() {
    bounded!();
    let product = Product::new();
    let serial = product.serial();
    let latch = common::Latch::default();
    let held = latch.clone();
    let hook = move |slot| {
        if slot == 2 {
            held.wait();
        }
    };
    let pool = cpus::builder().width(5).on_worker_start(hook).build().unwrap();
    for _ in 0..40 {
        for bits in product.by_each_shape(&pool) {
            assert_eq!(bits, serial);
        }
    }
    latch.open();
}

/// Sets flush-to-zero and denormals-are-zero, and gives the state before.
#[cfg(target_arch = "x86_64")]
mod fp {
    use std::arch::asm;

    /// Flush-to-zero, denormals-are-zero, and rounding towards zero.
    pub const FLUSH: u32 = 1 << 15 | 1 << 6;
    pub const TO_ZERO: u32 = 3 << 13;

    pub fn get() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores four bytes to a live u32.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr
    }

    pub fn set(mxcsr: u32) {
        // SAFETY: the bits are this thread's own, with some that every x86-64
        // has; what is computed under them is opaque to the compiler.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &mxcsr, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod fp {
    use std::arch::asm;

    /// Flush-to-zero, which covers inputs too, and rounding towards zero.
    pub const FLUSH: u32 = 1 << 24;
    pub const TO_ZERO: u32 = 3 << 22;

    pub fn get() -> u32 {
        let fpcr: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        fpcr as u32
    }

    pub fn set(fpcr: u32) {
        let fpcr = u64::from(fpcr);
        // SAFETY: the bits are this thread's own, with some that every aarch64
        // has; what is computed under them is opaque to the compiler.
        unsafe { asm!("msr fpcr, {}", in(reg) fpcr, options(nostack, preserves_flags)) };
    }
}

/// Two thirds, and a denormal number: what the state decides.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn probe() -> (u32, u32) {
    let two_thirds = black_box(2.0f32) / black_box(3.0);
    let half_of_the_smallest = black_box(f32::MIN_POSITIVE) * black_box(0.5);
    (two_thirds.to_bits(), half_of_the_smallest.to_bits())
}

/// Every slot computes under the caller's state of that region, on whichever
/// thread; afterwards the caller has its own again.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn i6_the_floating_point_state_is_the_callers() {
    bounded!();
    let plain = fp::get();
    let under = |control: u32, work: &dyn Fn()| {
        fp::set(plain | control);
        let expected = probe();
        work();
        assert_eq!(fp::get() & !0x3f, (plain | control) & !0x3f, "the caller's is untouched");
        fp::set(plain);
        expected
    };
    let cases = [0, fp::FLUSH, fp::TO_ZERO, fp::FLUSH | fp::TO_ZERO, 0];
    let expected = cases.map(|control| under(control, &|| ()));
    assert_eq!((expected[0].1, expected[1].1), (0x0040_0000, 0), "kept, then flushed");
    assert_ne!(expected[0].0, expected[2].0, "rounded to nearest, then down");

    for width in [1, 2, 4, 9] {
        let pool = cpus::pool(width);
        let late = LatePool::new(width);
        // Back and forth: what a worker has adopted must not stay with it.
        for (control, expected) in cases.into_iter().zip(expected) {
            let check = |_| assert_eq!(probe(), expected, "width {width} state {control:#x}");
            under(control, &|| {
                let threads = on_all_threads(&pool, check);
                assert_eq!(threads.len(), pool.active_width());
                pool.rest();
                pool.run(width, check);
                pool.with_work(0).run(width, check);
                pool.run(width, |_| pool.run(width, check));
                late.run(width, check);
            });
        }
    }
}

/// The same for the drop-in module, between callers of different states.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn i6_callers_of_different_states_share_a_team() {
    bounded!();
    thread::scope(|scope| {
        for control in [0, fp::FLUSH, fp::TO_ZERO] {
            scope.spawn(move || {
                let plain = fp::get();
                fp::set(plain | control);
                let expected = probe();
                let mut y = [0.0f32; 64];
                for _ in 0..300 {
                    rowpool::threads::for_each_row(&mut y, 64, 4000, |_, out| {
                        assert_eq!(probe(), expected);
                        *out = 1.0;
                    });
                }
                fp::set(plain);
            });
        }
    });
}
