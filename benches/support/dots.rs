//! Row dots of other engines on the bytes of a matrix: ferrox-quant's, candle's,
//! and ggml's where `GGML_CPU_LIB` names a `libggml-cpu.so` (one that was built
//! of the sources in PyPI's `llama-cpp-python`).

use candle_core::quantized::k_quants::*;
use half::{bf16, f16};
use rowpool_gemv::Format;
use std::ffi::{c_int, c_void, CString};

/// The dot of a row's bytes with an input that is rounded already.
pub type Dot = Box<dyn Fn(&[u8]) -> f32 + Sync>;

/// For a format and an input, if the engine has it.
pub type Engine = (&'static str, fn(Format, &[f32]) -> Option<Dot>);

pub const ENGINES: [Engine; 3] = [("ferrox-quant", ferrox), ("candle", candle), ("ggml", ggml)];

fn ferrox(format: Format, x: &[f32]) -> Option<Dot> {
    use ferrox_quant::*;
    let by_32 = (format.block() == 32).then(|| quantize_activations_q8(x));
    let by_256 = (format.block() == 256).then(|| quantize_activations_q8_k(x));
    Some(match format {
        Format::Q8_0 => Box::new(move |row| dot_q8_0_q8(row, by_32.as_ref().unwrap())),
        Format::Q4_0 => Box::new(move |row| dot_q4_0_q8(row, by_32.as_ref().unwrap())),
        Format::Q4K => Box::new(move |row| dot_q4_k_q8(row, by_256.as_ref().unwrap())),
        Format::Q5K => Box::new(move |row| dot_q5_k_q8(row, by_256.as_ref().unwrap())),
        Format::Q6K => Box::new(move |row| dot_q6_k_q8(row, by_256.as_ref().unwrap())),
        _ => return None,
    })
}

fn candle(format: Format, x: &[f32]) -> Option<Dot> {
    fn of<T: GgmlType + 'static>(x: &[f32]) -> Dot
    where
        T::VecDotType: 'static,
    {
        let cols = x.len();
        let mut input = vec![T::VecDotType::zeros(); cols / T::VecDotType::BLCK_SIZE];
        T::VecDotType::from_float(x, &mut input);
        Box::new(move |row| {
            // SAFETY: blocks of numbers, which any bytes are; the alignment is checked.
            let (before, blocks, after) = unsafe { row.align_to::<T>() };
            assert!(before.is_empty() && after.is_empty(), "rows at even addresses");
            T::vec_dot(cols, blocks, &input)
        })
    }
    Some(match format {
        Format::F32 => of::<f32>(x),
        Format::F16 => of::<f16>(x),
        Format::BF16 => of::<bf16>(x),
        Format::Q8_0 => of::<BlockQ8_0>(x),
        Format::Q4_0 => of::<BlockQ4_0>(x),
        Format::Q4K => of::<BlockQ4K>(x),
        Format::Q5K => of::<BlockQ5K>(x),
        Format::Q6K => of::<BlockQ6K>(x),
    })
}

type VecDot =
    unsafe extern "C" fn(c_int, *mut f32, usize, *const c_void, usize, *const c_void, usize, c_int);
type Quantize = unsafe extern "C" fn(*const f32, *mut c_void, i64);

fn ggml(format: Format, x: &[f32]) -> Option<Dot> {
    let path = CString::new(std::env::var("GGML_CPU_LIB").ok()?).ok()?;
    // SAFETY: the user names ggml's library, which has no other initialisers.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    let symbol = |name: &str| {
        let name = CString::new(name).unwrap();
        // SAFETY: a handle, or null, which finds nothing.
        let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!library.is_null() && !symbol.is_null()).then_some(symbol)
    };
    // SAFETY: the signature in ggml-cpu.h.
    unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(symbol("ggml_cpu_init")?)() };
    let (name, rounds) = match format {
        Format::F32 => ("f32", ""),
        Format::F16 => ("f16", ""),
        Format::BF16 => ("bf16", ""),
        Format::Q8_0 => ("q8_0_q8_0", "quantize_row_q8_0"),
        Format::Q4_0 => ("q4_0_q8_0", "quantize_row_q8_0"),
        Format::Q4K => ("q4_K_q8_K", "quantize_row_q8_K"),
        Format::Q5K => ("q5_K_q8_K", "quantize_row_q8_K"),
        Format::Q6K => ("q6_K_q8_K", "quantize_row_q8_K"),
    };
    // A value takes four bytes at most.
    let mut input = vec![0u32; x.len() + 64];
    let mut halves = |half: fn(f32) -> u16| {
        for (to, x) in input.iter_mut().zip(x.chunks(2)) {
            *to = u32::from(half(x[0])) | u32::from(x.get(1).map_or(0, |&x| half(x))) << 16;
        }
    };
    match format {
        Format::F32 => input.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_bits()),
        Format::F16 => halves(|x| f16::from_f32(x).to_bits()),
        Format::BF16 => halves(|x| bf16::from_f32(x).to_bits()),
        // SAFETY: the signature in quants.h; the output is long enough.
        _ => unsafe {
            let rounds = std::mem::transmute::<*mut c_void, Quantize>(symbol(rounds)?);
            rounds(x.as_ptr(), input.as_mut_ptr().cast(), x.len() as i64);
        },
    }
    // SAFETY: the signature in vec.h and quants.h.
    let dot: VecDot = unsafe { std::mem::transmute(symbol(&format!("ggml_vec_dot_{name}"))?) };
    let cols = x.len();
    Some(Box::new(move |row| {
        assert_eq!(row.len(), format.row_bytes(cols).unwrap());
        let mut y = 0.0;
        // SAFETY: a row and an input of `cols` values.
        unsafe {
            dot(cols as c_int, &mut y, 0, row.as_ptr().cast(), 0, input.as_ptr().cast(), 0, 1);
        }
        y
    }))
}
