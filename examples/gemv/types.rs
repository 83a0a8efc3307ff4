//! The types that tensors of a GGUF file can have: ggml's numbers for them,
//! whether or not they are read here.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    number: u32,
    pub name: &'static str,
    /// Values in a block; rows are whole blocks.
    pub block: u64,
    /// Bytes of a block; 0 where that is not known.
    pub bytes: u64,
}

/// The type of a number; `None` for numbers that ggml has not given away.
pub fn kind(number: u32) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.number == number)
}

const fn of(number: u32, name: &'static str, block: u64, bytes: u64) -> Kind {
    Kind { number, name, block, bytes }
}

/// `enum ggml_type` of ggml.h, and the blocks of ggml-common.h. Files of today
/// hold none of Q4_2, Q4_3 and those that end in `_4_4`, `_4_8` and `_8_8`.
const KINDS: [Kind; 43] = [
    of(0, "F32", 1, 4),
    of(1, "F16", 1, 2),
    of(2, "Q4_0", 32, 18),
    of(3, "Q4_1", 32, 20),
    of(4, "Q4_2", 16, 0),
    of(5, "Q4_3", 16, 0),
    of(6, "Q5_0", 32, 22),
    of(7, "Q5_1", 32, 24),
    of(8, "Q8_0", 32, 34),
    of(9, "Q8_1", 32, 36),
    of(10, "Q2_K", 256, 84),
    of(11, "Q3_K", 256, 110),
    of(12, "Q4_K", 256, 144),
    of(13, "Q5_K", 256, 176),
    of(14, "Q6_K", 256, 210),
    of(15, "Q8_K", 256, 292),
    of(16, "IQ2_XXS", 256, 66),
    of(17, "IQ2_XS", 256, 74),
    of(18, "IQ3_XXS", 256, 98),
    of(19, "IQ1_S", 256, 50),
    of(20, "IQ4_NL", 32, 18),
    of(21, "IQ3_S", 256, 110),
    of(22, "IQ2_S", 256, 82),
    of(23, "IQ4_XS", 256, 136),
    of(24, "I8", 1, 1),
    of(25, "I16", 1, 2),
    of(26, "I32", 1, 4),
    of(27, "I64", 1, 8),
    of(28, "F64", 1, 8),
    of(29, "IQ1_M", 256, 56),
    of(30, "BF16", 1, 2),
    of(31, "Q4_0_4_4", 32, 18),
    of(32, "Q4_0_4_8", 32, 18),
    of(33, "Q4_0_8_8", 32, 18),
    of(34, "TQ1_0", 256, 54),
    of(35, "TQ2_0", 256, 66),
    of(36, "IQ4_NL_4_4", 32, 18),
    of(37, "IQ4_NL_4_8", 32, 18),
    of(38, "IQ4_NL_8_8", 32, 18),
    of(39, "MXFP4", 32, 17),
    of(40, "NVFP4", 64, 36),
    of(41, "Q1_0", 128, 18),
    of(42, "Q2_0", 64, 18),
];
