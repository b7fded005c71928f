//! The operations of the papers' locks that go beyond those of a raw lock.

use crate::object::{debug_of, of};
use crate::ops::{Change, Exclusive, HasRaw, Ops, Payload, References, Sequence, Shared};
use std::fmt::Debug;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::Count;
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::{RwsemSpinlock, RwsemXadd, rwsem_spinlock, rwsem_xadd};

const fn rwsem<L: RawRwLock + Debug>(downgrade: Change) -> Ops {
    let shared = Shared { downgrade: Some(downgrade), ..Shared::raw::<L>() };
    Ops { shared: Some(shared), ..Ops::lock(Exclusive::raw::<L>(), debug_of::<L>) }
}

pub(super) const fn rwsem_spinlock<V: rwsem_spinlock::Policy>() -> Ops {
    // SAFETY: the caller has the write lock.
    rwsem::<RwsemSpinlock<V>>(|lock| unsafe { of::<RwsemSpinlock<V>>(lock).downgrade() })
}

pub(super) const fn rwsem_xadd<V: rwsem_xadd::Policy>() -> Ops {
    // SAFETY: the caller has the write lock.
    rwsem::<RwsemXadd<V>>(|lock| unsafe { of::<RwsemXadd<V>>(lock).downgrade() })
}

pub(super) const fn d_count<C: Count + Debug>() -> Ops {
    let references = References {
        get: |lock| _ = of::<C>(lock).get(),
        put: |lock, at_last| _ = of::<C>(lock).put_with(at_last),
        count: |lock| of::<C>(lock).count(),
    };
    let lock = Ops::lock(Exclusive::raw::<C>(), debug_of::<C>);
    Ops { references: Some(references), ..lock }
}

/// What `rename_lock` keeps stable: a payload.
pub(super) struct Tree<V: rename_lock::Policy> {
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

impl<V: rename_lock::Policy> HasRaw for Tree<V> {
    type Raw = RenameLock<V>;
    fn raw(&self) -> &RenameLock<V> {
        &self.lock
    }
}

pub(super) const fn rename_lock<V: rename_lock::Policy>() -> Ops {
    let sequence = Sequence {
        read: |lock| of::<Tree<V>>(lock).read(),
        read_blocking: |lock, look, pause| of::<Tree<V>>(lock).read_blocking(look, pause),
        set: |lock, value| of::<Tree<V>>(lock).set(value),
    };
    let lock = Ops::lock(Exclusive::raw::<Tree<V>>(), |lock| format!("{:?}", of::<Tree<V>>(lock).lock));
    Ops { sequence: Some(sequence), ..lock }
}
