//! Calls in which threads sleep, other than those of pthread's locks. They jump into `c/sleep.c`, which calls back
//! through [`OPS`].

use crate::real;
use crate::sleep::{self, Sleep};
use core::ffi::{c_long, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_interpose::{c, exports};
use turnwise_recording::Entry;

exports! {
    sem_wait -> turnwise_record_sem_wait with OPS;
    sem_timedwait -> turnwise_record_sem_timedwait with OPS;
    sem_clockwait -> turnwise_record_sem_clockwait with OPS;
    sem_post -> turnwise_record_sem_post with OPS;
    pthread_barrier_wait -> turnwise_record_barrier_wait with OPS;
    pthread_join -> turnwise_record_join with OPS;
    pthread_timedjoin_np -> turnwise_record_timedjoin with OPS;
    pthread_clockjoin_np -> turnwise_record_clockjoin with OPS;
    pthread_once -> turnwise_record_once with OPS;
}

/// The function of `c/sleep.c` for futex calls; null: they pass on.
pub(super) static FUTEX: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

// SAFETY: `c/sleep.c` defines it with this signature.
unsafe extern "C" {
    fn turnwise_record_futexes_by(ops: &'static Ops) -> *mut c_void;
}

/// Begins to record futex calls, for the constructor.
pub(crate) fn take_futexes() {
    // SAFETY: the operations are static.
    FUTEX.store(unsafe { turnwise_record_futexes_by(&OPS) }, Relaxed);
}

/// `struct sleep_ops` of `c/sleep.c`.
#[repr(C)]
struct Ops {
    begin: extern "C" fn(&mut Sleep),
    end: extern "C" fn(&Sleep, u32),
    now: extern "C" fn() -> u64,
    end_of_several: extern "C" fn(&mut Sleep, u64, c_long, u32),
    wakes: extern "C" fn(u32, u64, u64) -> Option<&'static Entry>,
    woke: extern "C" fn(Option<&'static Entry>, c_long),
    next: [extern "C" fn() -> *mut c_void; 10],
}

/// The functions that `c/sleep.c` may call.
static OPS: Ops = Ops {
    begin: sleep::begin,
    end: sleep::end,
    now: sleep::now,
    end_of_several: sleep::end_of_several,
    wakes: sleep::wakes,
    woke: sleep::woke,
    next: [
        real::syscall::address,
        real::sem_wait::address,
        real::sem_timedwait::address,
        real::sem_clockwait::address,
        real::sem_post::address,
        real::pthread_barrier_wait::address,
        real::pthread_join::address,
        real::pthread_timedjoin_np::address,
        real::pthread_clockjoin_np::address,
        real::pthread_once::address,
    ],
};
