//! Locks for one thread at a time.

use crate::adapt::raw::RawLock;
use crate::load::exclusive::Lock;
use turnwise::backoff::Backoff;
use turnwise::{McsLock, QueuedSpinLock, RawReentrantMutex, Semaphore, SpinLock, TicketLock};

/// A lock whose `lock` returns a guard; `$new` makes one.
macro_rules! guarded {
    ($lock:ty, $new:path $(, $generic:ident: $bound:path)*) => {
        impl<T: Send $(, $generic: $bound)*> Lock<T> for $lock {
            fn new(value: T) -> Self {
                $new(value)
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
                f(&mut self.lock())
            }

            fn into_inner(self) -> T {
                <$lock>::into_inner(self)
            }
        }
    };
}

guarded!(turnwise::Mutex<T, P>, turnwise::Mutex::new_in, P: turnwise::platform::Platform);
guarded!(SpinLock<T, B>, SpinLock::new_in, B: Backoff);
guarded!(TicketLock<T, B>, TicketLock::new_in, B: Backoff);
guarded!(QueuedSpinLock<T>, QueuedSpinLock::new_in);
guarded!(parking_lot::Mutex<T>, parking_lot::Mutex::new);
guarded!(spin::mutex::SpinMutex<T>, spin::mutex::SpinMutex::new);
guarded!(spin::mutex::TicketMutex<T>, spin::mutex::TicketMutex::new);

impl<T: Send> Lock<T> for McsLock<T> {
    fn new(value: T) -> Self {
        McsLock::new(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        McsLock::with(self, f)
    }

    fn into_inner(self) -> T {
        McsLock::into_inner(self)
    }
}

impl<T: Send> Lock<T> for std::sync::Mutex<T> {
    fn new(value: T) -> Self {
        std::sync::Mutex::new(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().expect("no workload panics with the lock held"))
    }

    fn into_inner(self) -> T {
        std::sync::Mutex::into_inner(self).expect("no workload panics with the lock held")
    }
}

// SAFETY: no workload locks what it has, and otherwise the lock has one owner.
unsafe impl RawLock for RawReentrantMutex {
    fn new() -> Self {
        RawReentrantMutex::new()
    }

    #[inline]
    fn lock(&self) {
        RawReentrantMutex::lock(self);
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { RawReentrantMutex::unlock(self) };
    }
}

// SAFETY: there is one permit.
unsafe impl<const FAIR: bool> RawLock for Semaphore<FAIR> {
    fn new() -> Self {
        Semaphore::new_in(1)
    }

    #[inline]
    fn lock(&self) {
        self.acquire().forget();
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.release(1);
    }
}
