//! The results of the C functions, and the library's version.

use core::ffi::{CStr, c_char};

/// The result of a function that may fail.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum tw_result {
    /// The function did what it was asked to do.
    TW_OK = 0,
    /// A try found the lock taken.
    TW_BUSY = 1,
    /// The time was up before the lock was acquired, or before a signal came.
    TW_TIMEDOUT = 2,
    /// An argument is out of its range; nothing was done.
    TW_INVALID = 3,
    /// A count would exceed its limit; nothing was done.
    TW_OVERFLOW = 4,
}
pub(crate) use tw_result::{TW_BUSY, TW_INVALID, TW_OK, TW_OVERFLOW, TW_TIMEDOUT};

/// Returns the result of a try.
#[inline]
pub(crate) fn tried(got: bool) -> tw_result {
    if got { TW_OK } else { TW_BUSY }
}

/// Returns the result of a timed wait.
#[inline]
pub(crate) fn timed(got: bool) -> tw_result {
    if got { TW_OK } else { TW_TIMEDOUT }
}

/// Major version of this header: programs built for a different one must be rebuilt.
pub const TW_VERSION_MAJOR: u32 = 0;
/// Minor version of this header.
pub const TW_VERSION_MINOR: u32 = 1;
/// Patch version of this header.
pub const TW_VERSION_PATCH: u32 = 0;

const _: () = {
    const fn number(text: &str) -> u32 {
        match u32::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => panic!("a version is made of numbers"),
        }
    }
    assert!(TW_VERSION_MAJOR == number(env!("CARGO_PKG_VERSION_MAJOR")));
    assert!(TW_VERSION_MINOR == number(env!("CARGO_PKG_VERSION_MINOR")));
    assert!(TW_VERSION_PATCH == number(env!("CARGO_PKG_VERSION_PATCH")));
};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero byte"),
};

/// Returns the version of the library that the program runs with, such as "0.1.0". The text lives as long as the
/// process.
#[unsafe(no_mangle)]
pub extern "C" fn tw_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Describes a result in a few words of English, for messages. The text lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn tw_result_text(result: core::ffi::c_int) -> *const c_char {
    const TEXTS: [(tw_result, &CStr); 5] = [
        (TW_OK, c"done"),
        (TW_BUSY, c"the lock is taken"),
        (TW_TIMEDOUT, c"the time is up"),
        (TW_INVALID, c"an argument is out of its range"),
        (TW_OVERFLOW, c"a count would exceed its limit"),
    ];
    let found = TEXTS.iter().find(|(known, _)| *known as core::ffi::c_int == result);
    found.map_or(c"not a result of Turnwise", |(_, text)| text).as_ptr()
}
