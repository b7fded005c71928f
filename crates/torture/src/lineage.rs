//! The documents' locks.

use crate::lock::{Held, Lock, Shared};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock, RwsemSpinlock, RwsemXadd};
use turnwise_lineage::{rwsem_spinlock, rwsem_xadd};

/// [`Lock`] by the methods of these names.
macro_rules! lock {
    ([$($generics:tt)*] $lock:ty, $acquire:ident, $try_acquire:ident, $release:ident $(, $shared:ident)?) => {
        impl<$($generics)*> Lock for $lock {
            fn acquire(&self) -> Held {
                self.$acquire();
                None
            }
            fn try_acquire(&self) -> Option<Held> {
                self.$try_acquire().then_some(None)
            }
            unsafe fn release(&self, _held: Held) {
                // SAFETY: the caller has the lock.
                unsafe { self.$release() }
            }
            $(fn $shared(&self) -> &dyn Shared {
                self
            })?
            fn words(&self) -> String {
                format!("{self:?}")
            }
        }
    };
}

/// [`Shared`] by the methods of the same names.
macro_rules! shared {
    ([$($generics:tt)*] $lock:ty $(, $downgrade:ident)?) => {
        lock!([$($generics)*] $lock, write, try_write, unlock_write, shared);

        impl<$($generics)*> Shared for $lock {
            fn read(&self) {
                self.read();
            }
            fn try_read(&self) -> bool {
                self.try_read()
            }
            unsafe fn unlock_read(&self) {
                // SAFETY: the caller has a read lock.
                unsafe { self.unlock_read() }
            }
            $(unsafe fn $downgrade(&self) {
                // SAFETY: the caller has the write lock.
                unsafe { self.$downgrade() }
            })?
        }
    };
}

lock!([V: linux_mutex::Policy] LinuxMutex<V>, lock, try_lock, unlock);
lock!([] KernelTicketLock, lock, try_lock, unlock);
shared!([V: rwsem_spinlock::Policy] RwsemSpinlock<V>, downgrade);
shared!([V: rwsem_xadd::Policy] RwsemXadd<V>, downgrade);
shared!([] BiasedRwLock);
shared!([] QueuedRwLock);
