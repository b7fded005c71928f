//! `pthread_spin_*`.

use crate::real;
use libc::{c_int, pthread_spinlock_t};
use turnwise_interpose::export_with_caller;
use turnwise_recording::{Class, Op};

acquisitions!(pthread_spinlock_t, Class::Spin, Op::Acquire;
    lock = real::spin_lock, real::spin_trylock; trylock = real::spin_trylock);
init!(pthread_spinlock_t, c_int, Class::Spin, real::spin_init);
endings!(pthread_spinlock_t; pthread_spin_unlock = real::spin_unlock; pthread_spin_destroy = real::spin_destroy);

export_with_caller! {
    /// Acquires the lock.
    pthread_spin_lock(*mut pthread_spinlock_t) -> lock, "rsi", "x1";
    /// Acquires the lock if it is available immediately, or returns EBUSY.
    pthread_spin_trylock(*mut pthread_spinlock_t) -> trylock, "rsi", "x1";
    /// Makes a spin lock.
    pthread_spin_init(*mut pthread_spinlock_t, c_int) -> init, "rdx", "x2";
}
