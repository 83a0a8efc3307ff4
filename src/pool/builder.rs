//! Settings of a pool, and its threads.

use super::{nested, Own, Pool, Team, Window, MAX_WIDTH};
use crate::machine::{self, Binding, Plan};
use crate::sync::AtomicBool;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Why a pool could not be built.
///
/// ```
/// let error = rowpool::Pool::new(1000).unwrap_err();
/// assert_eq!(error.to_string(), "a width of 1000 is above the limit of 512 threads");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The width asked for, which is above 512.
    TooWide(usize),
    /// The system refused a thread, and the pool is [strict](PoolBuilder::strict).
    Spawn {
        /// Threads that there were, the caller among them.
        got: usize,
        /// Threads asked for.
        wanted: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::TooWide(width) => {
                write!(f, "a width of {width} is above the limit of {MAX_WIDTH} threads")
            }
            BuildError::Spawn { got, wanted, source } => {
                write!(f, "only {got} of {wanted} threads could be created: {source}")
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::TooWide(_) => None,
            BuildError::Spawn { source, .. } => Some(source),
        }
    }
}

/// A name for the threads of a pool. Nobody outside needs to name the trait.
pub trait ThreadName {
    /// The name of the thread that owns `slot`.
    fn name(&self, slot: usize) -> String;
}

impl ThreadName for &str {
    fn name(&self, slot: usize) -> String {
        format!("{self}-{slot}")
    }
}

impl ThreadName for String {
    fn name(&self, slot: usize) -> String {
        self.as_str().name(slot)
    }
}

impl<F: Fn(usize) -> String> ThreadName for F {
    fn name(&self, slot: usize) -> String {
        self(slot)
    }
}

type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// Settings of a [`Pool`].
///
/// ```
/// use std::time::Duration;
/// let pool = rowpool::Pool::builder()
///     .width(2)
///     .spin_window(Duration::from_micros(100))
///     .thread_name("decode")
///     .build()?;
/// # Ok::<(), rowpool::BuildError>(())
/// ```
#[derive(Default)]
#[must_use = "a builder builds nothing until `build`"]
pub struct PoolBuilder {
    width: usize,
    window: Option<Duration>,
    name: Option<Box<dyn ThreadName>>,
    pin: Option<bool>,
    stack_size: Option<usize>,
    on_start: Option<Hook>,
    strict: bool,
    keep_worker_qos: bool,
    keep_caller_qos: Option<bool>,
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("width", &self.width)
            .field("spin_window", &self.window)
            .field("pin", &self.pin)
            .field("stack_size", &self.stack_size)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

impl PoolBuilder {
    /// Threads, the caller among them; 0, the default, means the default width.
    ///
    /// ```
    /// assert_eq!(rowpool::Pool::builder().width(2).build()?.num_threads(), 2);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn width(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// How long a worker spins after a region before it parks. The default is
    /// `ROWPOOL_SPIN_US`, in µs, or else 300 µs, and an eighth of that where
    /// nothing has come within the last eight windows. Zero parks at once: every
    /// region that is worth it then pays a wake.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = rowpool::Pool::builder().spin_window(Duration::from_millis(1)).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn spin_window(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }

    /// Names the threads: by a text, which gets the slot appended (`"gemv"` gives
    /// `gemv-1`, `gemv-2`; the default is `"rowpool"`), or by a function of the
    /// slot.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).thread_name("gemv").build()?;
    /// let by_slot = |slot: usize| format!("row {slot}");
    /// let pool = rowpool::Pool::builder().width(2).thread_name(by_slot).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn thread_name(mut self, name: impl ThreadName + 'static) -> Self {
        self.name = Some(Box::new(name));
        self
    }

