//! Every shape, at every width, plain and with a work hint: each item once, on
//! the right data.

#[macro_use]
mod common;

use common::cpus;
use rowpool::{Pool, Work};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Mutex;

/// Calls `test` with a pool of each width.
fn at_each_width(test: impl Fn(&Pool)) {
    for width in 1..=9 {
        test(&cpus::pool(width));
    }
}

/// Item counts around a pool's width, and larger ones.
fn counts(pool: &Pool) -> Vec<usize> {
    let width = pool.num_threads();
    let mut counts = vec![0, 1, 2, 3, width - 1, width, width + 1, 2 * width, 100, 1000, 1031];
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// How often each index was seen.
struct Tally(Vec<AtomicU32>);

impl Tally {
    fn new(n: usize) -> Self {
        Tally((0..n).map(|_| AtomicU32::new(0)).collect())
    }

    fn see(&self, i: usize) {
        self.0[i].fetch_add(1, Ordering::Relaxed);
    }

    fn each_once(self) {
        for (i, count) in self.0.into_iter().enumerate() {
            assert_eq!(count.into_inner(), 1, "index {i}");
        }
    }
}

#[test]
fn run_visits_each_slot_once() {
    bounded!();
    at_each_width(|pool| {
        for width in counts(pool) {
            plain_and_with_work!(pool, |view| {
                let slots = Tally::new(width);
                view.run(width, |slot| slots.see(slot));
                slots.each_once();
            });
        }
    });
}

#[test]
fn broadcast_visits_each_of_the_pools_slots_once() {
    bounded!();
    at_each_width(|pool| {
        plain_and_with_work!(pool, |view| {
            let slots = Tally::new(pool.num_threads());
            view.broadcast(|slot| slots.see(slot));
            slots.each_once();
        });
    });
    // Above the CPUs of this machine: folded onto the slots that are active.
    let wide = cpus::pool(40);
    assert!(wide.active_width() <= 16);
    let slots = Tally::new(40);
    wide.broadcast(|slot| slots.see(slot));
    slots.each_once();
}

#[test]
fn indices() {
    bounded!();
    at_each_width(|pool| {
        for n in counts(pool) {
            plain_and_with_work!(pool, |view| {
                let indices = Tally::new(n);
                view.for_each_index(n, |i| indices.see(i));
                indices.each_once();
            });
        }
    });
}

/// The ranges of one call, in order.
fn ranges(call: impl Fn(&(dyn Fn(Range<usize>) + Sync))) -> Vec<Range<usize>> {
    let ranges = Mutex::new(Vec::new());
    call(&|range| ranges.lock().unwrap().push(range));
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Contiguous, from 0 to `n`, none empty, at most one per active slot.
fn check_ranges(pool: &Pool, n: usize, ranges: &[Range<usize>]) {
    let mut end = 0;
    for range in ranges {
        assert_eq!(range.start, end, "{ranges:?}");
        assert!(!range.is_empty(), "{ranges:?}");
        end = range.end;
    }
    assert_eq!(end, n, "{ranges:?}");
    assert!(ranges.len() <= pool.active_width(), "{ranges:?}");
}

#[test]
fn ranges_are_contiguous_and_few() {
    bounded!();
    at_each_width(|pool| {
        let large = [usize::MAX / 2, usize::MAX - 1, usize::MAX];
        for n in counts(pool).into_iter().chain(large) {
            plain_and_with_work!(pool, |view| {
                let ranges = ranges(|push| view.for_each_range(n, push));
                check_ranges(pool, n, &ranges);
            });
            // Without a hint, nor another caller, every active slot gets one.
            let ranges = ranges(|push| pool.for_each_range(n, push));
            assert_eq!(ranges.len(), n.min(pool.active_width()));
            let lens = ranges.iter().map(Range::len);
            let spread = lens.clone().max().unwrap_or(0) - lens.min().unwrap_or(0);
            assert!(spread <= 1, "equal CPUs have equal shares: {ranges:?}");
        }
    });
}

/// A tiny amount of work is not split, a large one is.
#[test]
fn a_hint_decides_between_one_slot_and_all() {
    bounded!();
    let pool = cpus::pool(4);
    let slots = |ops| ranges(|push| pool.with_work(ops).for_each_range(8, push)).len();
    assert_eq!((slots(0), slots(1), slots(1_000_000), slots(usize::MAX)), (1, 1, 4, 4));
}

/// Rows of some type: each delivered once, under its own number.
fn check_rows<T: Send + PartialEq + std::fmt::Debug>(
    pool: &Pool,
    make: impl Fn(usize) -> T + Sync,
) {
    for n in counts(pool) {
        plain_and_with_work!(pool, |view| {
            // Each row holds what its neighbour should get, so that a row under
            // a wrong number shows; two visits show in the tally.
            let mut rows: Vec<T> = (1..=n).map(&make).collect();
            let visits = Tally::new(n);
            view.for_each_row(&mut rows, |row, out| {
                assert_eq!(*out, make(row + 1));
                *out = make(row);
                visits.see(row);
            });
            visits.each_once();
            assert!(rows.iter().enumerate().all(|(row, out)| *out == make(row)));
        });
    }
}

#[test]
fn rows_of_all_sizes() {
    bounded!();
    at_each_width(|pool| {
        check_rows(pool, |row| row as u8);
        check_rows(pool, |row| row as f32);
        check_rows(pool, |row| [row as u8; 3]);
        check_rows(pool, |row| [row as u64; 33]);
        check_rows(pool, |row| vec![row; row % 3]);
        check_rows(pool, |_| ());
    });
}

/// What is `Send` but not `Sync` may be handed out: no two slots share a row.
#[test]
fn rows_need_not_be_sync() {
    bounded!();
    let mut cells = vec![Cell::new(0); 1000];
    cpus::pool(3).for_each_row(&mut cells, |row, cell| cell.set(cell.get() + row));
    assert!(cells.iter().enumerate().all(|(row, cell)| cell.get() == row));
}

/// Chunks of `data`, and how many states there were: made, dropped when the
/// call returned, and most chunks for one of them.
struct Chunked {
    made: usize,
    dropped: usize,
    most: usize,
}

fn check_chunks(view: Work<'_>, len: usize, chunk_len: usize) -> Chunked {
    struct State<'a>(usize, &'a AtomicUsize, &'a AtomicUsize);
    impl Drop for State<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.2.fetch_max(self.0, Ordering::Relaxed);
        }
    }

    let (made, dropped, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let chunks = if chunk_len == 0 { 0 } else { len.div_ceil(chunk_len) };
    let expected: Vec<usize> = (0..len).map(|i| i.checked_div(chunk_len).unwrap_or(7)).collect();

    let mut data = vec![7usize; len];
    let visits = Tally::new(chunks);
    let check = |i: usize, chunk: &mut [usize]| {
        assert_eq!(chunk.len(), chunk_len.min(len - i * chunk_len), "the tail alone is short");
        visits.see(i);
        chunk.iter_mut().for_each(|x| *x = *x - 7 + i);
    };
    view.for_each_chunk(&mut data, chunk_len, check);
    assert_eq!(data, expected);
    visits.each_once();

    let mut data = vec![7usize; len];
    let visits = Tally::new(chunks);
    let init = || {
        made.fetch_add(1, Ordering::Relaxed);
        State(0, &dropped, &most)
    };
    view.for_each_chunk_init(&mut data, chunk_len, init, |state, i, chunk| {
        state.0 += 1;
        visits.see(i);
        chunk.iter_mut().for_each(|x| *x = *x - 7 + i);
    });
    let dropped_by_then = dropped.load(Ordering::Relaxed);
    assert_eq!(data, expected);
    visits.each_once();
    Chunked { made: made.into_inner(), dropped: dropped_by_then, most: most.into_inner() }
}

#[test]
fn chunks_and_their_states() {
    bounded!();
    at_each_width(|pool| {
        for len in counts(pool) {
            for chunk_len in [0, 1, 2, 3, 7, 32, 33, len / 2, len, len + 1, usize::MAX] {
                let chunks = if chunk_len == 0 { 0 } else { len.div_ceil(chunk_len) };
                // The hints between "as small" and "as large as can be", below.
                for view in [1, 10_000].map(|ops| pool.with_work(ops)) {
                    let states = check_chunks(view, len, chunk_len);
                    let what = format!("len {len} chunk_len {chunk_len}");
                    assert_eq!(states.made, states.dropped, "dropped before the end: {what}");
                    assert!(states.made <= chunks.min(pool.active_width()), "{what}");
                    assert_eq!(states.made == 0, chunks == 0, "{what}");
                    assert_eq!(states.most == 0, chunks == 0, "no state without a chunk: {what}");
                }
                // As large as can be: all slots, each with its state.
                let states = check_chunks(pool.with_work(usize::MAX), len, chunk_len);
                assert_eq!(states.made, chunks.min(pool.active_width()));
                // As small as can be: inline, with one state for all.
                let states = check_chunks(pool.with_work(0), len, chunk_len);
                assert_eq!((states.made, states.most), (chunks.min(1), chunks));
            }
        }
    });
}

/// The plain calls are not the views' calls in disguise everywhere: once more.
#[test]
fn plain_chunks() {
    bounded!();
    at_each_width(|pool| {
        for (len, chunk_len) in [(0, 3), (1, 3), (10, 3), (1000, 7), (5, 0), (5, usize::MAX)] {
            let mut data = vec![0; len];
            pool.for_each_chunk(&mut data, chunk_len, |i, chunk| chunk.fill(i + 1));
            let expected: Vec<_> =
                (0..len).map(|i| i.checked_div(chunk_len).map_or(0, |i| i + 1)).collect();
            assert_eq!(data, expected);
            pool.for_each_chunk_init(
                &mut data,
                chunk_len,
                || 2,
                |two, _, chunk| {
                    chunk.iter_mut().for_each(|x| *x *= *two);
                },
            );
            assert!(data.iter().zip(&expected).all(|(x, once)| *x == 2 * once || chunk_len == 0));
        }
    });
}

#[test]
fn zero_sized_elements() {
    bounded!();
    at_each_width(|pool| {
        // As many as there can be; few chunks, or this would never end.
        let mut all = vec![(); usize::MAX];
        for chunk_len in [usize::MAX, usize::MAX - 1, usize::MAX / 2, usize::MAX / 3, 1 << 60] {
            let lens = Mutex::new(vec![0; usize::MAX.div_ceil(chunk_len)]);
            pool.for_each_chunk(&mut all, chunk_len, |i, chunk| {
                assert_eq!(std::mem::replace(&mut lens.lock().unwrap()[i], chunk.len()), 0);
            });
            let lens = lens.into_inner().unwrap();
            let (tail, whole) = lens.split_last().unwrap();
            assert!(whole.iter().all(|len| *len == chunk_len));
            assert_eq!(*tail, usize::MAX - whole.len() * chunk_len);
        }
        pool.for_each_chunk(&mut all, 0, |_, _| panic!("chunks of 0 are none"));

        let mut few = vec![(); 1000];
        let calls = AtomicUsize::new(0);
        pool.for_each_chunk(&mut few, 7, |i, chunk| {
            assert_eq!(chunk.len(), if i == 142 { 6 } else { 7 });
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.into_inner(), 143);
    });
}

#[test]
fn nothing_to_do_calls_nothing() {
    fn never<T>(_: T) {
        panic!("nothing to call");
    }
    bounded!();
    at_each_width(|pool| {
        plain_and_with_work!(pool, |view| {
            view.run(0, never);
            view.for_each_index(0, never);
            view.for_each_range(0, never);
            view.for_each_row(&mut [0u8; 0], |_, _| never(()));
            view.for_each_chunk(&mut [0u8; 0], 3, |_, _| never(()));
            view.for_each_chunk(&mut [0u8; 9], 0, |_, _| never(()));
            view.for_each_chunk_init(&mut [0u8; 0], 3, || never(()), |_, _, _| never(()));
            view.for_each_chunk_init(&mut [0u8; 9], 0, || never(()), |_, _, _| never(()));
        });
    });
}

#[test]
fn the_caller_is_one_of_the_threads() {
    bounded!();
    for width in [1, 2, 5, 9, 16] {
        let pool = cpus::pool(width);
        let threads = common::on_all_threads(&pool, |_| ());
        assert_eq!(threads.len(), width.min(pool.active_width()));
        assert_eq!(threads[0], std::thread::current().id(), "slot 0 is the caller's");
    }
}
