//! Single-threaded programs: in them the C library's mutexes use no atomic operations, but its tries do.

use crate::real;
use core::hint::cold_path;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};
use libc::pthread_mutex_t;

static NEVER: AtomicU8 = AtomicU8::new(0);
/// `__libc_single_threaded`, if the C library has it (2.32 and later) and is the next library.
static SINGLE_THREADED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const NEVER).cast_mut());

/// Finds the C library's variable.
pub(crate) fn look_up() {
    // SAFETY: a string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    if !found.is_null() && !real::next_is_preload() {
        SINGLE_THREADED.store(found.cast(), Relaxed);
    }
}

/// Returns whether locking this mutex of the C library cannot wait: there is no other thread, no other process may use
/// it, and it is free. (A signal handler that runs now and locks it also unlocks it.)
#[inline(always)]
pub(crate) fn has_it_at_once(object: *mut pthread_mutex_t) -> bool {
    /// `__lock` and `__kind`, in units of this type.
    const LOCK: usize = 0;
    const KIND: usize = 4;
    // SAFETY: our byte, or the C library's, which only the C library writes.
    let alone = unsafe { (*SINGLE_THREADED.load(Relaxed)).load(Relaxed) } != 0;
    let word = |index: usize| {
        // SAFETY: within the program's mutex, which it is using; the C library reads its words in the same way.
        unsafe { (*object.cast::<AtomicU32>().add(index)).load(Relaxed) }
    };
    if !alone {
        return false;
    }
    cold_path();
    word(LOCK) == 0 && word(KIND) == 0
}
