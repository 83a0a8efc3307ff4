//! The shapes that return values or take several outputs, at every width, plain
//! and with a work hint: each item once, on the right data, in the right order.

#[macro_use]
mod common;

use common::cpus;
use common::LatePool;
use rowpool::{Pool, Rows};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Calls `test` with pools of each width: their workers come, or are late for
/// good, so that the caller has all slots.
fn at_each_width(test: impl Fn(&Pool)) {
    for width in 1..=9 {
        test(&cpus::pool(width));
        test(&LatePool::new(width));
    }
}

const COUNTS: [usize; 12] = [0, 1, 2, 3, 5, 8, 9, 10, 64, 100, 1000, 2571];

/// How often each index was seen.
struct Tally(Vec<AtomicUsize>);

impl Tally {
    fn new(n: usize) -> Self {
        Tally((0..n).map(|_| AtomicUsize::new(0)).collect())
    }

    fn see(&self, i: usize) {
        common::tick(&self.0[i]);
    }

    fn each_once(&self) {
        for (i, count) in self.0.iter().enumerate() {
            assert_eq!(count.load(Ordering::Relaxed), 1, "index {i}");
        }
    }
}

/// Counts its states: made, and dropped.
#[derive(Default)]
struct States {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

struct State<'a>(&'a States);

impl States {
    fn make(&self) -> State<'_> {
        common::tick(&self.made);
        State(self)
    }
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        common::tick(&self.0.dropped);
    }
}

#[test]
fn indices_with_scratch() {
    bounded!();
    at_each_width(|pool| {
        for n in COUNTS {
            plain_and_with_work!(pool, |view| {
                let (states, seen) = (States::default(), Tally::new(n));
                view.for_each_index_init(n, || states.make(), |_, i| seen.see(i));
                seen.each_once();
                let (made, dropped) = (states.made.into_inner(), states.dropped.into_inner());
                assert_eq!(made, dropped, "dropped before the end");
                assert!(made <= n.min(pool.active_width()));
                assert_eq!(made == 0, n == 0, "no state without an index");
            });
            let states = States::default();
            pool.for_each_index_init(n, || states.make(), |_, _| ());
            assert_eq!(states.made.into_inner(), n.min(pool.active_width()));
        }
    });
}

#[test]
fn two_outputs_by_rows() {
    bounded!();
    at_each_width(|pool| {
        for n in COUNTS {
            plain_and_with_work!(pool, |view| {
                // Each holds what its neighbour should get.
                let mut a: Vec<String> = (1..=n).map(|row| row.to_string()).collect();
                let mut b: Vec<u8> = (1..=n).map(|row| row as u8).collect();
                view.for_each_row2(&mut a, &mut b, |row, a, b| {
                    assert_eq!((&**a, *b), (&*(row + 1).to_string(), (row + 1) as u8));
                    (*a, *b) = (row.to_string(), row as u8);
                });
                assert!((0..n).all(|row| a[row] == row.to_string() && b[row] == row as u8));
            });
        }
    });
}

#[test]
fn two_outputs_by_chunks() {
    bounded!();
    at_each_width(|pool| {
        for n in [0, 1, 2, 9, 40, 333] {
            for (a_len, b_len) in [(1, 1), (3, 3), (1, 7), (32, 5), (4, 1000)] {
                // Each with a short tail, or none.
                for (a_short, b_short) in [(0, 0), (a_len - 1, 0), (0, b_len - 1), (1, 1)] {
                    let len =
                        |len: usize, short: usize| (n * len).saturating_sub(short.min(len - 1));
                    let (a_all, b_all) = (len(a_len, a_short), len(b_len, b_short));
                    plain_and_with_work!(pool, |view| {
                        let (mut a, mut b) = (vec![7usize; a_all], vec![7u16; b_all]);
                        let seen = Tally::new(n);
                        view.for_each_chunk2(&mut a, a_len, &mut b, b_len, |i, a, b| {
                            seen.see(i);
                            assert_eq!(
                                a.len(),
                                a_len.min(a_all - i * a_len),
                                "tails alone are short"
                            );
                            assert_eq!(
                                b.len(),
                                b_len.min(b_all - i * b_len),
                                "tails alone are short"
                            );
                            a.iter_mut().for_each(|x| *x = *x - 7 + i);
                            b.iter_mut().for_each(|x| *x = *x - 7 + i as u16);
                        });
                        seen.each_once();
                        assert!((0..a_all).all(|at| a[at] == at / a_len));
                        assert!((0..b_all).all(|at| b[at] as usize == at / b_len));
                    });
                }
            }
        }
    });
}

