//! macOS 14.4 and later, and Apple's other systems of that year: `os_sync_wait_on_address`. Before that, `anywhere.rs`.

use super::anywhere;
use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicU32;
use std::sync::OnceLock;
extern crate std;

/// `os_sync_wait_on_address_with_timeout(address, value, size, flags, clock, ns)`.
type Wait = unsafe extern "C" fn(*mut c_void, u64, usize, u32, u32, u64) -> c_int;
/// `os_sync_wake_by_address_any(address, size, flags)`.
type Wake = unsafe extern "C" fn(*mut c_void, usize, u32) -> c_int;

/// The flags for a word that no other process uses.
const PRIVATE: u32 = 0;
/// `OS_CLOCK_MACH_ABSOLUTE_TIME`, the only clock.
const CLOCK: u32 = 32;
/// The longest an endless sleep lasts: this saves looking up another function.
const DAY_NS: u64 = 86_400_000_000_000;

/// Returns the system's functions, `None` where it does not have them. The answer is always the same, since a thread
/// that was put to sleep by one means cannot be woken by the other.
fn calls() -> Option<(Wait, Wake)> {
    static CALLS: OnceLock<Option<(Wait, Wake)>> = OnceLock::new();
    *CALLS.get_or_init(|| {
        let (wait, wake) = (find(c"os_sync_wait_on_address_with_timeout"), find(c"os_sync_wake_by_address_any"));
        // SAFETY: the pointers are to functions with these types in the system's headers, or null, which is `None`.
        let calls =
            unsafe { (transmute::<*mut c_void, Option<Wait>>(wait), transmute::<*mut c_void, Option<Wake>>(wake)) };
        calls.0.zip(calls.1)
    })
}

fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero byte.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

pub(crate) fn wait(word: &AtomicU32, expected: u32, ns: Option<u64>) {
    let Some((wait, _)) = calls() else { return anywhere::wait(word, expected, ns) };
    let ns = ns.unwrap_or(DAY_NS).max(1); // 0 is an error
    // SAFETY: the word outlives the call and has the size given.
    unsafe { wait(word.as_ptr().cast(), expected.into(), size_of::<u32>(), PRIVATE, CLOCK, ns) };
}

pub(crate) fn wake(word: *const AtomicU32) {
    let Some((_, wake)) = calls() else { return anywhere::wake(word) };
    // SAFETY: the system uses the address as a number; it reads no memory there.
    unsafe { wake(word.cast_mut().cast(), size_of::<u32>(), PRIVATE) };
}
