//! Asks Windows for its processor records and the process's mask.

use std::mem::size_of;
use std::ptr;

use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformationEx, RelationAll,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetProcessAffinityMask, GetProcessGroupAffinity,
};

use super::windows::{parse_records, GroupMask, Records};

/// The records of all groups; empty where the call fails.
pub(crate) fn records() -> Records {
    let mut len = 0u32;
    // SAFETY: with a null buffer and a length of 0 the call writes `len` only,
    // which lives through it.
    unsafe { GetLogicalProcessorInformationEx(RelationAll, ptr::null_mut(), &mut len) };
    // CPUs may come online between the calls: room for a few more records.
    len = len.saturating_add(1024);
    // As u64, for the alignment that the structures want.
    let mut buffer = vec![0u64; (len as usize).div_ceil(8)];
    // SAFETY: `buffer` is aligned for the structures, lives through the call,
    // and holds at least `len` bytes; every bit pattern is a valid u64.
    let filled = unsafe {
        GetLogicalProcessorInformationEx(RelationAll, buffer.as_mut_ptr().cast(), &mut len)
    } != 0;
    if !filled {
        return Records::default();
    }
    let mut bytes: Vec<u8> = buffer.into_iter().flat_map(u64::to_ne_bytes).collect();
    bytes.truncate(len as usize);
    parse_records(&bytes, size_of::<usize>())
}

/// The process's mask with its group; a zero mask where the process has
/// threads in several groups, or the mask cannot be had.
pub(crate) fn process_mask() -> GroupMask {
    let (mut mask, mut system) = (0usize, 0usize);
    // SAFETY: the pseudo handle of `GetCurrentProcess` needs no closing and has
    // all rights; `mask` and `system` live through the call.
    let known = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut mask, &mut system) } != 0;
    match groups().as_slice() {
        // Not to be had (wine): the first group, as on all but the largest PCs.
        [] if known => GroupMask { group: 0, mask: mask as u64 },
        [group] if known => GroupMask { group: *group, mask: mask as u64 },
        _ => GroupMask::default(),
    }
}

/// The groups in which the process has threads; empty where the call fails.
fn groups() -> Vec<u16> {
    let mut groups = [0u16; 128];
    let mut count = groups.len() as u16;
    // SAFETY: as above; `groups` has room for `count` elements, and both live
    // through the call.
    let done =
        unsafe { GetProcessGroupAffinity(GetCurrentProcess(), &mut count, groups.as_mut_ptr()) }
            != 0;
    match groups.get(..usize::from(count)) {
        Some(groups) if done => groups.to_vec(),
        _ => Vec::new(),
    }
}
