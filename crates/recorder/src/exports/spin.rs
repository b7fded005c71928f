//! `pthread_spin_*`.

use crate::real;
use libc::{c_int, pthread_spinlock_t};
use turnwise_interpose::c;
use turnwise_recording::{Class, Op};

acquisitions! {
    pthread_spinlock_t, Class::Spin, Op::Acquire;
    trylock(pthread_spin_trylock) = real::pthread_spin_trylock;
    lock(pthread_spin_lock)() = real::pthread_spin_lock, real::pthread_spin_trylock;
}

life! {
    pthread_spinlock_t, Class::Spin;
    init pthread_spin_init(c_int) = real::pthread_spin_init;
    unlock pthread_spin_unlock = real::pthread_spin_unlock;
    destroy pthread_spin_destroy = real::pthread_spin_destroy
}