#[test]
fn two_outputs_have_to_match() {
    bounded!();
    let pool = cpus::pool(3);
    let never = |_: usize, _: &mut [u8], _: &mut [u8]| panic!("nothing to call");
    let text = |payload: Box<dyn std::any::Any + Send>| common::text_of(&*payload).to_owned();
    let rows = common::panic_of(|| pool.for_each_row2(&mut [0; 3], &mut [0; 4], |_, _, _| ()));
    assert!(text(rows).contains("3 rows and 4"));
    for (a, a_len, b, b_len) in [(9, 3, 9, 2), (10, 3, 9, 3), (9, 3, 0, 3), (9, 0, 9, 3)] {
        let (mut a, mut b) = (vec![0; a], vec![0; b]);
        let chunks = || pool.for_each_chunk2(&mut a, a_len, &mut b, b_len, never);
        assert!(text(common::panic_of(chunks)).contains("chunks and"));
    }
    // No chunks of either.
    pool.for_each_chunk2(&mut [0; 9], 0, &mut [0; 0], 3, never);
    pool.for_each_chunk2(&mut [0; 9], 0, &mut [0; 9], 0, never);
    // As many and as long as can be.
    let (mut a, mut b) = (vec![(); usize::MAX], vec![(); usize::MAX]);
    let (half, calls) = (usize::MAX / 2, AtomicUsize::new(0));
    pool.for_each_chunk2(&mut a, half + 1, &mut b, usize::MAX - 1, |i, a, b| {
        assert_eq!((a.len(), b.len()), [(half + 1, usize::MAX - 1), (half, 1)][i]);
        common::tick(&calls);
    });
    assert_eq!(calls.into_inner(), 2);
}

#[test]
fn values_are_collected() {
    bounded!();
    at_each_width(|pool| {
        for n in COUNTS {
            plain_and_with_work!(pool, |view| {
                assert_eq!(view.map_collect(n, |i| i), (0..n).collect::<Vec<_>>());
                let texts = view.map_collect(n, |i| i.to_string());
                assert!(texts.len() == n && (0..n).all(|i| texts[i] == i.to_string()));
                assert_eq!(view.map_collect(n, |_| ()).len(), n);
                let seen = Tally::new(n);
                view.map_collect(n, |i| seen.see(i));
                seen.each_once();
            });
        }
    });
}

#[test]
fn the_error_with_the_lowest_index() {
    bounded!();
    at_each_width(|pool| {
        for n in [1, 2, 9, 100, 1000] {
            for bad in [0, 1, n / 3, n / 2, n - 1] {
                for step in [1, 7, n] {
                    let fails = |i: usize| i >= bad && (i - bad).is_multiple_of(step);
                    let f = |i: usize| if fails(i) { Err(i.to_string()) } else { Ok(i) };
                    plain_and_with_work!(pool, |view| {
                        let result = view.try_map_collect(n, f);
                        assert_eq!(result.ok(), (bad >= n).then(|| (0..n).collect::<Vec<_>>()));
                        let error = view.try_map_collect(n, f).err();
                        assert_eq!(error, (bad < n).then(|| bad.to_string()), "of {n} by {step}");
                    });
                }
            }
            plain_and_with_work!(pool, |view| {
                let all = view.try_map_collect(n, |i| Ok::<_, ()>(Box::new(i)));
                assert!(all.unwrap().into_iter().map(|i| *i).eq(0..n));
            });
        }
        assert_eq!(pool.try_map_collect(0, |_| Err::<(), _>("never")), Ok(vec![]));
    });
}

#[test]
fn tiles_cover_the_matrix() {
    bounded!();
    at_each_width(|pool| {
        for (rows, cols) in [(0, 5), (5, 0), (1, 1), (3, 50), (50, 3), (31, 33)] {
            for (tile_rows, tile_cols) in [(1, 1), (2, 3), (16, 16), (31, 1), (100, usize::MAX)] {
                plain_and_with_work!(pool, |view| {
                    let cells = Tally::new(rows * cols);
                    view.tiles(rows, cols, tile_rows, tile_cols, |down, across| {
                        assert!(!down.is_empty() && !across.is_empty());
                        assert!(down.start % tile_rows == 0 && across.start % tile_cols == 0);
                        assert!(down.len() == tile_rows || down.end == rows);
                        assert!(across.len() == tile_cols || across.end == cols);
                        down.for_each(|row| {
                            across.clone().for_each(|col| cells.see(row * cols + col));
                        });
                    });
                    cells.each_once();
                });
            }
        }
        let never = |_: Range<usize>, _: Range<usize>| panic!("nothing to call");
        pool.tiles(9, 9, 0, 3, never);
        pool.tiles(9, 9, 3, 0, never);
        // As large as can be.
        let area = Mutex::new(0u128);
        pool.tiles(usize::MAX, usize::MAX, usize::MAX / 3, usize::MAX / 2, |rows, cols| {
            *area.lock().unwrap() += rows.len() as u128 * cols.len() as u128;
        });
        assert_eq!(area.into_inner().unwrap(), (usize::MAX as u128).pow(2));
        let payload = common::panic_of(|| pool.tiles(usize::MAX, 2, 1, 1, never));
        assert!(common::text_of(&*payload).contains("more tiles"));
    });
}

