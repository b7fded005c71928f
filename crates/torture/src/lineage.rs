//! The documents' locks; those with readers by their writers.

use crate::lock::{Held, Lock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock, RwsemSpinlock, RwsemXadd};
use turnwise_lineage::{rwsem_spinlock, rwsem_xadd};

/// [`Lock`] by the methods of these names.
macro_rules! lock {
    ([$($generics:tt)*] $lock:ty, $acquire:ident, $try_acquire:ident, $release:ident) => {
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
            fn words(&self) -> String {
                format!("{self:?}")
            }
        }
    };
}

lock!([V: linux_mutex::Policy] LinuxMutex<V>, lock, try_lock, unlock);
lock!([] KernelTicketLock, lock, try_lock, unlock);
lock!([V: rwsem_spinlock::Policy] RwsemSpinlock<V>, write, try_write, unlock_write);
lock!([V: rwsem_xadd::Policy] RwsemXadd<V>, write, try_write, unlock_write);
lock!([] BiasedRwLock, write, try_write, unlock_write);
lock!([] QueuedRwLock, write, try_write, unlock_write);
