//! `pthread_spin_*`.

use crate::acquire::{self, Acquisition};
use crate::locks::Kind;
use crate::real;
use libc::{c_int, pthread_spinlock_t};
use turnwise_interpose::export_with_caller;
use turnwise_recording::Op;

#[inline(always)]
fn place(object: *mut pthread_spinlock_t, site: u64) -> Acquisition {
    Acquisition { kind: Kind::Spin, address: object as u64, site: Op::Acquire.at(site) }
}

/// # Safety
/// As POSIX says; so for all functions here.
unsafe extern "C" fn lock(object: *mut pthread_spinlock_t, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    let attempt = move || unsafe { real::spin_trylock(object) };
    // SAFETY: the caller's lock.
    acquire::lock(place(object, site), attempt, move || unsafe { real::spin_lock(object) })
}

/// # Safety
/// As POSIX says.
unsafe extern "C" fn trylock(object: *mut pthread_spinlock_t, site: u64) -> c_int {
    // SAFETY: the caller's lock.
    acquire::try_lock(place(object, site), move || unsafe { real::spin_trylock(object) })
}

/// # Safety
/// As POSIX says.
unsafe extern "C" fn init(object: *mut pthread_spinlock_t, shared: c_int, site: u64) -> c_int {
    // SAFETY: the caller's memory.
    let result = unsafe { real::spin_init(object, shared) };
    if result == 0 {
        acquire::created(Kind::Spin, object as u64, site);
    }
    result
}

export_with_caller! {
    /// Acquires.
    pthread_spin_lock(*mut pthread_spinlock_t) -> lock, "rsi", "x1";
    /// Acquires if that is possible at once, or EBUSY.
    pthread_spin_trylock(*mut pthread_spinlock_t) -> trylock, "rsi", "x1";
    /// Makes a spin lock.
    pthread_spin_init(*mut pthread_spinlock_t, c_int) -> init, "rdx", "x2";
}

/// Releases.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_unlock(object: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: the caller's lock.
    acquire::unlock(object as u64, move || unsafe { real::spin_unlock(object) })
}

/// Ends a spin lock's life.
///
/// # Safety
/// As POSIX says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_destroy(object: *mut pthread_spinlock_t) -> c_int {
    acquire::destroyed(object as u64);
    // SAFETY: the caller's lock.
    unsafe { real::spin_destroy(object) }
}
