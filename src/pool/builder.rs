//! Settings of a pool, and its threads.

use super::team::{Setup, Team};
use super::threads::{ThreadName, Threads};
use super::{Own, Pool, MAX_WIDTH};
use crate::config;
use crate::machine::{self, Notes, Plan};
use crate::policy::quota::QuotaShare;
use crate::policy::spin::SpinWindow;
use crate::policy::Policy;
use crate::sync::AtomicBool;
use crate::topology::{Reason, Topology};
use log::Level;
use std::fmt;
use std::io;
use std::sync::Arc;
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
    threads: Threads,
    pin: Option<bool>,
    strict: bool,
    keep_caller_qos: Option<bool>,
    topology: Option<Topology>,
    without: Vec<Policy>,
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("width", &self.width)
            .field("spin_window", &self.window)
            .field("pin", &self.pin)
            .field("stack_size", &self.threads.stack_size)
            .field("strict", &self.strict)
            .field("without", &self.without)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool of `width` threads, the caller among them; 0 means the default
    /// width ([`threads::resolve_gemv_threads`](crate::threads::resolve_gemv_threads)).
    ///
    /// Threads that the system refuses are gone without: see
    /// [`num_threads`](Self::num_threads), and [`PoolBuilder::strict`].
    ///
    /// # Errors
    /// [`BuildError::TooWide`] above 512.
    ///
    /// ```
    /// assert!(rowpool::Pool::new(0)?.num_threads() >= 1);
    /// assert!(rowpool::Pool::new(513).is_err());
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn new(width: usize) -> Result<Pool, BuildError> {
        Pool::builder().width(width).build()
    }

    /// A pool with settings.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).thread_name("gemv").build()?;
    /// assert_eq!(pool.num_threads(), 2);
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
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
        self.threads.name = Some(Box::new(name));
        self
    }

    /// Binds each worker to a CPU, never the caller: one per physical core of
    /// the process's mask, spread over last-level caches before packing; a CPU
    /// that the calling thread is bound to is left to it. A caller that is bound
    /// to a worker's CPU later changes places with that worker. Off by
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
        self.threads.stack_size = Some(bytes);
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
        self.threads.on_start = Some(Arc::new(hook));
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
        self.threads.keep_qos = !raise;
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

    /// The facts to plan by, in place of [`Topology::detect`]: a part of the
    /// machine that the program has set aside, or another one, for tests. Its
    /// mask bounds the workers where the system can bind to sets of CPUs (Linux,
    /// Android). Mask and quota stay as given: the pool then asks the system
    /// nothing.
    ///
    /// ```
    /// use rowpool::topology::{Quota, Topology};
    /// let mut facts = Topology::new(16);
    /// facts.quota = Quota::new(300_000, 100_000);
    /// let pool = rowpool::Pool::builder().width(8).topology(facts).build()?;
    /// assert_eq!((pool.num_threads(), pool.active_width()), (8, 3));
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn topology(mut self, facts: Topology) -> Self {
        self.topology = Some(facts);
        self
    }

    /// Whether workers keep the scheduling policy and nice value of the thread that
    /// builds the pool (Linux, Android). By default they are ordinary threads with
    /// the process's own nice value, where the system allows that; where it does
    /// not, [`Pool::reason`] says so.
    ///
    /// ```
    /// let pool = rowpool::Pool::builder().width(2).inherit_priority(true).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn inherit_priority(mut self, inherit: bool) -> Self {
        self.threads.inherit_priority = inherit;
        self
    }

    /// Switches a policy off, as `ROWPOOL_WITHOUT` does: for who hunts a fault, or
    /// measures what it gains. Results are the same without any of them.
    ///
    /// ```
    /// use rowpool::{Policy, Pool};
    /// let pool = Pool::builder().without(Policy::Spin).without(Policy::Wake).build()?;
    /// # Ok::<(), rowpool::BuildError>(())
    /// ```
    pub fn without(mut self, policy: Policy) -> Self {
        self.without.push(policy);
        self
    }

    /// Builds the pool. Does not wait for its threads: regions are complete
    /// without them. Logs at its end, when the pool is there.
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
        let mut notes = Notes::default();
        let built = self.build_with(&mut notes);
        notes.log();
        built
    }

    /// Builds the pool; what there is to log is kept in `notes`.
    pub(crate) fn build_with(mut self, notes: &mut Notes) -> Result<Pool, BuildError> {
        if self.width > MAX_WIDTH {
            return Err(BuildError::TooWide(self.width));
        }
        let mut plan = Plan::new(self.width, MAX_WIDTH, self.topology.take(), notes);
        if !crate::sync::ONE_WORD {
            plan.width.threads = 1;
        }
        let threads = plan.width.threads;
        let mut level = Level::Debug;
        let stuck =
            crate::sys::stuck_at_nice().filter(|_| threads > 1 && !self.threads.inherit_priority);
        if let Some(nice) = stuck {
            let width = Box::new(plan.width.reason);
            plan.width.reason = Reason::StuckAtNice { width, nice };
            level = Level::Warn;
        }
        notes.add(level, format!("rowpool: {}", plan.width.reason));
        let named = machine::policies(notes);
        let weights = plan.weights();
        let weighted = weights.is_some();
        let usable = plan.usable_at_first();
        let quota = usable.quota.and_then(QuotaShare::new);
        let plan = Arc::new(plan);
        let window = self.window.or_else(|| config::spin_window(config::env));
        let team = Team::new(Setup {
            workers: threads - 1,
            window: window.map_or(SpinWindow::DEFAULT, SpinWindow::fixed),
            policies: self.without.iter().fold(named, |on, &policy| on.without(policy)),
            weights,
            quota,
            plan: Some(Arc::clone(&plan)),
        });
        let pin = self.pin.unwrap_or_else(|| config::pin(config::env));
        plan.seat(pin).into_iter().for_each(|cpu| team.caller_cpu().set_seat(cpu));
        let keep_qos = || config::keep_caller_qos(config::env);
        let mut pool = Pool {
            team: Arc::new(team),
            own: Arc::new(Own { workers: Vec::new(), plan, ran_serially: AtomicBool::new(false) }),
            keep_caller_qos: self.keep_caller_qos.unwrap_or_else(keep_qos),
            ops_per_item: None,
        };
        let own = Arc::get_mut(&mut pool.own).expect("nobody else has it yet");
        for slot in 1..threads {
            let binding = own.plan.binding(slot, pin, weighted);
            match self.threads.spawn(&pool.team, slot, binding) {
                Ok(worker) => own.workers.push(worker),
                Err(source) if self.strict => {
                    return Err(BuildError::Spawn { got: slot, wanted: threads, source });
                }
                Err(error) => {
                    let text =
                        format!("only {slot} of {threads} threads could be created: {error}");
                    notes.add(Level::Warn, format!("rowpool: {text}"));
                    pool.team.set_most(slot);
                    break;
                }
            }
        }
        if threads > 1 {
            pool.team.fit_to(usable);
        }
        Ok(pool)
    }
}
