//! Locks whose methods return guards.

use super::NO_PANIC;
use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use turnwise::platform::Platform;
use turnwise::{McsLock, RawLock};

/// A lock that one thread has at a time: `$new` makes it, `$lock` returns a guard, or what `$guard` makes one of.
macro_rules! exclusive {
    ([$($generics:tt)*] $type:ty, $data:ty, $new:path, $lock:ident $(, $guard:ident)?) => {
        impl<$($generics)*> Lock<$data> for $type {
            fn new(value: $data) -> Self {
                $new(value)
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut $data) -> R) -> R {
                f(&mut self.$lock()$(.$guard(NO_PANIC))?)
            }
        }
    };
}

/// A mutex, of any data.
macro_rules! mutex {
    ($($mutex:ident)::+ $(, $guard:ident)?) => {
        exclusive!([T: Send + 'static] $($mutex)::+<T>, T, $($mutex)::+::new, lock $(, $guard)?);
    };
}

/// A lock that `$read` takes for a reader, as `exclusive` has it. Readers of a mutex exclude one another.
macro_rules! shared {
    ($type:ty, $read:ident $(, $guard:ident)?) => {
        impl SharedLock for $type {
            #[inline]
            fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
                f(&self.$read()$(.$guard(NO_PANIC))?)
            }
        }
    };
}

/// A readers-writer lock.
macro_rules! rwlock {
    ($($rwlock:ident)::+ $(, $guard:ident)?) => {
        exclusive!([] $($rwlock)::+<Record>, Record, $($rwlock)::+::new, write $(, $guard)?);
        shared!($($rwlock)::+<Record>, read $(, $guard)?);
    };
}

exclusive!([T: Send + 'static, L: RawLock] turnwise::Lock<L, T>, T, turnwise::Lock::new_in, lock);
mutex!(std::sync::Mutex, expect);
mutex!(parking_lot::Mutex);
#[cfg(feature = "parking_lot_0_12")]
mutex!(parking_lot_0_12::Mutex);
#[cfg(feature = "usync")]
mutex!(usync::Mutex);
mutex!(spin::mutex::SpinMutex);
mutex!(spin::mutex::TicketMutex);

rwlock!(std::sync::RwLock, expect);
rwlock!(parking_lot::RwLock);
#[cfg(feature = "parking_lot_0_12")]
rwlock!(parking_lot_0_12::RwLock);
#[cfg(feature = "usync")]
rwlock!(usync::RwLock);
rwlock!(spin::RwLock);
shared!(std::sync::Mutex<Record>, lock, expect);
shared!(turnwise::Mutex<Record>, lock);

exclusive!([] seqlock::SeqLock<Record>, Record, seqlock::SeqLock::new, lock_write);
shared!(seqlock::SeqLock<Record>, read);

impl<T: Send + 'static, P: Platform> Lock<T> for McsLock<T, P> {
    fn new(value: T) -> Self {
        McsLock::new_in(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        McsLock::with(self, f)
    }
}
