//! Blocks of all types of ggml: their sizes, random ones, and the values of the
//! types that are read, computed plainly from ggml's description.

#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub number: u32,
    pub block: u64,
    pub bytes: u64,
    /// Whether the example runs it.
    pub read: bool,
}

/// By their numbers. PyPI's `gguf` has the same, but 40 bytes for Q8_1.
pub const KINDS: [(&str, u32, u64, u64, bool); 36] = [
    ("F32", 0, 1, 4, true),
    ("F16", 1, 1, 2, true),
    ("Q4_0", 2, 32, 2 + 16, true),
    ("Q4_1", 3, 32, 4 + 16, false),
    ("Q5_0", 6, 32, 2 + 4 + 16, false),
    ("Q5_1", 7, 32, 4 + 4 + 16, false),
    ("Q8_0", 8, 32, 2 + 32, true),
    ("Q8_1", 9, 32, 4 + 32, false),
    ("Q2_K", 10, 256, 16 + 64 + 4, false),
    ("Q3_K", 11, 256, 32 + 64 + 12 + 2, false),
    ("Q4_K", 12, 256, 4 + 12 + 128, true),
    ("Q5_K", 13, 256, 4 + 12 + 32 + 128, true),
    ("Q6_K", 14, 256, 128 + 64 + 16 + 2, true),
    ("Q8_K", 15, 256, 4 + 256 + 32, false),
    ("IQ2_XXS", 16, 256, 2 + 64, false),
    ("IQ2_XS", 17, 256, 2 + 64 + 8, false),
    ("IQ3_XXS", 18, 256, 2 + 64 + 32, false),
    ("IQ1_S", 19, 256, 2 + 32 + 16, false),
    ("IQ4_NL", 20, 32, 2 + 16, false),
    ("IQ3_S", 21, 256, 2 + 64 + 8 + 32 + 4, false),
    ("IQ2_S", 22, 256, 2 + 64 + 8 + 8, false),
    ("IQ4_XS", 23, 256, 2 + 2 + 4 + 128, false),
    ("I8", 24, 1, 1, false),
    ("I16", 25, 1, 2, false),
    ("I32", 26, 1, 4, false),
    ("I64", 27, 1, 8, false),
    ("F64", 28, 1, 8, false),
    ("IQ1_M", 29, 256, 32 + 16 + 8, false),
    ("BF16", 30, 1, 2, true),
    ("Q4_0_8_8", 33, 32, 2 + 16, false),
    ("TQ1_0", 34, 256, 48 + 4 + 2, false),
    ("TQ2_0", 35, 256, 64 + 2, false),
    ("MXFP4", 39, 32, 1 + 16, false),
    ("NVFP4", 40, 64, 4 + 32, false),
    ("Q1_0", 41, 128, 2 + 16, false),
    ("Q2_0", 42, 64, 2 + 16, false),
];

pub fn kinds() -> impl Iterator<Item = Kind> {
    let kind = |(name, number, block, bytes, read)| Kind { name, number, block, bytes, read };
    KINDS.into_iter().map(kind)
}

pub fn kind(name: &str) -> Kind {
    kinds().find(|kind| kind.name == name).unwrap()
}

/// A sequence of numbers (xorshift); not from 0.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.next() >> 32) as u8).collect()
    }

    /// In -1..1.
    pub fn value(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Random fields; scales of a size that real files have, of either sign.
pub fn random(kind: Kind, blocks: u64, random: &mut Random) -> Vec<u8> {
    let mut bytes = random.bytes((blocks * kind.bytes) as usize);
    for block in bytes.chunks_exact_mut(kind.bytes as usize) {
        let value = random.value().to_le_bytes();
        // Half precision numbers of an exponent from some on.
        let mut scale = |least: usize| {
            let bits = (random.next() >> 40) as u16 & 0x83ff;
            (bits | ((least + random.below(4)) << 10) as u16).to_le_bytes()
        };
        match kind.name {
            "F32" => block.copy_from_slice(&value),
            "BF16" => block.copy_from_slice(&value[2..]),
            "F16" => block.copy_from_slice(&scale(11)),
            "Q6_K" => block[208..].copy_from_slice(&scale(5)),
            "Q4_K" | "Q5_K" => {
                block[..2].copy_from_slice(&scale(5));
                block[2..4].copy_from_slice(&scale(7));
            }
            "Q8_0" | "Q4_0" => block[..2].copy_from_slice(&scale(5)),
            _ => {}
        }
    }
    bytes
}

/// What the bytes stand for.
pub fn values(kind: Kind, bytes: &[u8]) -> Vec<f64> {
    let block =
        |block: &[u8]| (0..kind.block as usize).map(|i| value(kind.name, block, i)).collect();
    bytes.chunks_exact(kind.bytes as usize).flat_map::<Vec<f64>, _>(block).collect()
}

/// Half precision, of numbers only.
fn half(bytes: &[u8]) -> f64 {
    let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff) / 1024.0);
    let size = match exponent {
        0 => fraction * 2f64.powi(-14),
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 {
        -size
    } else {
        size
    }
}

/// The lower or the upper four bits of a byte.
fn nibble(byte: u8, upper: bool) -> u8 {
    if upper {
        byte >> 4
    } else {
        byte & 15
    }
}

/// Value `i` of a block.
fn value(kind: &str, block: &[u8], i: usize) -> f64 {
    match kind {
        "F32" => f32::from_le_bytes(block.try_into().unwrap()).into(),
        "F16" => half(block),
        "BF16" => f32::from_le_bytes([0, 0, block[0], block[1]]).into(),
        "Q8_0" => half(block) * f64::from(block[2 + i] as i8),
        "Q4_0" => half(block) * (f64::from(nibble(block[2 + i % 16], i >= 16)) - 8.0),
        "Q4_K" | "Q5_K" => {
            let (group, scales) = (i / 32, &block[4..16]);
            // 6 bits each: of the last four the upper two lie in the first four.
            let (scale, minimum) = match group {
                0..4 => (scales[group] & 63, scales[group + 4] & 63),
                _ => (
                    nibble(scales[group + 4], false) | scales[group - 4] >> 6 << 4,
                    nibble(scales[group + 4], true) | scales[group] >> 6 << 4,
                ),
            };
            let low = if kind == "Q4_K" { 16 } else { 48 };
            let mut q = nibble(block[low + group / 2 * 32 + i % 32], group % 2 == 1);
            if kind == "Q5_K" {
                q += (block[16 + i % 32] >> group & 1) * 16;
            }
            half(block) * f64::from(scale) * f64::from(q) - half(&block[2..]) * f64::from(minimum)
        }
        "Q6_K" => {
            let (part, quarter, l) = (i / 128, i % 128 / 32, i % 32);
            let low = nibble(block[part * 64 + quarter % 2 * 32 + l], quarter >= 2);
            let high = block[128 + part * 32 + l] >> (2 * quarter) & 3;
            let scale = block[192 + i / 16] as i8;
            half(&block[208..]) * f64::from(scale) * (f64::from(high * 16 + low) - 32.0)
        }
        _ => panic!("{kind} is not read"),
    }
}

/// CRC-32 bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
