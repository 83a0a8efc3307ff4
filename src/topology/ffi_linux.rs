//! The process's affinity mask on Linux and Android.

use std::mem::size_of_val;

use super::cpuset::CpuSet;

/// Largest mask asked for, in words: 8 times what `MAX_CPUS` needs.
const MAX_WORDS: usize = 1024;

/// The mask of the process's main thread; `None` where the call is refused.
///
/// Not that of the calling thread: it may have been bound to one CPU, and
/// threads made for the pool should not share that.
pub(crate) fn process_mask() -> Option<CpuSet> {
    // 16 words (1024 CPUs) suffice but on the largest machines; the kernel says
    // EINVAL when its own mask is longer.
    let mut words: Vec<libc::c_ulong> = vec![0; 16];
    loop {
        // SAFETY: `getpid` has no preconditions.
        let process = unsafe { libc::getpid() };
        // SAFETY: the pointer is to `words`, which lives through the call, and
        // the size is that of its elements in bytes, so the kernel (and the C
        // library, which clears the rest) writes inside it. `cpu_set_t` is an
        // array of `unsigned long` by the ABI, so the alignment is right, and
        // every bit pattern is a valid element.
        let written = unsafe {
            libc::sched_getaffinity(
                process,
                size_of_val(words.as_slice()),
                words.as_mut_ptr().cast(),
            )
        };
        if written >= 0 {
            break;
        }
        let too_small = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        if !too_small || words.len() >= MAX_WORDS {
            return None;
        }
        words.resize(words.len() * 2, 0);
    }
    let bits = libc::c_ulong::BITS as usize;
    let mask: CpuSet = (0..words.len() * bits)
        .filter(|cpu| words[cpu / bits] & (1 << (cpu % bits)) != 0)
        .collect();
    (!mask.is_empty()).then_some(mask)
}
