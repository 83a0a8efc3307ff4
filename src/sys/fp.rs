//! Floating point control: flush-to-zero, denormals-are-zero, rounding and
//! exception masks follow the caller, or results would depend on the width.

/// The control bits of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(u32);

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod arch {
    use std::arch::asm;

    /// MXCSR without its sticky exception flags (bits 0 to 5).
    const CONTROL: u32 = !0x3f;

    #[inline(always)]
    pub(super) fn read() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: `stmxcsr` stores four bytes to the address given, which is a
        // live u32; it touches nothing else.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr & CONTROL
    }

    #[cold]
    pub(super) fn write(control: u32) {
        // SAFETY: `ldmxcsr` reads four bytes from a live u32, whose bits another
        // thread's MXCSR held, so no reserved bit is set. Code that runs under
        // the new state is the user's, whose caller has set it (rowpool itself
        // computes nothing in floating point here).
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &control, options(nostack, readonly, preserves_flags))
        };
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod arch {
    use std::arch::asm;

    #[inline(always)]
    pub(super) fn read() -> u32 {
        let fpcr: u64;
        // SAFETY: reading FPCR has no effect and is allowed at EL0.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        // The bits above 31 are reserved.
        fpcr as u32
    }

    #[cold]
    pub(super) fn write(control: u32) {
        // SAFETY: the bits were another thread's FPCR; writing it is allowed at
        // EL0 and affects floating point of this thread only, as the user's
        // caller has asked.
        unsafe {
            asm!("msr fpcr, {}", in(reg) u64::from(control), options(nomem, nostack, preserves_flags))
        };
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod arch {
    #[inline(always)]
    pub(super) fn read() -> u32 {
        0
    }

    pub(super) fn write(_: u32) {}
}

impl State {
    /// No state; never adopted.
    pub(crate) const UNSET: State = State(0);

    /// The calling thread's.
    #[inline(always)]
    pub(crate) fn current() -> State {
        State(arch::read())
    }

    /// Gives the calling thread this state, if it has another.
    #[inline(always)]
    pub(crate) fn adopt(self) {
        if arch::read() != self.0 {
            arch::write(self.0);
        }
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "../../tests/unit/sys_fp.rs"]
mod tests;
