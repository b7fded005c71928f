//! The documents' locks.

use crate::adapt::raw::{RawLock, RawSharedLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

/// Locks with `lock` and `unlock`.
macro_rules! exclusive {
    ($($lock:ty $(where $generic:ident: $bound:path)?;)*) => {$(
        // SAFETY: it is what the lock is for.
        unsafe impl$(<$generic: $bound>)? RawLock for $lock {
            fn new() -> Self {
                <$lock>::new_in()
            }

            #[inline]
            fn lock(&self) {
                <$lock>::lock(self);
            }

            #[inline]
            unsafe fn unlock(&self) {
                // SAFETY: the caller's promise.
                unsafe { <$lock>::unlock(self) };
            }
        }
    )*};
}

/// Locks with `read` and `write`.
macro_rules! shared {
    ($($lock:ty $(where $generic:ident: $bound:path)?;)*) => {$(
        // SAFETY: it is what the lock is for.
        unsafe impl$(<$generic: $bound>)? RawSharedLock for $lock {
            fn new() -> Self {
                <$lock>::new_in()
            }

            #[inline]
            fn read(&self) {
                <$lock>::read(self);
            }

            #[inline]
            unsafe fn unlock_read(&self) {
                // SAFETY: the caller's promise.
                unsafe { <$lock>::unlock_read(self) };
            }

            #[inline]
            fn write(&self) {
                <$lock>::write(self);
            }

            #[inline]
            unsafe fn unlock_write(&self) {
                // SAFETY: the caller's promise.
                unsafe { <$lock>::unlock_write(self) };
            }
        }
    )*};
}

exclusive! {
    KernelTicketLock;
    LinuxMutex<V> where V: linux_mutex::Policy;
}

shared! {
    BiasedRwLock;
    QueuedRwLock;
    RwsemSpinlock<V> where V: rwsem_spinlock::Policy;
    RwsemXadd<V> where V: rwsem_xadd::Policy;
}
