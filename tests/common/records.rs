//! What `GetLogicalProcessorInformationEx` fills in, for the `topology_*` tests,
//! through `#[path]`.

/// A record: relation and size, a body up to the number of its group masks at
/// `count_at`, then the masks as (mask, group), for pointers of 8 bytes.
pub fn record(relation: u32, body: &[u8], count_at: usize, masks: &[(u64, u16)]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend(body);
    bytes.resize(count_at, 0);
    bytes.extend((masks.len() as u16).to_le_bytes());
    for (mask, group) in masks {
        bytes.extend(mask.to_le_bytes());
        bytes.extend(group.to_le_bytes());
        bytes.extend([0; 6]);
    }
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&relation.to_le_bytes());
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// A physical core.
pub fn core(efficiency: u8, group: u16, mask: u64) -> Vec<u8> {
    record(0, &[0, efficiency], 30, &[(mask, group)])
}
