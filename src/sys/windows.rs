//! Windows.

use windows_sys::Win32::System::Threading::{
    GetCurrentThread, SetThreadInformation, ThreadPowerThrottling,
    THREAD_POWER_THROTTLING_CURRENT_VERSION, THREAD_POWER_THROTTLING_EXECUTION_SPEED,
    THREAD_POWER_THROTTLING_STATE,
};

/// Opts the calling worker out of power throttling (EcoQoS), into which Windows
/// puts programs in the background (S25). Priority is left alone.
pub(crate) fn raise_worker_qos(slot: usize) {
    let state = THREAD_POWER_THROTTLING_STATE {
        Version: THREAD_POWER_THROTTLING_CURRENT_VERSION,
        ControlMask: THREAD_POWER_THROTTLING_EXECUTION_SPEED,
        StateMask: 0,
    };
    // SAFETY: `GetCurrentThread` gives a pseudo handle that needs no closing;
    // the pointer and the size are those of a live struct of the type that this
    // class of information takes.
    let done = unsafe {
        SetThreadInformation(
            GetCurrentThread(),
            ThreadPowerThrottling,
            std::ptr::from_ref(&state).cast(),
            size_of_val(&state) as u32,
        )
    };
    if done == 0 {
        log::debug!("rowpool: worker {slot} stays subject to power throttling");
    }
}

/// Binds the calling thread to `cpu`; false if that cannot be done.
pub(crate) fn pin_to(cpu: usize) -> bool {
    cpu < usize::BITS as usize && core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
}
