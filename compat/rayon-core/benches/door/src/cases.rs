//! The cases: each runs once per call, and checks nothing, which the tests do.

use rayon::prelude::*;
use std::hint::black_box;
use std::sync::mpsc::channel;

type Case = (&'static str, Box<dyn FnMut()>);

fn case(name: &'static str, run: impl FnMut() + 'static) -> Case {
    (name, Box::new(run))
}

/// Some ns of work per unit that no compiler can shorten.
fn work(units: u64) -> u64 {
    let mut state = black_box(units) | 1;
    for _ in 0..units {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

fn eat<T>(value: T) {
    black_box(value);
}

fn random(count: usize) -> Vec<u64> {
    let mut state = 88172645463325252u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(next).collect()
}

fn fib(n: u32) -> u64 {
    match n {
        0 | 1 => u64::from(n),
        _ => {
            let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
            a + b
        }
    }
}

fn quicksort(values: &mut [u64]) {
    if values.len() <= 32 {
        return values.sort_unstable();
    }
    let (last, mut place) = (values.len() - 1, 0);
    values.swap(last / 2, last);
    for i in 0..last {
        if values[i] < values[last] {
            values.swap(i, place);
            place += 1;
        }
    }
    values.swap(place, last);
    let (low, high) = values.split_at_mut(place);
    rayon::join(|| quicksort(low), || quicksort(&mut high[1..]));
}

fn tree<'a>(scope: &rayon::Scope<'a>, depth: u32) {
    black_box(work(200));
    if depth > 0 {
        scope.spawn(move |scope| tree(scope, depth - 1));
        scope.spawn(move |scope| tree(scope, depth - 1));
    }
}

pub fn all() -> Vec<Case> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    let pool: &'static rayon::ThreadPool = Box::leak(Box::new(pool));
    let mut cases = regions(pool);
    cases.extend(iterators());
    cases.extend(tasks(pool));
    cases
}

/// What decode does: many small regions.
fn regions(pool: &'static rayon::ThreadPool) -> Vec<Case> {
    // About 10 µs of serial work in 64 rows, as a matrix times a vector.
    let mut rows = vec![0u64; 64];
    let mut few = vec![0u64; 64];
    let mut inside = vec![0u64; 64];
    let mut chunks = vec![0u64; 4096];
    let mut gaps = vec![0u64; 64];
    vec![
        case("1000 regions of 10 us", move || {
            for _ in 0..1000 {
                rows.par_iter_mut().for_each(|row| *row = work(40));
            }
        }),
        case("1000 tiny regions", move || {
            for _ in 0..1000 {
                few.par_iter_mut().for_each(|row| *row = black_box(1));
            }
        }),
        case("1000 regions inside install", move || {
            pool.install(|| {
                for _ in 0..1000 {
                    inside.par_iter_mut().for_each(|row| *row = work(40));
                }
            });
        }),
        case("500 regions by chunks", move || {
            for _ in 0..500 {
                chunks.par_chunks_mut(256).for_each(|chunk| chunk[0] = work(1000));
            }
        }),
        case("100 regions, 50 us between", move || {
            for _ in 0..100 {
                black_box(work(30_000));
                gaps.par_iter_mut().for_each(|row| *row = work(300));
            }
        }),
        case("1000 joins from outside", || {
            for _ in 0..1000 {
                rayon::join(|| black_box(work(500)), || black_box(work(500)));
            }
        }),
        case("1000 installs", move || {
            for _ in 0..1000 {
                pool.install(|| black_box(work(10)));
            }
        }),
        case("4 callers, 250 regions each", || {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..250 {
                            (0..64u64).into_par_iter().for_each(|_| eat(work(100)));
                        }
                    });
                }
            });
        }),
        case("install from 8 threads", move || {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(move || {
                        for _ in 0..50 {
                            pool.install(|| {
                                (0..64u64).into_par_iter().map(|_| work(100)).sum::<u64>()
                            });
                        }
                    });
                }
            });
        }),
    ]
}

