//! The documents' locks.

use crate::adapt::raw::{RawLock, RawSharedLock};
use crate::load::counted::Counter;
use turnwise::platform::Platform;
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

/// Locks with `lock` and `unlock`.
macro_rules! exclusive {
    ($($lock:ty $(where $generic:ident: $bound:path)?;)*) => {$(
        // SAFETY: it is what the lock is for.
        unsafe impl<P: Platform $(, $generic: $bound)?> RawLock for $lock {
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
        unsafe impl<P: Platform $(, $generic: $bound)?> RawSharedLock for $lock {
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
    KernelTicketLock<P>;
    LinuxMutex<V, P> where V: linux_mutex::Policy;
    Ia64SpinLock<V, P> where V: ia64_spin::Policy;
    OsvMutex<V, P> where V: osv_mutex::Policy;
}

shared! {
    BiasedRwLock<P>;
    QueuedRwLock<P>;
    RwsemSpinlock<V, P> where V: rwsem_spinlock::Policy;
    RwsemXadd<V, P> where V: rwsem_xadd::Policy;
    InodeLock<V, P> where V: inode_lock::Policy;
    RenameLock<V, P> where V: rename_lock::Policy;
}

/// `dget` and `dput`.
impl<V: d_count::Policy, P: Platform> Counter for DCount<V, P> {
    type Held = ();

    fn new() -> Self {
        let count = DCount::new_in();
        count.get();
        count
    }

    #[inline]
    fn get(&self) {
        DCount::get(self);
    }

    #[inline]
    fn put(&self, (): ()) {
        DCount::put(self);
    }

    fn count(&self) -> u64 {
        DCount::count(self).into()
    }
}
