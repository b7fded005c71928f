//! The locks that have models, and their sources.

use serde::Deserialize;

/// Defines the locks: what each is, its name, and its sources, files or folders of the workspace.
macro_rules! locks {
    ($($doc:literal $name:ident: $sources:expr,)*) => {
        /// Which lock a model is of.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
        pub enum Lock {
            $(#[doc = $doc] $name,)*
        }

        impl Lock {
            /// Returns the sources of the lock.
            pub fn sources(self) -> &'static [&'static str] {
                match self {
                    $(Lock::$name => &$sources,)*
                }
            }
        }
    };
}

locks! {
    "The queue of optimistic spinners." Osq: ["crates/turnwise/src/osq.rs"],
    "The adaptive mutex."
        Mutex: [
            "crates/turnwise/src/mutex",
            "crates/turnwise/src/wait/spin.rs",
            "crates/turnwise/src/wait/stamp.rs",
            "crates/turnwise/src/wait/waiter.rs",
        ],
    "The condition variable."
        Condvar: ["crates/turnwise/src/condvar"],
    "The readers-writer lock."
        RwSem: [
            "crates/turnwise/src/rwsem",
            "crates/turnwise/src/wait/spin.rs",
            "crates/turnwise/src/wait/stamp.rs",
            "crates/turnwise/src/wait/waiter.rs",
        ],
    "The readers-writer lock with readers counted per CPU." BigReader: ["crates/turnwise/src/big_reader"],
    "The spin locks." Spin: ["crates/turnwise/src/spin", "crates/turnwise/src/backoff.rs"],
    "The sequence lock with a blocking reader." SeqRwLock: ["crates/turnwise/src/seqrwlock"],
    "A reference count and a lock in one word." LockRef: ["crates/turnwise/src/lockref"],
    "The counting semaphore."
        Semaphore: ["crates/turnwise/src/semaphore.rs", "crates/turnwise/src/wait/stamp.rs"],
    "The re-entrant mutex." Reentrant: ["crates/turnwise/src/reentrant.rs"],
    "The preload library's condition variable."
        PreloadCond: ["crates/preload/src/cond", "crates/turnwise/src/condvar/spin_then_sleep.rs"],
    "The preload library's locks with a queue of waiters, in a forked child." PreloadWord: ["crates/preload/src/word"],
    "The threads' slots, and their exit."
        Slots: [
            "crates/turnwise/src/platform/native/free.rs",
            "crates/turnwise/src/platform/native/linux/area.rs",
        ],
    "The portable platform's table of sleeping threads."
        Parking: ["crates/turnwise/src/platform/native/portable/table.rs"],
    "Lineage: the Linux mutex of 2013." LinuxMutex: ["lab/lineage/src/linux_mutex"],
    "Lineage: the rwsem on a spin lock." RwsemSpinlock: ["lab/lineage/src/rwsem_spinlock.rs", "lab/lineage/src/wait"],
    "Lineage: the rwsem by exchange and add." RwsemXadd: ["lab/lineage/src/rwsem_xadd.rs"],
    "Lineage: the ticket spin lock and the rwlocks of that kernel."
        KernelSpin: [
            "lab/lineage/src/ticket.rs",
            "lab/lineage/src/biased_rwlock.rs",
            "lab/lineage/src/queued_rwlock.rs",
        ],
    "Lineage: a dentry's reference count." DCount: ["lab/lineage/src/d_count"],
    "Lineage: the rename lock." RenameLock: ["lab/lineage/src/rename_lock.rs"],
    "Lineage: the ia64 spin lock." Ia64Spin: ["lab/lineage/src/ia64_spin.rs"],
    "Lineage: OSv's hand-off mutex." OsvMutex: ["lab/lineage/src/osv_mutex"],
    "The file system's journal." Journal: ["lab/vfs/src/journal/handles.rs", "lab/vfs/src/journal/committing.rs"],
    "The file system's dentry cache." Dcache: ["lab/vfs/src/dcache", "lab/vfs/src/inode"],
    "Locks that are wrong on purpose." Broken: [],
}