    /// Binds each worker to a CPU, never the caller: one per physical core of
    /// the process's mask, spread over last-level caches before packing. Off by
    /// default, unless `ROWPOOL_PIN` is `1` (it helps on quiet machines and
    /// hurts on busy ones). A worker that cannot be bound goes on unbound.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).pin(true).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = Some(pin);
        self
    }

    /// Stack of each worker in bytes; the default is std's (2 MiB).
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).stack_size(256 * 1024).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Calls `hook(slot)` on each worker before its first slot. The pool does
    /// not wait for it: until a worker is through, the caller runs its slots. A
    /// panic in the hook is logged and ignored.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).on_worker_start(|slot| assert!(slot > 0)).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn on_worker_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(hook));
        self
    }

    /// Whether a thread that cannot be created is an error; by default the pool
    /// works with those it got and logs a warning.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).strict(true).build()?;
    /// assert_eq!(pool.num_threads(), 2);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether workers get the scheduling class that suits inference; on by
    /// default. macOS: the user-interactive Quality-of-Service class, which they
    /// would otherwise inherit from whatever thread builds the pool. Windows:
    /// no power throttling (EcoQoS) when the window is in the background. No
    /// effect elsewhere; failure is ignored.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).worker_qos(false).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn worker_qos(mut self, raise: bool) -> Self {
        self.keep_worker_qos = !raise;
        self
    }

    /// Whether a caller below the user-initiated class is raised to it, once per
    /// thread, at its first region (macOS): a caller on an efficiency core would
    /// hold up every region. The default is on, unless `ROWPOOL_CALLER_QOS` is
    /// `keep`. The caller's affinity and priority are never touched.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).caller_qos(false).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn caller_qos(mut self, raise: bool) -> Self {
        self.keep_caller_qos = Some(!raise);
        self
    }

    /// Builds the pool. Does not wait for its threads: regions are complete
    /// without them.
    ///
    /// # Errors
    /// [`BuildError::TooWide`] above 512 threads; [`BuildError::Spawn`] in a
    /// [strict](Self::strict) pool.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn build(self) -> Result<Pool, BuildError> {
        if self.width > MAX_WIDTH {
            return Err(BuildError::TooWide(self.width));
        }
        let mut plan = Plan::new(self.width);
        if !crate::sync::ONE_WORD {
            plan.width.threads = 1;
        }
        let threads = plan.width.threads;
        log::debug!("rowpool: {}", plan.width.reason);
        // Before the first thread, and before the team notes the generation.
        crate::sys::watch_forks();
        let window = self.window.map_or_else(machine::spin_window, Window::fixed);
        let pin = self.pin.unwrap_or_else(machine::pin_by_default);
        let weights = plan.weights();
        let weighted = weights.is_some();
        let mut pool = Pool {
            team: Arc::new(
                Team::new(threads - 1, window).with_weights(weights).with_duty(plan.duty()),
            ),
            own: Arc::new(Own { workers: Vec::new(), plan, ran_serially: AtomicBool::new(false) }),
            keep_caller_qos: self.keep_caller_qos.unwrap_or_else(machine::keep_caller_qos),
            ops_per_item: None,
        };
        let own = Arc::get_mut(&mut pool.own).expect("nobody else has it yet");
        for slot in 1..threads {
            let binding = own.plan.binding(slot, pin, weighted);
            match self.spawn(&pool.team, slot, binding) {
                Ok(worker) => own.workers.push(worker),
                Err(source) if self.strict => {
                    return Err(BuildError::Spawn { got: slot, wanted: threads, source });
                }
                Err(error) => {
                    log::warn!(
                        "rowpool: only {slot} of {threads} threads could be created: {error}"
                    );
                    break;
                }
            }
        }
        pool.refresh();
        Ok(pool)
    }

    /// Builds the process-wide pool that [`global`](crate::global) and
    /// [`threads`](crate::threads) use. If it exists already, it stays as it is
    /// and is returned; ask it for its width.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).build_global()?;
    /// assert!(std::ptr::eq(pool, rowpool::global()));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn build_global(self) -> Result<&'static Pool, BuildError> {
        crate::global::install(self)
    }

    fn spawn(
        &self,
        team: &Arc<Team>,
        slot: usize,
        binding: Binding,
    ) -> io::Result<thread::JoinHandle<()>> {
        let name: &dyn ThreadName = self.name.as_deref().unwrap_or(&"rowpool");
        let mut thread = thread::Builder::new().name(name.name(slot).replace('\0', "?"));
        if let Some(bytes) = self.stack_size {
            thread = thread.stack_size(bytes);
        }
        let team = Arc::clone(team);
        let hook = self.on_start.clone();
        let raise = !self.keep_worker_qos;
        thread.spawn(move || {
            nested::mark_worker(Arc::as_ptr(&team) as usize);
            crate::sys::adopt_process_mask();
            binding.apply(slot);
            if raise {
                crate::sys::raise_worker_qos(slot);
            }
            if let Some(hook) = hook {
                let hook = std::panic::AssertUnwindSafe(|| hook(slot));
                if let Err(payload) = std::panic::catch_unwind(hook) {
                    log::error!("rowpool: on_worker_start({slot}) panicked");
                    // Its `Drop` may panic too.
                    std::mem::forget(payload);
                }
            }
            team.work(slot - 1);
        })
    }
}
