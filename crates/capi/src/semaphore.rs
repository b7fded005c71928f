//! The counting semaphore of the C API: `tw_semaphore`.

use crate::result::{TW_INVALID, TW_OK, TW_OVERFLOW, timed, tried, tw_result};
use crate::{functions, stands_for, time};
use core::ffi::c_int;
use turnwise::Semaphore;
use turnwise::platform::Deadline;
use turnwise::semaphore::PERMITS_MAX;

/// The maximum number of permits of a semaphore.
pub const TW_PERMITS_MAX: u32 = 0x00ff_ffff;
const _: () = assert!(TW_PERMITS_MAX == PERMITS_MAX);

/// A counting semaphore. A thread takes all the permits that it asks for at once, or waits; newcomers may overtake
/// waiters, within bounds. Initialised by `TW_SEMAPHORE_INIT(permits)`, or by zero bytes: no permits.
#[repr(C)]
pub struct tw_semaphore {
    /// Private: programs do not access it.
    pub opaque: u32,
}
stands_for!(tw_semaphore, Semaphore);

/// Initialises a semaphore with `permits` permits, as TW_SEMAPHORE_INIT does: TW_OK, or TW_INVALID above
/// TW_PERMITS_MAX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_semaphore_init(semaphore: *mut tw_semaphore, permits: u32) -> tw_result {
    if permits > PERMITS_MAX {
        return TW_INVALID;
    }
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { semaphore.cast::<Semaphore>().write(Semaphore::new(permits)) };
    TW_OK
}

/// Waits for `n` permits, and takes them all at once: TW_OK, or TW_INVALID above TW_PERMITS_MAX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_semaphore_acquire(semaphore: *mut tw_semaphore, n: u32) -> tw_result {
    if n > PERMITS_MAX {
        return TW_INVALID;
    }
    // SAFETY: contract of `of`: the header requires a pointer to a live semaphore.
    unsafe { tw_semaphore::of(semaphore) }.acquire_many(n).forget();
    TW_OK
}

/// Takes `n` permits by the deadline, if there is one.
fn take(semaphore: &Semaphore, n: u32, deadline: Option<Deadline>) -> tw_result {
    let Some(deadline) = deadline.filter(|_| n <= PERMITS_MAX) else { return TW_INVALID };
    timed(semaphore.try_acquire_until(n, deadline).map(|permits| permits.forget()).is_some())
}

functions! {
    /// Takes `n` permits if that many are available and no waiter must go first: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_semaphore_tryacquire(semaphore: *mut tw_semaphore, n: u32) -> tw_result =
        tried(semaphore.try_acquire_many(n).map(|permits| permits.forget()).is_some());
    /// Takes `n` permits: TW_OK, TW_TIMEDOUT after `timeout_ns` nanoseconds, or TW_INVALID above TW_PERMITS_MAX.
    #[must_use]
    tw_semaphore_acquire_for(semaphore: *mut tw_semaphore, n: u32, timeout_ns: u64) -> tw_result =
        take(semaphore, n, Some(time::after(timeout_ns)));
    /// Takes `n` permits: TW_OK, TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock or `n`
    /// is above TW_PERMITS_MAX.
    #[must_use]
    tw_semaphore_acquire_until(semaphore: *mut tw_semaphore, n: u32, clock: c_int, at_ns: u64) -> tw_result =
        take(semaphore, n, time::at(clock, at_ns));
}

/// Adds `n` permits, new ones or ones taken before: TW_OK, or TW_OVERFLOW if there would be more than TW_PERMITS_MAX.
/// (If several threads exceed the limit in the same instant, the process is aborted.) Any thread may call this, and so
/// may a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_semaphore_release(semaphore: *mut tw_semaphore, n: u32) -> tw_result {
    // SAFETY: contract of `of`: the header requires a pointer to a live semaphore.
    let semaphore = unsafe { tw_semaphore::of(semaphore) };
    if n > PERMITS_MAX - semaphore.available() {
        return TW_OVERFLOW;
    }
    semaphore.release(n);
    TW_OK
}

functions! {
    /// Returns the number of permits available at this moment.
    tw_semaphore_available(semaphore: *const tw_semaphore) -> u32 = semaphore.available();
}
