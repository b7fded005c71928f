//! One record per lock: those of the catalogue, with all that each can do, and a few in special circumstances.

mod lineage;
mod own;
mod tuned;

use crate::object::debug_of;
use crate::ops::{Exclusive, LockRecord, Ops, Shared, Tree};
use crate::scenarios::tree;
use crate::tree::FileSystem;
use own::{CountedLock, MutexAndCondvar, SeqLock};
use std::fmt::Debug;
use std::sync::LazyLock;
use turnwise::platform::Native;
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock};
use turnwise::{LockRef, RawBigReaderLock, RawMcsLock, RawMutex, RawReentrantMutex, RawRwSem, RawSeqRwLock, Semaphore};
use turnwise_catalogue::{Entry, Nature, Of, Visit};
use turnwise_lineage::d_count::Count;
use turnwise_lineage::osv_mutex::{OsvMutex, OwnerAtWake, Spin};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_vfs::locks::{Linux37, Linux37Patch2, Linux310, Linux310Dcache, Linux312, LockSet, Today};

/// Visits a lock of the catalogue to make its record.
struct Record(&'static Entry);

impl Record {
    fn of<L: Default + Send + Sync + 'static>(self, ops: Ops) -> LockRecord {
        LockRecord::new::<L>(self.0.name, self.0.summary, self.0.nature, ops)
    }

    fn raw<L: RawLock>(self, ops: Ops) -> LockRecord {
        LockRecord::raw::<L>(self.0.name, self.0.summary, self.0.nature, ops)
    }
}

impl Visit<Native> for Record {
    type Out = LockRecord;

    fn exclusive<L: RawLock + Debug>(self, _: Of<L>) -> LockRecord {
        self.raw::<L>(Ops::lock(Exclusive::raw::<L>(), debug_of::<L>))
    }
    fn timed<L: RawTimedLock + Debug>(self, _: Of<L>) -> LockRecord {
        self.raw::<L>(Ops::lock(Exclusive::timed::<L>(), debug_of::<L>))
    }
    fn shared<L: RawRwLock + Debug>(self, _: Of<L>) -> LockRecord {
        let lock = Ops::lock(Exclusive::raw::<L>(), debug_of::<L>);
        self.raw::<L>(Ops { shared: Some(Shared::raw::<L>()), ..lock })
    }
    fn mcs(self, _: Of<RawMcsLock>) -> LockRecord {
        self.of::<own::Mcs>(own::MCS)
    }
    fn sequence(self, _: Of<RawSeqRwLock>) -> LockRecord {
        self.of::<SeqLock>(own::SEQUENCE)
    }
    fn mutex(self, _: Of<RawMutex>) -> LockRecord {
        self.of::<MutexAndCondvar>(own::MUTEX)
    }
    fn reentrant(self, _: Of<RawReentrantMutex>) -> LockRecord {
        self.of::<RawReentrantMutex>(own::REENTRANT)
    }
    fn semaphore<const FAIR: bool>(self, _: Of<Semaphore<FAIR>>) -> LockRecord {
        self.raw::<own::OnePermit<FAIR>>(own::one_permit::<FAIR>())
    }
    fn rwsem(self, _: Of<RawRwSem>) -> LockRecord {
        self.of::<RawRwSem>(own::RWSEM)
    }
    /// Returns it with few slots, so that it fits on a page.
    fn big_reader<const N: usize>(self, _: Of<RawBigReaderLock<N>>) -> LockRecord {
        self.of::<RawBigReaderLock<8>>(own::big_reader::<8>())
    }
    fn lockref(self, _: Of<LockRef>) -> LockRecord {
        self.of::<CountedLock>(own::COUNTS)
    }
    fn rwsem_spinlock<V: rwsem_spinlock::Policy>(self, _: Of<RwsemSpinlock<V>>) -> LockRecord {
        self.of::<RwsemSpinlock<V>>(lineage::rwsem_spinlock::<V>())
    }
    fn rwsem_xadd<V: rwsem_xadd::Policy>(self, _: Of<RwsemXadd<V>>) -> LockRecord {
        self.of::<RwsemXadd<V>>(lineage::rwsem_xadd::<V>())
    }
    fn d_count<C: Count<Platform = Native> + Debug>(self, _: Of<C>) -> LockRecord {
        self.raw::<C>(lineage::d_count::<C>())
    }
    fn rename_lock<V: rename_lock::Policy>(self, _: Of<RenameLock<V>>) -> LockRecord {
        self.of::<lineage::Tree<V>>(lineage::rename_lock::<V>())
    }
}

/// Returns the record of a file system on these locks.
pub(crate) const fn file_system<L: LockSet<Native>>(name: &'static str, about: &'static str) -> LockRecord {
    let tree = Tree { paths: tree::paths::<L>, names: tree::names::<L> };
    let ops = Ops { tree: Some(tree), ..Ops::none(|_| "a file system".to_owned()) };
    LockRecord::new::<FileSystem<L>>(name, about, Nature::LINEAGE, ops)
}

/// Locks that are another lock of the catalogue under a second name.
const LIKE_OTHERS: [&str; 2] = ["inode-lock-spin", "inode-lock-backoff"];

/// The locks.
pub static LOCKS: LazyLock<Vec<LockRecord>> = LazyLock::new(|| {
    let entries = turnwise_catalogue::LOCKS.iter().filter(|entry| !LIKE_OTHERS.contains(&entry.name));
    entries.map(record).chain(others()).collect()
});

fn record(entry: &'static Entry) -> LockRecord {
    turnwise_catalogue::visit(entry.name, Record(entry))
}

fn others() -> [LockRecord; 9] {
    type AtWake = OsvMutex<OwnerAtWake<Spin>>;
    let at_wake = Ops::lock(Exclusive::raw::<AtWake>(), debug_of::<AtWake>);
    let tuned = |lock, name, about, ops| LockRecord { name, about, ops, ..record(turnwise_catalogue::get(lock)) };
    [
        LockRecord::new::<AtWake>(
            "osv-mutex-owner-at-wake",
            "OSv's mutex with the spin from its paper, owner set at wake",
            Nature::LINUX_MUTEX,
            at_wake,
        ),
        tuned("mutex", "mutex-tuned", "the lock mutex, where each wait has other settings", tuned::MUTEX),
        tuned("rwsem", "rwsem-tuned", "the lock rwsem, where each wait has other settings", tuned::RWSEM),
        file_system::<Today>("vfs", "file system on today's locks"),
        file_system::<Linux37>("vfs-linux-3.7", "file system on the locks of Linux 3.7"),
        file_system::<Linux37Patch2>("vfs-linux-3.7-patch-2", "Linux 3.7 with both mutex patches"),
        file_system::<Linux310>("vfs-linux-3.10", "file system on the locks of Linux 3.10"),
        file_system::<Linux310Dcache>("vfs-linux-3.10-dcache", "Linux 3.10 with the patch of its paper"),
        file_system::<Linux312>("vfs-linux-3.12", "file system on the locks of Linux 3.12"),
    ]
}
