//! The yardstick: the least that a static fork and join can be. It spins for
//! ever, parks never, survives no panic, relieves nobody. Bench only.
//!
//! One line carries a worker's job there and its report back: on the Xeon that
//! this was written on a second line costs a second round trip (see `Gate`).

use super::machine::Line;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

/// What a region runs: it fits into the post.
type Slots<'a> = &'a (dyn Fn(usize) + Sync);

const STOP: usize = usize::MAX;

#[derive(Default)]
struct Post {
    go: AtomicUsize,
    done: AtomicUsize,
    job: UnsafeCell<Option<Slots<'static>>>,
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
            std::thread::spawn(move || work(&posts[slot - 1].0, slot))
        };
        let threads = (1..width).map(spawn).collect();
        Yardstick { posts, threads, epoch: 0 }
    }

    pub fn width(&self) -> usize {
        self.posts.len() + 1
    }

    pub fn region(&mut self, slot: Slots<'_>) {
        self.epoch += 1;
        // SAFETY: nobody uses it after `done`, which is awaited below. (A panic
        // in slot 0 would break that: the benches have none.)
        let job = unsafe { std::mem::transmute::<Slots<'_>, Slots<'static>>(slot) };
        for Line(post) in &*self.posts {
            // SAFETY: its worker has reported and reads no job until `go`.
            unsafe { *post.job.get() = Some(job) };
            post.go.store(self.epoch, Ordering::Release);
        }
        slot(0);
        for Line(post) in &*self.posts {
            while post.done.load(Ordering::Acquire) != self.epoch {
                spin_loop();
            }
        }
    }
}

fn work(post: &Post, slot: usize) {
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
        let run = unsafe { *post.job.get() }.expect("written before `go`");
        run(slot);
        post.done.store(epoch, Ordering::Release);
    }
}

impl Drop for Yardstick {
    fn drop(&mut self) {
        self.posts.iter().for_each(|post| post.0.go.store(STOP, Ordering::Release));
        self.threads.drain(..).for_each(|thread| thread.join().expect("it cannot panic"));
    }
}
