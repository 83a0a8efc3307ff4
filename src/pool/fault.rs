//! Faults that the model plants on purpose, chosen at run time by
//! `ROWPOOL_FAULT`, to show that it would find them (`.ci/faults`). Outside
//! loom every question is answered by a constant `false`.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "some faults exist in the model only")]
pub(crate) enum Fault {
    /// The worker reads the width beside the job, not from the word (S21).
    WidthBeside,
    /// The gate is published without Release.
    RelaxedPublish,
    /// A slot is reported without Release.
    RelaxedReport,
    /// A slot is taken from a different epoch instead of an older one.
    TakeDifferent,
    /// No fence between publishing and reading the count of sleepers.
    NoWakeFence,
    /// No fence between going to sleep and the last look.
    NoSleepFence,
    /// A wake that does not change the word that sleepers compare.
    WakeInPlace,
    /// The turn is given before the steps that it is kept for.
    StepsWithoutTurn,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

#[cfg(loom)]
pub(crate) fn planted(fault: Fault) -> bool {
    use Fault::*;
    static PLANTED: std::sync::OnceLock<Option<Fault>> = std::sync::OnceLock::new();
    *PLANTED.get_or_init(|| {
        let name = std::env::var("ROWPOOL_FAULT").ok()?;
        let all = [
            WidthBeside,
            RelaxedPublish,
            RelaxedReport,
            TakeDifferent,
            NoWakeFence,
            NoSleepFence,
            WakeInPlace,
            StepsWithoutTurn,
        ];
        let known = all.into_iter().find(|fault| format!("{fault:?}") == name);
        Some(known.unwrap_or_else(|| panic!("ROWPOOL_FAULT={name}: no such fault")))
    }) == Some(fault)
}
