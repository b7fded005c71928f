//! The C library's mutexes, with data inside.

use crate::locks::Lock;
use libc::pthread_mutex_t;
use std::cell::UnsafeCell;

/// A kind of C library mutex: its static initialiser.
pub trait Kind: Send + Sync + 'static {
    /// An unlocked mutex of this kind.
    const INIT: pthread_mutex_t;
}

/// What `pthread_mutex_init` makes when not asked for anything.
pub enum Normal {}
impl Kind for Normal {
    const INIT: pthread_mutex_t = libc::PTHREAD_MUTEX_INITIALIZER;
}

/// `PTHREAD_MUTEX_ADAPTIVE_NP`: spins a little before it sleeps.
pub enum Adaptive {}
impl Kind for Adaptive {
    const INIT: pthread_mutex_t = libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
}

/// A `pthread_mutex_t` and the data that it protects.
#[repr(C)]
pub struct PthreadMutex<T, K> {
    mutex: UnsafeCell<pthread_mutex_t>,
    data: UnsafeCell<T>,
    kind: std::marker::PhantomData<K>,
}

// SAFETY: the mutex gives `&mut T` to one thread at a time.
unsafe impl<T: Send, K: Kind> Sync for PthreadMutex<T, K> {}

impl<T: Send + 'static, K: Kind> Lock<T> for PthreadMutex<T, K> {
    fn new(value: T) -> Self {
        let mutex = UnsafeCell::new(K::INIT);
        PthreadMutex { mutex, data: UnsafeCell::new(value), kind: std::marker::PhantomData }
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: statically initialised, and it does not move while it is borrowed.
        let locked = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        debug_assert_eq!(locked, 0);
        // SAFETY: we have the lock.
        let result = f(unsafe { &mut *self.data.get() });
        // SAFETY: this thread acquired it above.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        result
    }

    fn into_inner(self) -> T {
        // SAFETY: nobody has it: we own it. (glibc's destroy does nothing but mark it.)
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
        self.data.into_inner()
    }
}
