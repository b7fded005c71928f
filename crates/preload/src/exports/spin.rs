//! The function `pthread_spin_lock`. The other functions on spin locks stay the C library's.

use crate::spin;
use core::sync::atomic::AtomicU32;
use libc::{c_int, pthread_spinlock_t};

/// Acquires the lock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_lock(object: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: contract of `pthread_spin_lock` (POSIX): a live lock, of four aligned bytes that all access atomically.
    spin::lock(unsafe { AtomicU32::from_ptr(object.cast()) });
    0
}
