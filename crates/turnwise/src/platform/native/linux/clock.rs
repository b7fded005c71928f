//! The kernel's clocks, even where another library overrides `clock_gettime` (libfaketime): sleeps in the kernel end by
//! its clocks, and a lock that mixed the two would wait for hours, or not at all. Where `syscall` is not the C
//! library's either, the kernel is replaced as a whole, and that library's clocks hold.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

/// The C library's `clock_gettime` where another library overrides it, else null.
static KERNELS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

type Function = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// Finds out which library provides the function. The constructor calls this once: `dlsym` takes the loader's lock.
pub(super) fn start() {
    #[cfg(not(any(miri, target_env = "musl")))]
    // SAFETY: the names are strings; a library that is not loaded already is not loaded now.
    unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if libc.is_null() {
            return;
        }
        let own = |name: &core::ffi::CStr| libc::dlsym(libc, name.as_ptr());
        let first = |name: &core::ffi::CStr| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        let gettime = own(c"clock_gettime");
        if first(c"clock_gettime") != gettime && first(c"syscall") == own(c"syscall") {
            KERNELS.store(gettime, Relaxed);
        }
    }
}

/// Returns whether another library gives programs a different time from the kernel's.
pub fn is_clock_faked() -> bool {
    !KERNELS.load(Relaxed).is_null()
}

/// Reads a clock of the kernel.
#[inline]
pub(super) fn gettime(clock: libc::clockid_t, time: &mut libc::timespec) {
    let kernels = KERNELS.load(Relaxed);
    if kernels.is_null() {
        // SAFETY: `time` is writable; the clocks that we name exist on every Linux.
        unsafe { libc::clock_gettime(clock, time) };
    } else {
        // SAFETY: `start` stored the C library's function of this type; `time` is writable.
        unsafe { core::mem::transmute::<*mut c_void, Function>(kernels)(clock, time) };
    }
}