fn iterators() -> Vec<Case> {
    let values = random(1 << 20);
    let (sort, stable, quick) = (values.clone(), values.clone(), values.clone());
    let (filter, any, map, zip, fold) =
        (values.clone(), values.clone(), values.clone(), values.clone(), values.clone());
    vec![
        case("collect of 4M", || {
            let all: Vec<u64> = (0..4_000_000u64).into_par_iter().map(|i| i * 2).collect();
            black_box(all);
        }),
        case("equal items", || {
            (0..4096u64).into_par_iter().for_each(|_| eat(work(500)));
        }),
        case("item i costs i squared", || {
            (0..256u64).into_par_iter().for_each(|i| eat(work(i * i / 16)));
        }),
        case("one item costs a hundred", || {
            let cost = |i| if i % 97 == 5 { 50_000 } else { 500 };
            (0..512u64).into_par_iter().for_each(|i| eat(work(cost(i))));
        }),
        case("nested loops", || {
            (0..32u64).into_par_iter().for_each(|_| {
                (0..64u64).into_par_iter().for_each(|_| eat(work(300)));
            });
        }),
        case("sum of 1M", move || eat(map.par_iter().map(|v| v >> 3).sum::<u64>())),
        case("filter and collect 1M", move || {
            let odd: Vec<u64> = filter.par_iter().copied().filter(|v| v % 3 == 0).collect();
            black_box(odd);
        }),
        case("flat_map", || {
            let all: Vec<u64> = (0..1000u64)
                .into_par_iter()
                .flat_map(|i| (0..100u64).into_par_iter().map(move |j| i ^ j))
                .collect();
            black_box(all);
        }),
        case("find_any, early", move || eat(any.par_iter().find_any(|v| **v % 1000 == 7))),
        case("zip and reduce", move || {
            let max = zip.par_iter().zip(&zip).map(|(a, b)| a ^ b).reduce(|| 0, u64::max);
            black_box(max);
        }),
        case("fold", move || {
            let count = fold.par_iter().fold(|| 0u64, |n, v| n + (v & 1)).sum::<u64>();
            black_box(count);
        }),
        case("par_bridge", || {
            (0..2000u64).par_bridge().for_each(|_| eat(work(1000)));
        }),
        case("par_sort_unstable 1M", move || {
            let mut values = sort.clone();
            values.par_sort_unstable();
            black_box(values);
        }),
        case("par_sort 1M", move || {
            let mut values = stable.clone();
            values.par_sort();
            black_box(values);
        }),
        case("quicksort by join, 1M", move || {
            let mut values = quick.clone();
            quicksort(&mut values);
            black_box(values);
        }),
    ]
}

fn tasks(pool: &'static rayon::ThreadPool) -> Vec<Case> {
    vec![
        case("fib(27) by join", || eat(fib(27))),
        case("fib(20) by join, in a pool", move || eat(pool.install(|| fib(20)))),
        case("scope of 1000 closures", || {
            rayon::scope(|scope| {
                for i in 0..1000 {
                    scope.spawn(move |_| eat(work(100 * (i % 7))));
                }
            });
        }),
        case("scope, unequal closures", || {
            rayon::scope(|scope| {
                for i in 0..64 {
                    scope.spawn(move |_| eat(work(i * i * 10)));
                }
            });
        }),
        case("tree of spawns", || rayon::scope(|scope| tree(scope, 10))),
        case("scope_fifo of 1000", || {
            rayon::scope_fifo(|scope| {
                for _ in 0..1000 {
                    scope.spawn_fifo(move |_| eat(work(300)));
                }
            });
        }),
        case("spawn 1000, wait for all", || {
            let (done, wait) = channel();
            for _ in 0..1000 {
                let done = done.clone();
                rayon::spawn(move || done.send(work(300)).expect("somebody waits"));
            }
            drop(done);
            black_box(wait.into_iter().count());
        }),
        case("100 broadcasts", || {
            for _ in 0..100 {
                black_box(rayon::broadcast(|context| context.index()));
            }
        }),
        case("in_place_scope of 100", || {
            rayon::in_place_scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| eat(work(1000)));
                }
            });
        }),
    ]
}
