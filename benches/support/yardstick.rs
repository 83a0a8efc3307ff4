//! The yardstick: the least that a static fork and join can be. It spins for
//! ever, parks never, survives no panic, relieves nobody. Bench only.
//!
//! One line carries a worker's job there and its report back: on the Xeon that
//! this was written on a second line costs a second round trip (see `Gate`).

use super::fork::share;
use super::machine::Line;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What a region runs: it fits into the post.
type Rows<'a> = &'a (dyn Fn(Range<usize>) + Sync);

const STOP: usize = usize::MAX;

#[derive(Default)]
struct Post {
    go: AtomicUsize,
    done: AtomicUsize,
    job: UnsafeCell<Option<(Rows<'static>, usize)>>,
}
// SAFETY: `job` is written before `go` is and read after; `done` ends that.
unsafe impl Sync for Post {}

pub struct Yardstick {
    posts: Arc<[Line<Post>]>,
    threads: Vec<JoinHandle<()>>,
    epoch: usize,
}

impl Yardstick {
    pub fn new(width: usize) -> Yardstick {
        let posts: Arc<[Line<Post>]> = (1..width).map(|_| Line::default()).collect();
        let spawn = |slot: usize| {
            let posts = Arc::clone(&posts);
            std::thread::spawn(move || work(&posts[slot - 1].0, slot, width))
        };
        let threads = (1..width).map(spawn).collect();
        Yardstick { posts, threads, epoch: 0 }
    }

    pub fn region(&mut self, n: usize, rows: Rows<'_>) {
        self.epoch += 1;
        // SAFETY: nobody uses it after `done`, which is awaited below. (A panic
        // in slot 0 would break that: the benches have none.)
        let job = unsafe { std::mem::transmute::<Rows<'_>, Rows<'static>>(rows) };
        for Line(post) in &*self.posts {
            // SAFETY: its worker has reported and reads no job until `go`.
            unsafe { *post.job.get() = Some((job, n)) };
            post.go.store(self.epoch, Ordering::Release);
        }
        rows(share(n, self.posts.len() + 1, 0));
        for Line(post) in &*self.posts {
            while post.done.load(Ordering::Acquire) != self.epoch {
                spin_loop();
            }
        }
    }
}

fn work(post: &Post, slot: usize, width: usize) {
    for epoch in 1.. {
        let go = loop {
            match post.go.load(Ordering::Acquire) {
                old if old == epoch - 1 => spin_loop(),
                new => break new,
            }
        };
        if go == STOP {
            return;
        }
        // SAFETY: the caller waits for `done` before it writes again.
        let (rows, n) = unsafe { *post.job.get() }.expect("written before `go`");
        rows(share(n, width, slot));
        post.done.store(epoch, Ordering::Release);
    }
}

impl Drop for Yardstick {
    fn drop(&mut self) {
        self.posts.iter().for_each(|post| post.0.go.store(STOP, Ordering::Release));
        self.threads.drain(..).for_each(|thread| thread.join().expect("it cannot panic"));
    }
}
