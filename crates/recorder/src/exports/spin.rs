//! `pthread_spin_*`.

use crate::real;
use libc::{c_int, pthread_spinlock_t};
use turnwise_interpose::{c, exports};
use turnwise_recording::{Class, Op};

acquisitions! {
    pthread_spinlock_t, Class::Spin, Op::Acquire; trylock = real::pthread_spin_trylock;
    lock() = real::pthread_spin_lock, real::pthread_spin_trylock;
}
init!(pthread_spinlock_t, c_int, Class::Spin, real::pthread_spin_init);
endings!(pthread_spin_unlock = real::pthread_spin_unlock; pthread_spin_destroy = real::pthread_spin_destroy);

exports! {
    pthread_spin_lock -> lock;
    pthread_spin_trylock -> trylock;
    pthread_spin_init -> init;
}
