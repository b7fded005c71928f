//! `pthread_spin_lock`. The other functions on spin locks stay the C library's.

use crate::spin;
use core::sync::atomic::AtomicU32;
use libc::{c_int, pthread_spinlock_t};

/// Acquires.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_lock(object: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: the caller's lock: four bytes, aligned, which everybody accesses atomically.
    spin::lock(unsafe { AtomicU32::from_ptr(object.cast()) });
    0
}
