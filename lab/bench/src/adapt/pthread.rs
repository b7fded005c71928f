//! The C library's locks, with data inside.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use libc::{pthread_mutex_t, pthread_rwlock_t};
use std::cell::UnsafeCell;

/// A `pthread_mutex_t` and the data that it protects: of the default kind, or `PTHREAD_MUTEX_ADAPTIVE_NP`, which spins
/// a little before it sleeps.
#[repr(C)]
pub struct PthreadMutex<T, const ADAPTIVE: bool> {
    mutex: UnsafeCell<pthread_mutex_t>,
    data: UnsafeCell<T>,
}

impl<T, const A: bool> Drop for PthreadMutex<T, A> {
    fn drop(&mut self) {
        // SAFETY: no thread has it: we own it. (glibc's destroy does nothing but mark it.)
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}

// SAFETY: the mutex gives `&mut T` to one thread at a time.
unsafe impl<T: Send, const A: bool> Sync for PthreadMutex<T, A> {}

impl<T: Send + 'static, const A: bool> Lock<T> for PthreadMutex<T, A> {
    fn new(value: T) -> Self {
        let init = if A { libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP } else { libc::PTHREAD_MUTEX_INITIALIZER };
        PthreadMutex { mutex: UnsafeCell::new(init), data: UnsafeCell::new(value) }
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
}

/// A `pthread_rwlock_t` and the data that it protects; of kind `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`, or the
/// default: `PTHREAD_RWLOCK_PREFER_READER_NP`.
#[repr(C)]
pub struct PthreadRwLock<const PREFER_WRITERS: bool> {
    lock: UnsafeCell<pthread_rwlock_t>,
    data: UnsafeCell<Record>,
}

/// Returns what a `pthread_rwlock_t` of kind `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` starts as.
fn preferring_writers() -> pthread_rwlock_t {
    const KIND: libc::c_int = 2;
    let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
    // SAFETY: all bytes zero is room for the attributes, which are initialised before they are used; `lock` is ours.
    unsafe {
        let mut attributes: libc::pthread_rwlockattr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_rwlockattr_init(&mut attributes), 0);
        assert_eq!(libc::pthread_rwlockattr_setkind_np(&mut attributes, KIND), 0);
        assert_eq!(libc::pthread_rwlock_init(&mut lock, &attributes), 0);
        libc::pthread_rwlockattr_destroy(&mut attributes);
    }
    lock
}

impl<const W: bool> Drop for PthreadRwLock<W> {
    fn drop(&mut self) {
        // SAFETY: no thread has it: we own it.
        unsafe { libc::pthread_rwlock_destroy(self.lock.get()) };
    }
}

// SAFETY: the lock gives `&mut` to one thread at a time, and `&` to others only when none has that.
unsafe impl<const W: bool> Sync for PthreadRwLock<W> {}

impl<const W: bool> Lock<Record> for PthreadRwLock<W> {
    /// glibc's lock holds no address of its own, so it may move until it is used.
    fn new(value: Record) -> Self {
        let lock = if W { preferring_writers() } else { libc::PTHREAD_RWLOCK_INITIALIZER };
        PthreadRwLock { lock: UnsafeCell::new(lock), data: UnsafeCell::new(value) }
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        // SAFETY: initialised, and it does not move while it is borrowed.
        let locked = unsafe { libc::pthread_rwlock_wrlock(self.lock.get()) };
        debug_assert_eq!(locked, 0);
        // SAFETY: we have the lock for writing.
        let result = f(unsafe { &mut *self.data.get() });
        // SAFETY: this thread acquired it above.
        unsafe { libc::pthread_rwlock_unlock(self.lock.get()) };
        result
    }
}

impl<const W: bool> SharedLock for PthreadRwLock<W> {
    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        // SAFETY: as in `with`.
        let locked = unsafe { libc::pthread_rwlock_rdlock(self.lock.get()) };
        debug_assert_eq!(locked, 0);
        // SAFETY: we have the lock for reading.
        let result = f(unsafe { &*self.data.get() });
        // SAFETY: this thread acquired it above.
        unsafe { libc::pthread_rwlock_unlock(self.lock.get()) };
        result
    }
}