#[test]
fn closures_are_joined() {
    bounded!();
    at_each_width(|pool| {
        plain_and_with_work!(pool, |view| {
            let (text, mut number) = (String::from("moved"), 1);
            let joined = view.join(move || text, || number += 1);
            assert_eq!((joined.0.as_str(), number), ("moved", 2));
            let mut cells = [0; 3];
            let [a, b, c] = &mut cells;
            let joined = view.join3(|| *a = 1, || *b = 2, || std::mem::replace(c, 3));
            assert_eq!((joined, cells), (((), (), 0), [1, 2, 3]));
        });
        // One in the other, which runs inline.
        let sum = |from: usize| pool.map_collect(100, |i| i + from).iter().sum::<usize>();
        assert_eq!(pool.join(|| sum(0), || pool.join(|| sum(1), || 2)), (4950, (5050, 2)));
    });
}

/// Two threads take part in a `join`, if they come.
#[test]
fn a_join_is_two_threads() {
    bounded!();
    let pool = cpus::pool(2);
    let id = || {
        std::thread::sleep(Duration::from_millis(2));
        std::thread::current().id()
    };
    let apart = (0..500).any(|_| {
        pool.wake();
        let (a, b) = pool.join(id, id);
        assert_eq!(a, std::thread::current().id());
        a != b
    });
    assert!(apart || pool.active_width() == 1);
}

