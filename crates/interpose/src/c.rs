//! The types of the table's functions (`../functions.rs`).

use core::ffi::{CStr, c_void};

/// A mutex, also C11's.
pub type Mutex = *mut libc::pthread_mutex_t;
/// A readers-writer lock.
pub type RwLock = *mut libc::pthread_rwlock_t;
/// A spin lock.
pub type Spin = *mut libc::pthread_spinlock_t;
/// A condition variable, also C11's.
pub type Cond = *mut libc::pthread_cond_t;
/// A semaphore.
pub type Semaphore = *mut libc::sem_t;
/// A barrier.
pub type Barrier = *mut libc::pthread_barrier_t;
/// The control of `pthread_once`.
pub type Once = *mut libc::pthread_once_t;
/// What `pthread_once` runs.
pub type Initialiser = Option<unsafe extern "C" fn()>;
/// Where the result of a thread goes.
pub type Result = *mut *mut c_void;
/// A point in time.
pub type Time = *const libc::timespec;
/// Where a thread's identity goes.
pub type Thread = *mut libc::pthread_t;
/// A thread's start routine.
pub type Routine = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;
/// The destructor of a key's values.
pub type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

/// Returns the C string of a text that ends with a zero byte.
#[doc(hidden)]
pub const fn string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(string) => string,
        Err(_) => panic!("no zero byte at the end"),
    }
}
