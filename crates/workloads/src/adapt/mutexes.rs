//! Locks for one thread at a time.

use crate::adapt::raw::RawLock;
use crate::load::exclusive::Lock;
use turnwise::backoff::Backoff;
use turnwise::platform::Platform;
use turnwise::reentrant::Threads;
use turnwise::{McsLock, QueuedSpinLock, RawReentrantMutex, Semaphore, SpinLock, TicketLock};

/// A lock whose `lock` returns a guard; `$new` makes one.
macro_rules! guarded {
    ($lock:ty, $new:path $(, $generic:ident: $bound:path)*) => {
        impl<T: Send + 'static $(, $generic: $bound)*> Lock<T> for $lock {
            fn new(value: T) -> Self {
                $new(value)
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
                f(&mut self.lock())
            }
        }
    };
}

guarded!(turnwise::Mutex<T, P>, turnwise::Mutex::new_in, P: Platform);
guarded!(SpinLock<T, B, P>, SpinLock::new_in, B: Backoff, P: Platform);
guarded!(TicketLock<T, B, P>, TicketLock::new_in, B: Backoff, P: Platform);
guarded!(QueuedSpinLock<T, P>, QueuedSpinLock::new_in, P: Platform);
guarded!(parking_lot::Mutex<T>, parking_lot::Mutex::new);
guarded!(spin::mutex::SpinMutex<T>, spin::mutex::SpinMutex::new);
guarded!(spin::mutex::TicketMutex<T>, spin::mutex::TicketMutex::new);

impl<T: Send + 'static, P: Platform> Lock<T> for McsLock<T, P> {
    fn new(value: T) -> Self {
        McsLock::new_in(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        McsLock::with(self, f)
    }
}

impl<T: Send + 'static> Lock<T> for std::sync::Mutex<T> {
    fn new(value: T) -> Self {
        std::sync::Mutex::new(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().expect("no workload panics with the lock held"))
    }
}

// SAFETY: no workload locks what it has, and otherwise the lock has one owner.
unsafe impl<P: Threads> RawLock for RawReentrantMutex<P> {
    fn new() -> Self {
        RawReentrantMutex::new_in()
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
unsafe impl<const FAIR: bool, P: Platform> RawLock for Semaphore<FAIR, P> {
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
