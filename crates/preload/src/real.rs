//! The C library's own functions, for objects that pass through. They are looked up by the constructor, or at first use
//! before it: no later call enters the loader, whose lock may be held by a thread that waits for us.

use turnwise_interpose::{c, real};

real! {
    pthread_mutex_trylock,
    pthread_rwlock_trywrlock,
    pthread_create,
    thrd_create,
    pthread_key_create,
    pthread_key_delete,
    pthread_setspecific,
}
