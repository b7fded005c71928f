//! The function `pthread_spin_lock`. The other spin-lock functions remain the C library's.

use crate::spin;
use core::sync::atomic::AtomicU32;
use libc::{c_int, pthread_spinlock_t};
use turnwise_interpose::with_caller;

with_caller! {
    /// Jumps to [`spin::lock`] from the fast path.
    lock_slowly(*mut pthread_spinlock_t) -> spin::lock, "rsi", "x1";
}

/// Acquires the lock.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_lock(object: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: contract of `pthread_spin_lock` (POSIX): a live lock, of four aligned bytes that all access atomically.
    let word = unsafe { AtomicU32::from_ptr(object.cast()) };
    // SAFETY: contract of `pthread_spin_lock` (POSIX), which is that of `spin::lock`.
    if spin::lock_at_once(word) { 0 } else { unsafe { lock_slowly(object) } }
}
