//! The operations of Turnwise's locks that go beyond those of a raw lock.

use crate::counts::State;
use crate::object::{Object, debug_of, of, words_of};
use crate::ops::{Condvar, Counts, Exclusive, HasRaw, Ops, Payload, Permits, Sequence, Shared, Upgrade};
use std::cell::UnsafeCell;
use turnwise::platform::Native;
use turnwise::raw::{RawLock, RawTimedLock, RawTimedRwLock};
use turnwise::spin::mcs::McsNode;
use turnwise::{
    LockRef, RawBigReaderLock, RawMcsLock, RawMutex, RawReentrantMutex, RawRwSem, RawSeqRwLock, Semaphore, SeqRwLock,
};

/// The mutex and its condition variable.
#[derive(Default)]
pub(super) struct MutexAndCondvar {
    mutex: RawMutex,
    condvar: turnwise::Condvar,
}

impl HasRaw for MutexAndCondvar {
    type Raw = RawMutex;
    fn raw(&self) -> &RawMutex {
        &self.mutex
    }
}

fn condvar(lock: Object<'_>) -> &turnwise::Condvar {
    &of::<MutexAndCondvar>(lock).condvar
}

pub(super) const MUTEX: Ops = Ops {
    condvar: Some(Condvar {
        wait: |lock, deadline| {
            let mutex = of::<MutexAndCondvar>(lock).raw();
            // SAFETY: the caller has the mutex, which is the only one that this condition variable ever sees.
            unsafe { condvar(lock).wait_raw(mutex, deadline) }.timed_out()
        },
        notify_one: |lock| condvar(lock).notify_one(),
        notify_all: |lock| condvar(lock).notify_all(),
    }),
    ..Ops::lock(
        Exclusive {
            // SAFETY: the caller has the lock.
            release_fair: Some(|lock| unsafe { of::<MutexAndCondvar>(lock).raw().unlock_fair() }),
            ..Exclusive::timed::<MutexAndCondvar>()
        },
        words_of::<MutexAndCondvar>,
    )
};

pub(super) const RWSEM: Ops = Ops {
    shared: Some(Shared {
        read_until: Some(|lock, deadline| of::<RawRwSem>(lock).read_until(deadline)),
        // SAFETY: the caller has the write lock.
        downgrade: Some(|lock| unsafe { of::<RawRwSem>(lock).downgrade() }),
        upgrade: Some(Upgrade {
            read: |lock, at_once| {
                let lock = of::<RawRwSem>(lock);
                at_once && lock.try_upgradable_read()
                    || !at_once && {
                        lock.upgradable_read();
                        true
                    }
            },
            upgrade: |lock, deadline| match deadline {
                // SAFETY: the caller has the upgradable read lock.
                Some(deadline) => unsafe { of::<RawRwSem>(lock).upgrade_until(deadline) },
                None => {
                    // SAFETY: the caller has the upgradable read lock.
                    unsafe { of::<RawRwSem>(lock).upgrade() };
                    true
                }
            },
            // SAFETY: the caller has the write lock.
            downgrade: |lock| unsafe { of::<RawRwSem>(lock).downgrade_to_upgradable() },
            // SAFETY: the caller has the upgradable read lock.
            unlock: |lock| unsafe { of::<RawRwSem>(lock).unlock_upgradable() },
        }),
        ..Shared::raw::<RawRwSem>()
    }),
    ..Ops::lock(Exclusive::timed::<RawRwSem>(), words_of::<RawRwSem>)
};

pub(super) const fn big_reader<const N: usize>() -> Ops {
    Ops {
        shared: Some(Shared {
            read_until: Some(|lock, deadline| of::<RawBigReaderLock<N>>(lock).read_until(deadline)),
            ..Shared::raw::<RawBigReaderLock<N>>()
        }),
        ..Ops::lock(Exclusive::timed::<RawBigReaderLock<N>>(), debug_of::<RawBigReaderLock<N>>)
    }
}

/// The re-entrant mutex, entered twice each time.
pub(super) const REENTRANT: Ops = Ops::lock(
    Exclusive {
        acquire: |lock| {
            of::<RawReentrantMutex>(lock).lock();
            of::<RawReentrantMutex>(lock).lock();
        },
        try_acquire: |lock| {
            let lock = of::<RawReentrantMutex>(lock);
            lock.try_lock() && lock.try_lock()
        },
        release: |lock| {
            let lock = of::<RawReentrantMutex>(lock);
            // SAFETY: the caller has the lock, acquired twice.
            unsafe {
                lock.unlock();
                lock.unlock();
            }
        },
        acquire_until: Some(|lock, deadline| {
            let lock = of::<RawReentrantMutex>(lock);
            lock.lock_until(deadline) && lock.try_lock()
        }),
        release_fair: Some(|lock| {
            let lock = of::<RawReentrantMutex>(lock);
            // SAFETY: the caller has the lock, acquired twice.
            unsafe {
                lock.unlock();
                lock.unlock_fair();
            }
        }),
        before_last_write: None,
    },
    words_of::<RawReentrantMutex>,
);

