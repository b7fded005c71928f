//! What the calling thread's waits were made of, for a recorder in front of this library: `turnwise_thread_events`, and
//! tries that tell of sleepers.
//!
//! | number | counts in the calling thread, since it began, modulo 2^32 |
//! |---|---|
//! | 0 | sleeps |
//! | 1 | steals: acquisitions past threads that slept |
//! | 2 | hand-offs: acquisitions by a promised turn |
//! | 3 | spins that ended with the lock |
//! | 4 | spins not begun or given up, since the owner was off its CPU or a sleeper went first |
//! | 5 | spins given up, since their time was spent |
//!
//! `crates/recorder/src/events.rs` knows the same order. New counters go behind the last.

use crate::layout::{Mutex, RwLock};
use crate::mutex::Path;
use crate::rules::Caller;
use crate::{exports, mutex, rwlock};
use core::ffi::c_void;
use libc::{EBUSY, c_int, pthread_mutex_t, pthread_rwlock_t};
use turnwise::events::here;
use turnwise::raw::RawLock;
use turnwise_interpose::export_with_caller;

/// What `class` says an object is: a mutex.
const MUTEX: c_int = 1;
/// A readers-writer lock.
const RWLOCK: c_int = 2;
/// A spin lock.
const SPIN: c_int = 3;

/// What the tries below answer of a lock that was acquired past sleepers.
const PAST_SLEEPERS: c_int = -1;
/// The counter of steals.
const STEALS: usize = 1;

/// Writes the calling thread's counters, at most `room`, and says how many; 0: `object` is the C library's, whose waits
/// count nowhere.
///
/// # Safety
/// `object` is the program's lock of this class, `counts` has room for so many.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn turnwise_thread_events(
    class: c_int,
    object: *mut c_void,
    counts: *mut u32,
    room: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let elsewhere = unsafe {
        match class {
            MUTEX => mutex::is_foreign(Mutex::of(object.cast())),
            RWLOCK => RwLock::of(object.cast()).is_foreign(Caller::UNKNOWN),
            class => class != SPIN,
        }
    };
    if elsewhere {
        return 0;
    }
    let read = here::read();
    let taken = read.len().min(room);
    // SAFETY: there is room for `room`.
    unsafe { counts.copy_from_nonoverlapping(read.as_ptr(), taken) };
    taken
}

/// Says of a successful try whether threads slept for the lock.
#[inline(always)]
fn told(attempt: impl FnOnce() -> c_int) -> c_int {
    let before = here::read()[STEALS];
    let result = attempt();
    if result == 0 && here::read()[STEALS] != before { PAST_SLEEPERS } else { result }
}

/// # Safety
/// As POSIX says of `pthread_mutex_trylock`.
unsafe extern "C" fn try_mutex(object: *mut pthread_mutex_t, caller: Caller) -> c_int {
    // SAFETY: the caller's mutex.
    told(|| unsafe {
        let mutex = Mutex::of(object);
        match mutex.path() {
            Path::Plain if mutex.lock.adaptive().try_lock() => 0,
            Path::Plain => EBUSY,
            Path::Owned => mutex::try_lock_owned(object),
            Path::Slow => mutex::try_lock(object, caller),
        }
    })
}

/// # Safety
/// As POSIX says of `pthread_rwlock_trywrlock`.
unsafe extern "C" fn try_write(object: *mut pthread_rwlock_t, caller: Caller) -> c_int {
    // SAFETY: the caller's lock.
    told(|| unsafe {
        let lock = RwLock::of(object);
        if lock.is_fast() { rwlock::try_write(lock) } else { exports::rwlock::trywrlock(object, caller) }
    })
}

export_with_caller! {
    /// `pthread_mutex_trylock`; [`PAST_SLEEPERS`] is an acquisition, too.
    turnwise_mutex_trylock(*mut pthread_mutex_t) -> try_mutex, "rsi", "x1";
    /// `pthread_rwlock_trywrlock`; [`PAST_SLEEPERS`] is an acquisition, too.
    turnwise_rwlock_trywrlock(*mut pthread_rwlock_t) -> try_write, "rsi", "x1";
}
