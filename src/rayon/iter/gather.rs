//! What the parts of a loop leave behind, and how they tell each other to stop.

use crate::rayon::raw::{Iterate, Whole};
use crate::sync::{AtomicUsize, Ordering, StaticMutex};

/// One result per part, in the order of the parts.
pub(super) struct Gather<R>(StaticMutex<Vec<(usize, R)>>);

impl<R: Send> Gather<R> {
    pub(super) fn new() -> Self {
        Gather(StaticMutex::new(Vec::new()))
    }

    /// Leaves the result of the part that begins at `first`.
    pub(super) fn put(&self, first: usize, result: R) {
        self.0.lock().push((first, result));
    }

    pub(super) fn in_order(self) -> impl Iterator<Item = R> {
        let mut parts = self.0.into_inner();
        parts.sort_unstable_by_key(|&(first, _)| first);
        parts.into_iter().map(|(_, result)| result)
    }
}

/// The items of an iterator in their order, a vector for each part.
pub(super) fn vectors<I: Iterate>(iter: I) -> impl Iterator<Item = Vec<I::Of>> {
    let (whole, parts) = (Whole::new(iter), Gather::new());
    let iter = whole.iter();
    whole.drive(|first, part| {
        parts.put(first, iter.serial(first, part).collect::<Vec<_>>());
    });
    parts.in_order()
}

/// All items in their order.
pub(super) fn vector<I: Iterate>(iter: I) -> Vec<I::Of> {
    let mut parts = vectors(iter);
    let mut all = parts.next().unwrap_or_default();
    let rest: Vec<_> = parts.collect();
    all.reserve_exact(rest.iter().map(Vec::len).sum());
    rest.into_iter().for_each(|mut part| all.append(&mut part));
    all
}

/// A find in one part that makes others give up. Relaxed: it only saves work;
/// what was found travels by the end of the region.
pub(super) struct Stop(AtomicUsize);

impl Stop {
    pub(super) fn new() -> Self {
        Stop(AtomicUsize::new(usize::MAX))
    }

    /// Something was found in the part that begins at `first`.
    pub(super) fn found(&self, first: usize) {
        self.0.fetch_min(first, Ordering::Relaxed);
    }

    /// Whether something was found in any part.
    #[inline]
    pub(super) fn anywhere(&self) -> bool {
        self.0.load(Ordering::Relaxed) != usize::MAX
    }

    /// Whether something was found in a part before the one that begins at
    /// `first`.
    #[inline]
    pub(super) fn before(&self, first: usize) -> bool {
        self.0.load(Ordering::Relaxed) < first
    }
}
