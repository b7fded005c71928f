//! The function `pthread_spin_lock`. The other spin-lock functions remain the C library's.

use crate::spin;
use core::sync::atomic::AtomicU32;
use turnwise_interpose::{c, exports, with_caller};

with_caller! {
    /// Jumps to [`spin::lock`] from the fast path.
    lock_slowly(c::Spin) -> spin::lock;
}

exports! {
    // A live lock, of four aligned bytes that all access atomically.
    pthread_spin_lock(object) => {
        if spin::lock_at_once(AtomicU32::from_ptr(object.cast())) { 0 } else { lock_slowly(object) }
    };
}
