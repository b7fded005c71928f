//! `pthread_cond_*@GLIBC_2.2.5`: condition variables of binaries that were linked on x86-64 before 2003. They have 24
//! bytes, of which ours uses 16, and are never process-shared. No other bytes may be written or read.

use crate::layout::Cond;
use libc::{EINVAL, c_int};
use turnwise_interpose::{c, exports};

exports! {
    pthread_cond_init_2_2_5(object, attributes) => init(object, attributes.cast());
    pthread_cond_destroy_2_2_5(object) => {
        Cond::of(object).words().destroy();
        0
    };
    pthread_cond_signal_2_2_5(object) => {
        Cond::of(object).words().signal();
        0
    };
    pthread_cond_broadcast_2_2_5(object) => {
        Cond::of(object).words().broadcast();
        0
    };
    pthread_cond_wait_2_2_5 -> turnwise_cond_wait with super::cond::OLD_OPS;
    pthread_cond_timedwait_2_2_5 -> turnwise_cond_timedwait with super::cond::OLD_OPS;
}

/// Initialises a condition variable. As in the C library, attributes other than the default ones are refused.
///
/// # Safety
/// As POSIX says of `pthread_cond_init`; in this ABI attributes are an `int`.
unsafe fn init(object: c::Cond, attributes: *const c_int) -> c_int {
    // SAFETY: contract of `init` (POSIX): the attributes are initialised.
    if !attributes.is_null() && unsafe { attributes.read() } != 0 {
        return EINVAL;
    }
    // SAFETY: contract of `init` (POSIX): the memory is writable; zero bytes are a condition variable.
    unsafe { object.cast::<Cond>().write_bytes(0, 1) };
    0
}
