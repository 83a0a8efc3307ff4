//! Reads `sysctl` keys by name.

use std::ffi::CString;
use std::ptr;

use super::macos::Value;

/// One key; `None` when it is absent, denied, or of an unknown size.
pub(crate) fn read_key(key: &str) -> Option<Value> {
    let name = CString::new(key).ok()?;
    let mut bytes = [0u8; 128];
    let mut len = bytes.len();
    // SAFETY: `name` ends with a NUL; `bytes` and `len` live through the call
    // and `len` is the size of `bytes`, so no more is written than fits. A
    // null new value of length 0 changes nothing.
    let failed = unsafe {
        libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &mut len, ptr::null_mut(), 0)
    } != 0;
    let value = bytes.get(..len).filter(|_| !failed)?;
    // The type is not told; of the keys read here only the names are texts.
    if key.ends_with(".name") {
        let text = value.split(|&b| b == 0).next()?;
        return Some(Value::Text(String::from_utf8_lossy(text).into_owned()));
    }
    if let Ok(bytes) = value.try_into() {
        return Some(Value::Number(i64::from(i32::from_ne_bytes(bytes))));
    }
    Some(Value::Number(i64::from_ne_bytes(value.try_into().ok()?)))
}
