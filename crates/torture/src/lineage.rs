//! The documents' locks.

use crate::lock::{Held, Lock, Shared};
use crate::references::References;
use crate::sequence::{Payload, Sequence};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock, RwsemSpinlock, RwsemXadd};
use turnwise_lineage::{rwsem_spinlock, rwsem_xadd};

/// [`Lock`] for a [`RawLock`].
macro_rules! lock {
    ([$($generics:tt)*] $lock:ty $(, $shared:ident)? $(; $more:item)*) => {
        impl<$($generics)*> Lock for $lock {
            fn acquire(&self) -> Held {
                self.lock();
                None
            }
            fn try_acquire(&self) -> Option<Held> {
                self.try_lock().then_some(None)
            }
            unsafe fn release(&self, _held: Held) {
                // SAFETY: the caller has the lock.
                unsafe { self.unlock() }
            }
            $(fn $shared(&self) -> &dyn Shared {
                self
            })?
            fn words(&self) -> String {
                format!("{self:?}")
            }
            $($more)*
        }
    };
}

/// [`Shared`] for a [`RawRwLock`].
macro_rules! shared {
    ([$($generics:tt)*] $lock:ty $(, $downgrade:ident)?) => {
        lock!([$($generics)*] $lock, shared);

        impl<$($generics)*> Shared for $lock {
            fn read(&self) {
                RawRwLock::read(self);
            }
            fn try_read(&self) -> bool {
                RawRwLock::try_read(self)
            }
            unsafe fn unlock_read(&self) {
                // SAFETY: the caller has a read lock.
                unsafe { RawRwLock::unlock_read(self) }
            }
            $(unsafe fn $downgrade(&self) {
                // SAFETY: the caller has the write lock.
                unsafe { self.$downgrade() }
            })?
        }
    };
}

lock!([V: linux_mutex::Policy] LinuxMutex<V>);
lock!([] KernelTicketLock);
shared!([V: rwsem_spinlock::Policy] RwsemSpinlock<V>, downgrade);
shared!([V: rwsem_xadd::Policy] RwsemXadd<V>, downgrade);
shared!([] BiasedRwLock);
shared!([] QueuedRwLock);
lock!([V: ia64_spin::Policy] Ia64SpinLock<V>);
lock!([] InodeLock<inode_lock::Rwsem>);
lock!([V: osv_mutex::Policy] OsvMutex<V>);

lock!(
    [V: d_count::Policy] DCount<V>;
    fn references(&self) -> &dyn References {
        self
    }
);

impl<V: d_count::Policy> References for DCount<V> {
    fn get(&self) {
        self.get();
    }
    fn put(&self, at_last: &mut dyn FnMut()) {
        self.put_with(at_last);
    }
    fn count(&self) -> u32 {
        self.count()
    }
}

/// What `rename_lock` keeps still: a payload.
pub(crate) struct Tree<V: rename_lock::Policy> {
    lock: RenameLock<V>,
    payload: [AtomicU64; 4],
}

impl<V: rename_lock::Policy> Default for Tree<V> {
    fn default() -> Self {
        Tree { lock: RenameLock::default(), payload: Default::default() }
    }
}

impl<V: rename_lock::Policy> Tree<V> {
    fn load(&self) -> Payload {
        self.payload.each_ref().map(|word| word.load(Acquire))
    }
}

impl<V: rename_lock::Policy> Sequence for Tree<V> {
    fn read(&self) -> Payload {
        loop {
            let sequence = self.lock.read_begin();
            let payload = self.load();
            if !self.lock.read_retry(sequence) {
                return payload;
            }
        }
    }

    fn read_blocking(&self, look: &mut dyn FnMut(Payload), pause: &mut dyn FnMut()) {
        self.lock.read();
        look(self.load());
        pause();
        look(self.load());
        // SAFETY: acquired above.
        unsafe { self.lock.unlock_read() };
    }

    fn set(&self, value: Payload) {
        self.lock.lock();
        self.payload.iter().zip(value).for_each(|(word, value)| word.store(value, Release));
        // SAFETY: acquired above.
        unsafe { self.lock.unlock() };
    }
}

impl<V: rename_lock::Policy> Lock for Tree<V> {
    fn acquire(&self) -> Held {
        self.lock.lock();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.lock.try_lock().then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.lock.unlock() };
    }

    fn sequence(&self) -> &dyn Sequence {
        self
    }

    fn words(&self) -> String {
        format!("{:?}", self.lock)
    }
}
