//! Locks for one thread at a time.

use super::NO_PANIC;
use crate::load::exclusive::Lock;
use turnwise::platform::Platform;
use turnwise::{McsLock, RawLock};

/// A lock whose `lock` returns a guard, or what `$guard` makes one of; `$new` makes the lock.
macro_rules! guarded {
    ($lock:ty, $new:path $(, $generic:ident: $bound:path)* $(; $guard:ident)?) => {
        impl<T: Send + 'static $(, $generic: $bound)*> Lock<T> for $lock {
            fn new(value: T) -> Self {
                $new(value)
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
                f(&mut self.lock()$(.$guard(NO_PANIC))?)
            }
        }
    };
}

guarded!(turnwise::Lock<L, T>, turnwise::Lock::new_in, L: RawLock);
guarded!(std::sync::Mutex<T>, std::sync::Mutex::new; expect);
guarded!(parking_lot::Mutex<T>, parking_lot::Mutex::new);
#[cfg(feature = "parking_lot_0_12")]
guarded!(parking_lot_0_12::Mutex<T>, parking_lot_0_12::Mutex::new);
#[cfg(feature = "usync")]
guarded!(usync::Mutex<T>, usync::Mutex::new);
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
