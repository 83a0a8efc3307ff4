// What the two faces must agree on: each case's value for `n` items, as text.
// Included once with `face` being rayon and once with it being rowpool's, so
// that it is also the proof that the same source compiles for both.

use super::{digest, item};
use face::iter::FromParallelIterator;
use face::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Code that names the traits.
fn generic(items: impl IndexedParallelIterator<Item = i64>) -> Vec<(usize, i64)> {
    items.enumerate().collect()
}

fn generic_sum<I>(items: I) -> i64
where
    I: IntoParallelIterator<Item = i64>,
    I::Iter: ParallelIterator<Item = i64>,
{
    items.into_par_iter().map(|x| x / 3).sum()
}

fn generic_collect<C: FromParallelIterator<i64>>(n: usize) -> C {
    returned(n).collect()
}

fn returned(n: usize) -> impl ParallelIterator<Item = i64> {
    (0..n).into_par_iter().map(item).filter(|x| x % 5 != 0)
}

fn by_reference<'data, C>(all: &'data C) -> Vec<&'data i64>
where
    C: ?Sized + IntoParallelRefIterator<'data, Item = &'data i64>,
{
    all.par_iter().collect()
}

pub fn cases(n: usize) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut case = |name: &str, value: &dyn Debug| out.push((name.into(), format!("{value:?}")));
    let x: Vec<i64> = (0..n).map(item).collect();

    // Sources.
    case("slice", &x.par_iter().collect::<Vec<_>>());
    case("slice by trait", &by_reference(&x[..]));
    case("vec by trait", &by_reference(&x));
    case("vec", &x.clone().into_par_iter().collect::<Vec<i64>>());
    case("&vec", &(&x).into_par_iter().map(|x| x + 1).collect::<Vec<i64>>());
    case("array", &[1, 2, 3].into_par_iter().map(|x| x * 2).collect::<Vec<_>>());
    case("&array", &[1, 2, 3].par_iter().map(|x| x * 2).collect::<Vec<_>>());
    case("boxed", &x.clone().into_boxed_slice().into_par_iter().collect::<Vec<i64>>());
    case("usize", &(0..n).into_par_iter().collect::<Vec<_>>());
    case("u32", &(7..7 + n as u32).into_par_iter().collect::<Vec<_>>());
    case("i64", &(-3..n as i64 - 3).into_par_iter().collect::<Vec<_>>());
    case("i8", &(-128..=127i8).into_par_iter().collect::<Vec<_>>());
    case("u8", &(250..=255u8).into_par_iter().collect::<Vec<_>>());
    case("i32 across", &(i32::MIN..i32::MIN + n as i32).into_par_iter().collect::<Vec<_>>());
    #[allow(clippy::reversed_empty_ranges)]
    case("backwards", &(9..3).into_par_iter().collect::<Vec<i32>>());
    case("inclusive", &(0..=n).into_par_iter().collect::<Vec<_>>());
    let mut y = x.clone();
    y.par_iter_mut().for_each(|y| *y += 1);
    case("par_iter_mut", &y);
    (&mut y).into_par_iter().enumerate().for_each(|(i, y)| *y -= i as i64);
    case("&mut vec", &y);
    let mut units = vec![(); n];
    case("units", &units.par_iter_mut().map(|()| 1).sum::<usize>());
    case("units by value", &units.into_par_iter().map(|()| 1).sum::<usize>());
    for chunk in [1, 2, 3, 7, 64, n.max(1), n + 1, usize::MAX] {
        let sum = |chunk: &[i64]| (chunk.len(), digest(chunk));
        case("par_chunks", &x.par_chunks(chunk).map(sum).collect::<Vec<_>>());
        case("par_chunks len", &x.par_chunks(chunk).len());
        case("par_chunks_exact", &x.par_chunks_exact(chunk).map(sum).collect::<Vec<_>>());
        case("remainder", &x.par_chunks_exact(chunk).remainder());
        let mut y = x.clone();
        y.par_chunks_mut(chunk).enumerate().for_each(|(i, part)| {
            part.iter_mut().rev().enumerate().for_each(|(j, y)| *y += (i * 1000 + j) as i64);
        });
        case("par_chunks_mut", &y);
        let mut y = x.clone();
        y.par_chunks_exact_mut(chunk).enumerate().for_each(|(i, part)| part.fill(i as i64));
        case("par_chunks_exact_mut", &y);
        case("into_remainder", &y.par_chunks_exact_mut(chunk).into_remainder());
    }

    // Adapters of iterators of known length.
    case("enumerate", &x.par_iter().enumerate().collect::<Vec<_>>());
    case("len", &x.par_iter().map(|x| x + 1).enumerate().len());
    for other in [0, 1, n / 2, n, n + 3] {
        let z: Vec<i64> = (0..other).map(|i| item(i) ^ 5).collect();
        case("zip", &x.par_iter().zip(&z).map(|(x, z)| x - z).collect::<Vec<_>>());
        case("zip by value", &z.into_par_iter().zip(x.clone()).collect::<Vec<_>>());
        case("zip len", &x.par_iter().zip(0..other).len());
    }
    let (mut y, mut z) = (x.clone(), vec![0u8; 3 * n]);
    y.par_iter_mut().zip(z.par_chunks_mut(3)).enumerate().for_each(|(i, (y, z))| {
        *y ^= i as i64;
        z.fill(*y as u8);
    });
    case("zip mut", &(y, z));
    let pairs = x.par_iter().zip_eq(x.par_chunks(1)).map(|(a, b)| a - b[0]);
    case("zip_eq", &pairs.collect::<Vec<_>>());
    for len in [0, 1, 2, n / 2, n, 2 * n, usize::MAX] {
        let mut y = x.clone();
        y.par_iter_mut().with_min_len(len).enumerate().for_each(|(i, y)| *y = i as i64);
        case("with_min_len", &y);
        y.par_iter_mut().enumerate().with_max_len(len.max(1)).for_each(|(i, y)| *y += i as i64);
        case("with_max_len", &y);
        let both =
            (0..n).into_par_iter().with_min_len(2).with_max_len(len.max(2)).with_min_len(len);
        case("min, max, min", &both.zip(x.par_iter().with_min_len(3)).collect::<Vec<_>>());
    }
    case("generic", &generic(x.par_iter().copied()));
    let mut target = vec![1; 3];
    x.par_iter().map(|x| x * 2).collect_into_vec(&mut target);
    case("collect_into_vec", &target);
    case("position_first", &x.par_iter().position_first(|x| x % 7 == 3));
    case("position_any", &x.par_iter().position_any(|&x| x == item(n / 2)).is_some());

    // Adapters of all iterators.
    case(
        "map",
        &x.par_iter().map(|x| x.wrapping_mul(3)).map(|x| x.to_string()).collect::<Vec<_>>(),
    );
    case("filter", &x.par_iter().filter(|x| **x % 3 == 0).collect::<Vec<_>>());
    case("filter none", &x.par_iter().filter(|_| false).collect::<Vec<_>>());
    case(
        "filter_map",
        &x.par_iter().filter_map(|x| (x % 3 == 1).then_some(x / 3)).collect::<Vec<_>>(),
    );
    let few = |i: usize| i % 4;
    case(
        "flat_map_iter",
        &(0..n)
            .into_par_iter()
            .flat_map_iter(|i| (0..few(i)).map(move |j| i + j))
            .collect::<Vec<_>>(),
    );
    case(
        "flat_map",
        &(0..n)
            .into_par_iter()
            .flat_map(|i| (0..few(i)).into_par_iter().map(move |j| i + j))
            .collect::<Vec<_>>(),
    );
    case("flatten", &(0..n).into_par_iter().map(|i| vec![i; few(i)]).flatten().collect::<Vec<_>>());
    case(
        "flatten_iter",
        &(0..n)
            .into_par_iter()
            .map(|i| (few(i) == 1).then_some(i))
            .flatten_iter()
            .collect::<Vec<_>>(),
    );
    case("map_init", &x.par_iter().map_init(|| 2, |two, x| x * *two).collect::<Vec<_>>());
    case("map_with", &x.par_iter().map_with(2, |two, x| x * *two).collect::<Vec<_>>());
    case(
        "cloned",
        &x.par_iter()
            .map(|x| x.to_string())
            .collect::<Vec<_>>()
            .par_iter()
            .cloned()
            .collect::<Vec<_>>(),
    );
    let seen = AtomicU64::new(0);
    let add = |x: i64| {
        seen.fetch_add(x as u64, Ordering::Relaxed);
    };
    case("inspect", &x.par_iter().inspect(|x| add(**x)).filter(|x| **x > 0).count());
    x.par_iter().for_each(|x| add(*x));
    x.par_iter().for_each_init(|| 3, |three, x| add(x * *three));
    x.par_iter().for_each_with(5, |five, x| add(x * *five));
    case("for_each, and the rest", &seen.load(Ordering::Relaxed));
    case("generic_sum", &generic_sum(x.clone()));
    case("generic_collect", &(generic_collect::<Vec<i64>>(n), generic_collect::<BTreeSet<i64>>(n)));

    // Ends.
    case("sum", &x.par_iter().sum::<i64>());
    case("sum of mapped", &(0..n).into_par_iter().map(|i| i as u64).sum::<u64>());
    case(
        "sum of options",
        &(0..n).into_par_iter().map(|i| (i != 40).then_some(i)).sum::<Option<usize>>(),
    );
    case("product", &x.par_iter().map(|x| x % 3).product::<i64>());
    case("count", &x.par_iter().filter(|x| **x % 2 == 0).count());
    case("min, max", &(x.par_iter().min(), x.par_iter().max()));
    let pairs = || x.par_iter().enumerate().map(|(i, x)| (x % 3, i));
    let (by, key) = (|a: &(i64, usize), b: &(i64, usize)| a.0.cmp(&b.0), |a: &(i64, usize)| a.0);
    case("min_by, max_by", &(pairs().min_by(by), pairs().max_by(by)));
    case("min_by_key, max_by_key", &(pairs().min_by_key(key), pairs().max_by_key(key)));
    case("reduce", &x.par_iter().copied().reduce(|| 0, |a, b| a ^ b));
    let join = |a: String, b: String| a + &b;
    case("reduce in order", &x.par_iter().map(|x| format!("{x},")).reduce(String::new, join));
    case("reduce_with", &x.par_iter().map(|x| format!("{x},")).reduce_with(join));
    let folded = x.par_iter().fold(String::new, |all, x| all + &x.to_string() + ",");
    case("fold, reduce", &folded.reduce(String::new, join));
    case("fold, sum", &x.par_iter().fold(|| 0, |sum, x| sum + x).sum::<i64>());
    case(
        "fold of nothing",
        &Vec::<i64>::new().into_par_iter().fold(|| 7, |a, b| a + b).collect::<Vec<_>>(),
    );
    case("any, all", &(x.par_iter().any(|x| x % 11 == 5), x.par_iter().all(|x| x % 11 != 5)));
    case("any of none", &(x.par_iter().any(|_| false), x.par_iter().all(|_| true)));
    case("find_first", &x.par_iter().find_first(|x| **x % 11 == 5));
    case("find_any", &x.par_iter().find_any(|x| **x == item(n / 3)));
    case("find_any none", &x.par_iter().find_any(|_| false));
    case("find_map_first", &x.par_iter().find_map_first(|x| (x % 11 == 5).then_some(x / 11)));
    case("find_map_any", &(0..n).into_par_iter().find_map_any(|i| (i == n / 2).then_some(i + 1)));

    // Failing.
    let at = n / 2;
    case("try_for_each", &x.par_iter().try_for_each(|_| Ok::<(), i64>(())));
    case(
        "try_for_each err",
        &(0..n).into_par_iter().try_for_each(|i| if i == at { Err(i) } else { Ok(()) }),
    );
    case("try_for_each none", &(0..n).into_par_iter().try_for_each(|i| (i != at).then_some(())));
    case(
        "try_for_each break",
        &(0..n).into_par_iter().try_for_each(|i| {
            if i == at {
                ControlFlow::Break(i)
            } else {
                ControlFlow::Continue(())
            }
        }),
    );
    case(
        "try_for_each_init",
        &(0..n).into_par_iter().try_for_each_init(|| at, |at, i| (i != *at).then_some(())),
    );
    case("collect ok", &(0..n).into_par_iter().map(Ok::<usize, ()>).collect::<Result<Vec<_>, _>>());
    case(
        "collect err",
        &(0..n)
            .into_par_iter()
            .map(|i| if i == at { Err(i) } else { Ok(i) })
            .collect::<Result<Vec<_>, _>>(),
    );
    case("collect some", &(0..n).into_par_iter().map(Some).collect::<Option<Vec<_>>>());
    case(
        "collect none",
        &(0..n).into_par_iter().map(|i| (i != at).then_some(i)).collect::<Option<Vec<_>>>(),
    );

    // Collections.
    case(
        "BTreeMap",
        &x.par_iter().enumerate().map(|(i, x)| (x % 10, i)).collect::<BTreeMap<_, _>>(),
    );
    case(
        "HashSet",
        &x.par_iter().copied().collect::<HashSet<_>>().into_iter().collect::<BTreeSet<_>>(),
    );
    case(
        "HashMap",
        &x.par_iter()
            .map(|x| (x % 10, 1))
            .collect::<HashMap<_, _>>()
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
    );
    case("String", &x.par_iter().map(|x| x.to_string()).collect::<String>());
    case(
        "chars",
        &(0..n as u32)
            .into_par_iter()
            .map(|i| char::from_u32(65 + i % 26).unwrap())
            .collect::<String>(),
    );
    case("boxed slice", &x.par_iter().collect::<Box<[_]>>());
    case("units", &x.par_iter().map(|_| ()).collect::<()>());
    case("unzip", &x.par_iter().map(|x| (x / 2, x % 2)).unzip::<i64, i64, Vec<_>, Vec<_>>());
    case("partition", &x.par_iter().copied().partition::<Vec<i64>, Vec<i64>, _>(|x| *x > 0));
    let mut some = vec![1];
    some.par_extend(x.clone());
    case("par_extend", &some);

    // Closures in place of loops, and loops inside them and each other.
    let (a, b) = face::join(|| x.par_iter().sum::<i64>(), || x.par_iter().max().copied());
    case("join", &(a, b));
    let (a, (b, c)) = face::join(|| 1, || face::join(|| digest(&x), || x.par_iter().count()));
    case("join3", &(a, b, c));
    let mut parts = vec![0; n];
    face::scope(|s| {
        for (i, part) in parts.iter_mut().enumerate().take(50) {
            s.spawn(move |s| {
                *part = i + 1;
                s.spawn(move |_| *part *= 2);
            });
        }
    });
    case("scope", &parts);
    case("scope's result", &face::scope(|_| x.par_iter().count()));
    let nested = (0..n.min(40)).into_par_iter().map(|i| {
        let inner: i64 = x.par_iter().map(|x| x ^ i as i64).sum();
        inner + face::join(|| 1, || 2).1
    });
    case("nested", &nested.collect::<Vec<_>>());
    out
}