/// The parts that each output of a fused region was handed out in.
fn parts(lens: &[usize], costs: &[usize], view: impl Fn(&mut [Rows<'_, u32>], &Call<'_>)) -> Parts {
    let mut outputs: Vec<Vec<u32>> = lens.iter().map(|&len| vec![7; len]).collect();
    let parts = Mutex::new(vec![Vec::new(); lens.len()]);
    let costs = costs.iter().cycle();
    let mut rows: Vec<_> =
        outputs.iter_mut().zip(costs).map(|(rows, &cost)| Rows::new(rows).cost(cost)).collect();
    view(&mut rows, &|output, first, part| {
        assert!(!part.is_empty());
        parts.lock().unwrap()[output].push(first..first + part.len());
        (first..).zip(part).for_each(|(row, out)| *out = *out - 7 + (1000 * output + row) as u32);
    });
    for (i, output) in outputs.iter().enumerate() {
        assert!(output.iter().zip(1000 * i as u32..).all(|(out, right)| *out == right));
    }
    let mut parts = parts.into_inner().unwrap();
    for (parts, &len) in parts.iter_mut().zip(lens) {
        parts.sort_by_key(|part| part.start);
        assert_eq!(parts.iter().map(Range::len).sum::<usize>(), len, "each row once: {parts:?}");
    }
    parts
}

type Parts = Vec<Vec<Range<usize>>>;
type Call<'a> = dyn Fn(usize, usize, &mut [u32]) + Sync + 'a;

#[test]
fn several_outputs_in_one_region() {
    bounded!();
    at_each_width(|pool| {
        let lens: [&[usize]; 9] = [
            &[],
            &[0],
            &[1],
            &[0, 5, 0],
            &[576, 192, 192],
            &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            &[999, 1, 998],
            &[33, 0, 700, 31],
            &[1, 900],
        ];
        for lens in lens {
            for costs in [&[1][..], &[576], &[3, 2], &[0, 1000, 7], &[usize::MAX, 1]] {
                plain_and_with_work!(pool, |view| {
                    parts(lens, costs, |outputs, f| view.rows_of(outputs, f));
                });
            }
        }
    });
}

/// Slots get rows of equal cost together, few outputs have two slots' rows.
#[test]
#[allow(clippy::single_range_in_vec_init, reason = "a range is meant")]
fn fused_rows_are_shared_out_by_cost() {
    bounded!();
    let pool = cpus::pool(4);
    let hinted = pool.with_work(1);
    let work = |lens: &[usize], costs: &[usize]| {
        self::parts(lens, costs, |outputs, f| hinted.rows_of(outputs, f))
    };
    let parts =
        |lens: &[usize], costs: &[usize]| parts(lens, costs, |outputs, f| pool.rows_of(outputs, f));
    assert_eq!(parts(&[400, 400], &[1]), [[0..200, 200..400], [0..200, 200..400]]);
    assert_eq!(parts(&[40, 20, 20], &[1]), [vec![0..20, 20..40], vec![0..20], vec![0..20]]);
    assert_eq!(parts(&[30, 10], &[1, 9]), [vec![0..30], vec![0..4, 4..7, 7..10]]);
    // Also where their sum is no number.
    let huge = parts(&[100, 100], &[usize::MAX / 100, usize::MAX / 100]);
    assert_eq!(huge, [[0..50, 50..100], [0..50, 50..100]]);
    assert_eq!(work(&[100, 100], &[usize::MAX / 100, usize::MAX / 100]), huge, "worth a fork");
    // On lines where there are enough.
    let long = parts(&[10_000, 10_001], &[1]);
    assert!(long.iter().flatten().all(|part| part.start % 32 == 0), "{long:?}");
}

#[test]
fn more_fused_rows_than_can_be_counted() {
    bounded!();
    let pool = cpus::pool(3);
    let (mut a, mut b) = (vec![(); usize::MAX], vec![(); usize::MAX]);
    let rows = AtomicUsize::new(0);
    let count = |_: usize, _: usize, part: &mut [()]| {
        rows.fetch_add(part.len(), Ordering::Relaxed);
    };
    pool.rows_of(&mut [Rows::new(&mut a).cost(1000)], count);
    assert_eq!(rows.swap(0, Ordering::Relaxed), usize::MAX);
    let two = || pool.rows_of(&mut [Rows::new(&mut a), Rows::new(&mut b)], count);
    let payload = common::panic_of(two);
    assert!(common::text_of(&*payload).contains("more rows"));
    assert_eq!(rows.into_inner(), 0);
}

/// The lower error may come later: the slot that has it is slow.
#[test]
fn an_error_that_comes_late_wins_by_its_index() {
    bounded!();
    let pool = cpus::pool(2);
    let late = (0..200).filter(|_| {
        pool.wake();
        let failed = AtomicUsize::new(0);
        let f = |i: usize| -> Result<(), usize> {
            if i == 0 {
                // Not for ever: the caller may have both slots.
                let patience = Instant::now() + Duration::from_millis(5);
                while failed.load(Ordering::SeqCst) == 0 && Instant::now() < patience {
                    std::thread::yield_now();
                }
                // Until the other is noted, too.
                std::thread::sleep(Duration::from_micros(100));
            } else {
                common::tick(&failed);
            }
            Err(i)
        };
        assert_eq!(pool.try_map_collect(100, f), Err(0));
        failed.into_inner() > 0
    });
    assert!(late.count() > 0 || pool.active_width() == 1, "or nothing was tested");
}

/// What comes after a failure is in vain: other slots stop.
#[test]
fn an_error_stops_the_other_slots() {
    bounded!();
    let pool = cpus::pool(2);
    let stopped = (0..200).filter(|_| {
        pool.wake();
        let (failed, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let f = |i: usize| -> Result<(), usize> {
            if i == 0 {
                common::tick(&failed);
                return Err(0);
            }
            common::tick(&calls);
            // Not for ever: the caller may have both slots.
            let patience = Instant::now() + Duration::from_millis(5);
            while failed.load(Ordering::SeqCst) == 0 && Instant::now() < patience {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(100));
            Ok(())
        };
        assert_eq!(pool.try_map_collect(20, f), Err(0));
        calls.into_inner() < 10
    });
    assert!(stopped.count() > 0 || pool.active_width() == 1, "no slot ever stopped");
}

/// No two slots write one pair of lines of either output.
#[test]
fn slots_of_two_outputs_end_on_lines_of_both() {
    bounded!();
    let pool = cpus::pool(3);
    let mut changes = 0;
    for _ in 0..50 {
        pool.wake();
        let (mut lines, mut ids) = (vec![[0u8; 128]; 4000], vec![0u32; 4000]);
        pool.for_each_chunk2(&mut lines, 1, &mut ids, 1, |i, _, id| {
            let slow = i % 1000 == 0;
            slow.then(|| std::thread::sleep(Duration::from_micros(100)));
            thread_local!(static TAG: u32 = NEXT.fetch_add(1, Ordering::SeqCst) as u32);
            static NEXT: AtomicUsize = AtomicUsize::new(1);
            id[0] = TAG.with(|tag| *tag);
        });
        for at in (1..4000).filter(|&at| ids[at - 1] != ids[at]) {
            assert_eq!(at % 32, 0);
            changes += 1;
        }
    }
    assert!(changes > 0 || pool.active_width() == 1, "or nothing was tested");
}
