//! The tiles of a matrix.

use crate::pool::Pool;
use std::ops::Range;

impl Pool {
    /// Calls `f(rows, cols)` for each tile of a `rows` by `cols` matrix: of
    /// `tile_rows` by `tile_cols`, those at the edges smaller. A slot has a
    /// contiguous run of tiles, along the rows: it stays within its rows of
    /// weights while it goes through the columns, which are the tokens of a
    /// prompt. A side of 0 calls nothing.
    ///
    /// # Panics
    /// If there are more tiles than `usize` has room for.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let area = AtomicUsize::new(0);
    /// rowpool::Pool::new(2)?.tiles(100, 70, 32, 32, |rows, cols| {
    ///     assert!(rows.end <= 100 && cols.end <= 70);
    ///     area.fetch_add(rows.len() * cols.len(), Ordering::Relaxed);
    /// });
    /// assert_eq!(area.into_inner(), 7000);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    #[inline]
    pub fn tiles(
        &self,
        rows: usize,
        cols: usize,
        tile_rows: usize,
        tile_cols: usize,
        f: impl Fn(Range<usize>, Range<usize>) + Sync,
    ) {
        if tile_rows == 0 || tile_cols == 0 {
            return;
        }
        let (down, across) = (rows.div_ceil(tile_rows), cols.div_ceil(tile_cols));
        let n = down.checked_mul(across).expect("rowpool: more tiles than usize has room for");
        let side =
            |i: usize, len: usize, all: usize| i * len..(i * len).saturating_add(len).min(all);
        self.for_each_range(n, move |tiles| {
            let (mut row, mut col) = (tiles.start / across, tiles.start % across);
            for _ in tiles {
                f(side(row, tile_rows, rows), side(col, tile_cols, cols));
                col += 1;
                if col == across {
                    (row, col) = (row + 1, 0);
                }
            }
        });
    }
}
