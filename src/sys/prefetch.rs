//! Asks for cache lines ahead of their use.

/// Starts fetching the line of `place` for writing, where the CPU can be told.
#[inline(always)]
pub(crate) fn for_writing<T>(place: *const T) {
    // SAFETY: a prefetch is a hint: it changes no value and raises no fault.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_ET0};
        _mm_prefetch::<_MM_HINT_ET0>(place.cast());
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(loom)))]
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = place;
}

/// Starts fetching the line of `place` for reading, where the CPU can be told.
#[inline(always)]
pub(crate) fn for_reading<T>(place: *const T) {
    // SAFETY: a prefetch is a hint: it changes no value and raises no fault.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(loom)))]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = place;
}