/// An MCS lock, and the node through which its owner acquired it.
#[derive(Default)]
pub(super) struct Mcs {
    raw: RawMcsLock,
    node: UnsafeCell<Option<Box<McsNode>>>,
}

// SAFETY: only the owner of the lock touches the node.
unsafe impl Sync for Mcs {}

impl Mcs {
    fn acquire(&self, how: impl FnOnce(&RawMcsLock, &McsNode) -> bool) -> bool {
        let node = Box::new(McsNode::new());
        let got = how(&self.raw, &node);
        if got {
            // SAFETY: the caller is the owner now.
            unsafe { *self.node.get() = Some(node) };
        }
        got
    }

    fn lock(raw: &RawMcsLock, node: &McsNode) -> bool {
        // SAFETY: `acquire` keeps the node in place until the release.
        unsafe { raw.lock(node) };
        true
    }

    /// # Safety
    /// The caller has the lock.
    unsafe fn release(&self) {
        // SAFETY: the caller is still the owner.
        let node = unsafe { (*self.node.get()).take() }.expect("an MCS lock is released with its node");
        // SAFETY: the caller acquired the lock through this node.
        unsafe { self.raw.unlock(&node) };
    }
}

pub(super) const MCS: Ops = Ops::lock(
    Exclusive {
        acquire: |lock| _ = of::<Mcs>(lock).acquire(Mcs::lock),
        // SAFETY: as in `Mcs::lock`.
        try_acquire: |lock| of::<Mcs>(lock).acquire(|raw, node| unsafe { raw.try_lock(node) }),
        // SAFETY: the caller has the lock.
        release: |lock| unsafe { of::<Mcs>(lock).release() },
        acquire_until: None,
        release_fair: None,
        before_last_write: None,
    },
    |lock| format!("{:?}", of::<Mcs>(lock).raw),
);

/// A semaphore with one permit.
pub(super) type OnePermit<const FAIR: bool> = turnwise_catalogue::OnePermit<FAIR, Native>;

fn semaphore<const FAIR: bool>(lock: Object<'_>) -> &Semaphore<FAIR> {
    &of::<OnePermit<FAIR>>(lock).0
}

/// Returns the operations of a [`Semaphore`].
pub(super) const fn one_permit<const FAIR: bool>() -> Ops {
    let permits = Permits {
        take: |lock, n| semaphore::<FAIR>(lock).acquire_many(n).forget(),
        try_take: |lock, n| semaphore::<FAIR>(lock).try_acquire_many(n).map(|permits| permits.forget()).is_some(),
        take_until: |lock, n, deadline| {
            semaphore::<FAIR>(lock).try_acquire_until(n, deadline).map(|permits| permits.forget()).is_some()
        },
        give: |lock, n| semaphore::<FAIR>(lock).release(n),
    };
    Ops { permits: Some(permits), ..Ops::lock(Exclusive::timed::<OnePermit<FAIR>>(), words_of::<OnePermit<FAIR>>) }
}

/// The typed sequence lock; as a lock without data, its writers.
#[derive(Default)]
pub(super) struct SeqLock(SeqRwLock<Payload>);

impl HasRaw for SeqLock {
    type Raw = RawSeqRwLock;
    fn raw(&self) -> &RawSeqRwLock {
        self.0.raw()
    }
}

fn seq(lock: Object<'_>) -> &SeqRwLock<Payload> {
    &of::<SeqLock>(lock).0
}

pub(super) const SEQUENCE: Ops = Ops {
    sequence: Some(Sequence {
        read: |lock| seq(lock).read(),
        read_blocking: |lock, look, pause| {
            let guard = seq(lock).blocking_read();
            look(*guard);
            pause();
            // As two accesses for the compiler too, which may otherwise assume that nothing changes.
            look(*std::hint::black_box(&*guard));
        },
        set: |lock, value| seq(lock).set(value),
    }),
    ..Ops::lock(Exclusive::timed::<SeqLock>(), |lock| format!("{:?}", seq(lock).raw()))
};

/// The count with a lock.
#[derive(Default)]
pub(super) struct CountedLock(UnsafeCell<LockRef>);

// SAFETY: the cell is written by `Counts::restart` only, whose caller keeps the others away.
unsafe impl Sync for CountedLock {}

impl HasRaw for CountedLock {
    type Raw = LockRef;
    fn raw(&self) -> &LockRef {
        // SAFETY: not written meanwhile, by the contract of `Counts::restart`.
        unsafe { &*self.0.get() }
    }
}

fn refs(lock: Object<'_>) -> &LockRef {
    of::<CountedLock>(lock).raw()
}

pub(super) const COUNTS: Ops = Ops {
    counts: Some(Counts {
        run: |lock, op| op.run(refs(lock)),
        state: |lock| State { count: refs(lock).count(), dead: refs(lock).is_dead() },
        // SAFETY: the caller keeps the others away.
        restart: |lock, count| unsafe { *of::<CountedLock>(lock).0.get() = LockRef::new(count) },
    }),
    ..Ops::lock(Exclusive::timed::<CountedLock>(), |lock| format!("{:?}", refs(lock)))
};
