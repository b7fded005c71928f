//! Locks that many threads may read under.

use super::NO_PANIC;
use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};

/// A lock whose `read` and `write` return guards, or what `$guard` makes of them.
macro_rules! guarded {
    ($lock:ty, $new:path $(, $guard:ident)?) => {
        impl SharedLock for $lock {
            fn new(value: Record) -> Self {
                $new(value)
            }

            #[inline]
            fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
                f(&self.read()$(.$guard(NO_PANIC))?)
            }

            #[inline]
            fn write<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
                f(&mut self.write()$(.$guard(NO_PANIC))?)
            }
        }
    };
}

guarded!(std::sync::RwLock<Record>, std::sync::RwLock::new, expect);
guarded!(parking_lot::RwLock<Record>, parking_lot::RwLock::new);
#[cfg(feature = "parking_lot_0_12")]
guarded!(parking_lot_0_12::RwLock<Record>, parking_lot_0_12::RwLock::new);
#[cfg(feature = "usync")]
guarded!(usync::RwLock<Record>, usync::RwLock::new);
guarded!(spin::RwLock<Record>, spin::RwLock::new);

/// A mutex in place of a readers-writer lock: readers exclude one another.
pub struct Alone<L>(L);

impl<L: Lock<Record>> SharedLock for Alone<L> {
    fn new(value: Record) -> Self {
        Alone(L::new(value))
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Record) -> R) -> R {
        self.0.with(|data| f(data))
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
        self.0.with(f)
    }
}
