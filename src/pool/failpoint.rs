//! Failpoints: faults that the model plants on purpose, chosen at run time by
//! `ROWPOOL_FAULT`, to show that it would find them (`.ci/faults`). Outside
//! loom every question is answered by a constant `false`.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(dead_code, reason = "some faults exist in the model only")]
        pub(crate) enum Fault {
            $($(#[$doc])* $name,)*
        }

        #[cfg(loom)]
        const ALL: &[(&str, Fault)] = &[$((stringify!($name), Fault::$name)),*];
    };
}

faults! {
    /// The worker reads the width beside the job, not from the word (S21).
    WidthBeside,
    /// The gate is published without Release.
    RelaxedPublish,
    /// The end of a slot is published without Release.
    RelaxedDone,
    /// A slot is claimed from a different epoch instead of an older one.
    ClaimDifferent,
    /// Of several gates the last is not published.
    LastGateUnpublished,
    /// A publication keeps the hint to rest.
    PublishKeepsRest,
    /// No fence between publishing and reading the count of sleepers.
    NoWakeFence,
    /// No fence between going to sleep and the last look.
    NoSleepFence,
    /// A wake that does not change the word that sleepers compare.
    WakeInPlace,
    /// A woken worker wakes nobody.
    WakeNotPassedOn,
    /// A worker that goes away for a moment still counts as awake.
    AwayUncounted,
    /// The caller lock is given before the steps that it is kept for.
    StepsWithoutLock,
    /// A caller that is let between two steps takes the lock of a running one.
    BargeIntoStep,
    /// The head of the queue does not take what was handed to it.
    HandoffUntaken,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

#[cfg(loom)]
pub(crate) fn planted(fault: Fault) -> bool {
    static PLANTED: std::sync::OnceLock<Option<Fault>> = std::sync::OnceLock::new();
    *PLANTED.get_or_init(|| {
        let name = std::env::var("ROWPOOL_FAULT").ok()?;
        let known = ALL.iter().find(|fault| fault.0 == name).map(|fault| fault.1);
        Some(known.unwrap_or_else(|| panic!("ROWPOOL_FAULT={name}: no such fault")))
    }) == Some(fault)
}
