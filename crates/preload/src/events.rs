//! The components of the calling thread's waits, for a recorder in front of this library: `turnwise_thread_events`, and
//! variants of the try functions that report sleepers.
//!
//! | number | what it counts in the calling thread since its start, modulo 2^32 |
//! |---|---|
//! | 0 | sleeps |
//! | 1 | steals: acquisitions past threads that slept |
//! | 2 | hand-offs: acquisitions by a hand-off to this thread |
//! | 3 | spins that ended with the lock |
//! | 4 | spins not begun or abandoned because the owner was off its CPU or a sleeper had priority |
//! | 5 | spins abandoned at the end of their time |
//!
//! `crates/recorder/src/events.rs` relies on the same order. New counters go after the last.

use crate::layout::{Mutex, RwLock};
use crate::rules::Caller;
use crate::{exports, mutex, rwlock};
use core::ffi::c_void;
use libc::c_int;
use turnwise::events::{Event, here};
use turnwise_interpose::{c, exports};

/// The value of `class` for a mutex.
const MUTEX: c_int = 1;
/// The value of `class` for a readers-writer lock.
const RWLOCK: c_int = 2;
/// The value of `class` for a spin lock.
const SPIN: c_int = 3;

/// The result of the try functions below for a lock that was acquired past sleepers.
const PAST_SLEEPERS: c_int = -1;

/// Implements `turnwise_thread_events`: writes the calling thread's counters, at most `room`, and returns how many; 0:
/// `object` belongs to the C library, whose waits are not counted.
///
/// # Safety
/// `object` is the program's lock of this class, `counts` has room for `room` counters.
unsafe fn thread_events(class: c_int, object: *mut c_void, counts: *mut u32, room: usize) -> usize {
    // SAFETY: contract of `thread_events`: the object is a live lock of this class.
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
    // SAFETY: contract of `thread_events`: there is room for `room` counters.
    unsafe { counts.copy_from_nonoverlapping(read.as_ptr(), taken) };
    taken
}

/// Makes a try; if it succeeds past threads that slept for the lock, returns [`PAST_SLEEPERS`].
#[inline(always)]
fn marked(attempt: impl FnOnce() -> c_int) -> c_int {
    let before = here::read_one(Event::Stole);
    let result = attempt();
    if result == 0 && here::read_one(Event::Stole) != before { PAST_SLEEPERS } else { result }
}

/// Implements `turnwise_mutex_trylock`; [`PAST_SLEEPERS`] also means success.
extern "C" fn try_mutex(mutex: &Mutex, caller: Caller) -> c_int {
    marked(|| mutex::try_lock_by(mutex, || mutex::try_lock(mutex, caller)))
}

/// Implements `turnwise_rwlock_trywrlock`; [`PAST_SLEEPERS`] also means success.
extern "C" fn try_write(lock: &RwLock, caller: Caller) -> c_int {
    marked(|| if lock.is_fast() { rwlock::try_write(lock) } else { exports::rwlock::trywrlock(lock, caller) })
}

exports! {
    turnwise_mutex_trylock -> try_mutex;
    turnwise_rwlock_trywrlock -> try_write;
    turnwise_thread_events(class, object, counts, room) => thread_events(class, object, counts, room);
}
