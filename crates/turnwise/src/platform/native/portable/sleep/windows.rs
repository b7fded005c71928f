//! Windows 8 and later: `WaitOnAddress`.

use core::ptr;
use core::sync::atomic::AtomicU32;
use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

pub(crate) fn wait(word: &AtomicU32, expected: u32, ns: Option<u64>) {
    let ms = match ns {
        None => INFINITE,
        Some(ns) => u32::try_from(ns.div_ceil(1_000_000)).unwrap_or(INFINITE - 1),
    };
    // SAFETY: the word outlives the call and is as long as the value next to it, with which it is compared.
    unsafe { WaitOnAddress(word.as_ptr().cast(), ptr::from_ref(&expected).cast(), size_of::<u32>(), ms) };
}

pub(crate) fn wake(word: *const AtomicU32) {
    // SAFETY: the system uses the address as a number; it reads no memory there.
    unsafe { WakeByAddressSingle(word.cast()) };
}
