//! `join`, `scope` and `spawn` inside it: a few closures instead of a loop.

use super::region::{as_caller, pool, tasks, watch_loops};
use crate::sync::{Ordering, StaticMutex, StaticU32};
use std::any::type_name;
use std::fmt;

/// Runs two closures and returns both results; in parallel, unless loops run
/// inside them.
///
/// There is no stealing. Two closures that open no loops are one region of two
/// slots, and `join`s inside them run inline: a recursion by halves uses two
/// threads (deep recursions are what a stealing pool is for). Closures that
/// opened parallel loops when this pair was last run are run one after the
/// other on the calling thread, each of their loops at the pool's full width.
/// Which of the two it is changes times, never results.
///
/// A panic in either is raised here, once both have ended; if both panic, the
/// first in time. Where they run one after the other, `oper_b` is not run after
/// a panic in `oper_a`.
///
/// ```
/// let (x, y) = ([1.0f32, 2.0], [3.0f32, 4.0]);
/// let (a, b) = rowpool::rayon::join(|| x.iter().sum::<f32>(), || y.iter().sum::<f32>());
/// assert_eq!((a, b), (3.0, 7.0));
/// ```
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let site = Site::of::<A, B>();
    let (results, looped) = if site.loops() {
        let (a, in_a) = watch_loops(|| pool(|pool| as_caller(pool, oper_a)));
        let (b, in_b) = watch_loops(|| pool(|pool| as_caller(pool, oper_b)));
        ((a, b), in_a || in_b)
    } else {
        let (a, b) = (Once::new(oper_a), Once::new(oper_b));
        tasks(2, |i| if i == 0 { a.run() } else { b.run() });
        let ((a, in_a), (b, in_b)) = (a.result(), b.result());
        ((a, b), in_a || in_b)
    };
    site.note(looped);
    results
}

/// A closure for another thread, and then its result with whether it looped.
struct Once<F, R> {
    f: StaticMutex<Option<F>>,
    result: StaticMutex<Option<(R, bool)>>,
}

impl<F: FnOnce() -> R, R> Once<F, R> {
    fn new(f: F) -> Self {
        Once { f: StaticMutex::new(Some(f)), result: StaticMutex::new(None) }
    }

    fn run(&self) {
        let f = self.f.lock().take().expect("each slot runs once");
        let result = watch_loops(f);
        *self.result.lock() = Some(result);
    }

    fn result(self) -> (R, bool) {
        self.result.into_inner().expect("the region is complete")
    }
}

/// What is remembered of a pair of closures between calls: whether loops ran
/// inside. A guess for speed: pairs that share a place in the table overwrite
/// each other.
struct Site {
    place: &'static StaticU32,
    name: u32,
}

impl Site {
    fn of<A, B>() -> Site {
        static SITES: [StaticU32; 64] = [const { StaticU32::new(0) }; 64];
        let hash = |name: &str| name.as_ptr().addr() ^ name.len();
        let mix = (hash(type_name::<A>()) as u64).rotate_left(32) ^ hash(type_name::<B>()) as u64;
        let mix = mix.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Never 0, which means nobody.
        Site { place: &SITES[(mix >> 58) as usize], name: (mix >> 16) as u32 | 1 }
    }

    fn loops(&self) -> bool {
        // Relaxed: a guess.
        self.place.load(Ordering::Relaxed) == self.name
    }

    fn note(&self, looped: bool) {
        if looped != self.loops() {
            self.place.store(if looped { self.name } else { 0 }, Ordering::Relaxed);
        }
    }
}

type Task<'scope> = Box<dyn FnOnce(&Scope<'scope>) + Send + 'scope>;

/// Where closures are [spawned](Self::spawn) to; see [`scope`].
pub struct Scope<'scope> {
    spawned: StaticMutex<Vec<Task<'scope>>>,
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("spawned", &self.spawned.lock().len()).finish()
    }
}

impl<'scope> Scope<'scope> {
    /// Leaves a closure to be run before the scope ends: not before the body of
    /// the scope (or the spawned closure that this is called from) has
    /// returned. So the body must not wait for it, nor may spawned closures
    /// wait for each other.
    ///
    /// ```
    /// let mut parts = [0; 3];
    /// rowpool::rayon::scope(|s| {
    ///     for (i, part) in parts.iter_mut().enumerate() {
    ///         s.spawn(move |_| *part = 10 * i);
    ///     }
    /// });
    /// assert_eq!(parts, [0, 10, 20]);
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.spawned.lock().push(Box::new(body));
    }
}

/// Runs `op` on the calling thread, then all that it [spawned](Scope::spawn) as
/// one region with a slot for each closure; what those spawned, as another, and
/// so on. Loops directly in `op` are regions of their own, at full width.
///
/// A panic in `op` or in a spawned closure is raised here. After one, closures
/// that have not begun may be dropped without having run.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// rowpool::rayon::scope(|s| {
///     for i in 0..10 {
///         let sum = &sum;
///         s.spawn(move |s| {
///             s.spawn(move |_| { sum.fetch_add(i, Ordering::Relaxed); });
///         });
///     }
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_place_scope(op)
}

/// As [`scope`], which runs `op` on the calling thread too.
///
/// ```
/// let mut left = 1;
/// rowpool::rayon::in_place_scope(|s| s.spawn(|_| left = 0));
/// assert_eq!(left, 0);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let scope = Scope { spawned: StaticMutex::new(Vec::new()) };
    let result = pool(|pool| as_caller(pool, || op(&scope)));
    loop {
        let round = std::mem::take(&mut *scope.spawned.lock());
        if round.is_empty() {
            return result;
        }
        let round: Vec<_> = round.into_iter().map(|task| StaticMutex::new(Some(task))).collect();
        tasks(round.len(), |i| {
            let task = round[i].lock().take().expect("each slot runs once");
            task(&scope);
        });
    }
}
