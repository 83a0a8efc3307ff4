//! How a pool is configured.

use crate::global;
use crate::registry::Registry;
use crate::worker::ThreadBuilder;
use crate::{ThreadPool, ThreadPoolBuildError};
use std::any::Any;
use std::{env, fmt, io, thread};

type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;

/// What the program wants to be told.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<PanicHandler>,
    pub(crate) start: Option<IndexHandler>,
    pub(crate) exit: Option<IndexHandler>,
}

/// Configures a pool, or the global one.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    pub(crate) use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) breadth_first: bool,
    handlers: Handlers,
    pub(crate) spawn_handler: S,
}

/// How threads are made.
pub trait ThreadSpawn: sealed::Sealed {
    #[doc(hidden)]
    const PLAIN: bool;
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}

/// Threads as [`std::thread`] makes them.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    const PLAIN: bool = true;
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let mut builder = thread::Builder::new();
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(bytes) = thread.stack_size() {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(|| thread.run()).map(drop)
    }
}

/// Threads as the program makes them.
pub struct CustomSpawn<F>(F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    const PLAIN: bool = false;
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            breadth_first: false,
            handlers: Handlers::default(),
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder of a pool as the environment and the machine want it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads may borrow from here: each runs `wrapper`,
    /// which calls [`ThreadBuilder::run`], and all have ended when this
    /// returns what `with_pool` did.
    ///
    /// # Errors
    /// If a thread could not be made.
    ///
    /// ```
    /// let hello = String::from("hello");
    /// let length = rayon_core::ThreadPoolBuilder::new()
    ///     .build_scoped(|thread| { let _ = &hello; thread.run() }, |pool| pool.install(|| hello.len()))?;
    /// assert_eq!(length, 5);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let pool = self
                .spawn_handler(|thread| {
                    let mut builder = thread::Builder::new();
                    if let Some(name) = thread.name() {
                        builder = builder.name(name.to_owned());
                    }
                    if let Some(bytes) = thread.stack_size() {
                        builder = builder.stack_size(bytes);
                    }
                    builder.spawn_scoped(scope, move || wrapper(thread)).map(drop)
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Whether nothing is asked for that only the pool's own threads have.
    pub(crate) fn is_plain(&self) -> bool {
        S::PLAIN
            && !self.use_current_thread
            && self.thread_name.is_none()
            && self.stack_size.is_none()
            && self.handlers.start.is_none()
            && self.handlers.exit.is_none()
    }

    /// Builds the pool.
    ///
    /// # Errors
    /// If a thread could not be made, or
    /// [`use_current_thread`](Self::use_current_thread) was asked for on a
    /// thread that is in a pool.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Registry::new(self, false, None).map(ThreadPool::from_registry)
    }

    /// Makes it the global pool: the one that is used where none is named.
    ///
    /// # Errors
    /// As for [`build`](Self::build), and if there is a global pool already,
    /// made by this or by the first use.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        global::init_global(self)?.wait_until_started();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Makes threads by a function of the program's: it must let a thread call
    /// [`ThreadBuilder::run`]. Name and stack size are for it to see to.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            breadth_first: self.breadth_first,
            handlers: self.handlers,
            spawn_handler: CustomSpawn(spawn),
        }
    }

    /// Names of threads by their index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// How many threads. 0, the default, asks `RAYON_NUM_THREADS`, then counts
    /// the CPUs; for the global pool rowpool does both, by its own rule.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The building thread becomes worker 0, for as long as it lives. It works
    /// for the pool while it waits inside of it, and there is no other thread
    /// for that index. The pool's other threads never end.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// What to do with a panic that nobody waits for; the default is to abort.
    /// A handler that panics aborts as well.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// The threads' stack size in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Workers begin with their oldest job.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Called by each thread with its index before it works.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Called by each thread with its index when it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(exit_handler));
        self
    }

    /// How many threads were asked for.
    pub(crate) fn threads(&self) -> Option<usize> {
        let asked = match self.num_threads {
            0 => threads_of(|name| env::var(name).ok()),
            asked => Some(asked),
        };
        asked.map(|asked| asked.min(crate::max_num_threads()))
    }

    /// The same, by the program itself; 0: it has not.
    pub(crate) fn threads_in_code(&self) -> usize {
        self.num_threads
    }

    pub(crate) fn name_of(&mut self, index: usize) -> Option<String> {
        self.thread_name.as_mut().map(|name| name(index))
    }

    pub(crate) fn take_handlers(&mut self) -> Handlers {
        std::mem::take(&mut self.handlers)
    }
}

/// What the environment says; `RAYON_NUM_THREADS=0` asks for the machine's own.
fn threads_of(lookup: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let number = |name| lookup(name)?.parse::<usize>().ok();
    match number("RAYON_NUM_THREADS") {
        Some(0) => None,
        Some(threads) => Some(threads),
        None => number("RAYON_RS_NUM_CPUS").filter(|&threads| threads > 0),
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closure = |given: bool| given.then(|| format_args!("<closure>").to_string());
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &closure(self.thread_name.is_some()))
            .field("panic_handler", &closure(self.handlers.panic.is_some()))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &closure(self.handlers.start.is_some()))
            .field("exit_handler", &closure(self.handlers.exit.is_some()))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}
