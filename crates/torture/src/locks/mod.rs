//! One record per lock.

mod lineage;
mod own;

use crate::object::{Object, debug_of, of};
use crate::ops::{Exclusive, LockRecord, Nature, Ops, Shared, place};
use crate::tree::FileSystem;
use own::{CountedLock, MutexAndCondvar, SeqLock};
use std::fmt::Debug;
use turnwise::backoff::{Exponential, Proportional};
use turnwise::platform::Native;
use turnwise::platform::native::assume_cpus;
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock};
use turnwise::wait::Policy;
use turnwise::{RawMcsLock, RawQueuedSpinLock, RawReentrantMutex, RawRwSem, RawSpinLock, RawTicketLock};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};
use turnwise_lineage::{d_count, rename_lock, rwsem_spinlock, rwsem_xadd};
use turnwise_vfs::locks::{Linux37, Linux37Patch2, Linux310, Linux310Dcache, Linux312, LockSet, Today};

/// The record of a lock that can do what every raw lock can.
const fn raw<L: RawLock + Default + Debug>(name: &'static str, about: &'static str, nature: Nature) -> LockRecord {
    LockRecord::new::<L>(name, about, nature, Ops::lock(Exclusive::raw::<L>(), debug_of::<L>))
}

/// The same, and one can give up waiting for it.
const fn timed<L: RawTimedLock + Default + Debug>(
    name: &'static str,
    about: &'static str,
    nature: Nature,
) -> LockRecord {
    LockRecord::new::<L>(name, about, nature, Ops::lock(Exclusive::timed::<L>(), debug_of::<L>))
}

/// The same as [`raw`], and readers are beside one another.
const fn shared<L: RawRwLock + Default + Debug>(name: &'static str, about: &'static str, nature: Nature) -> LockRecord {
    let ops = Ops { shared: Some(Shared::raw::<L>()), ..Ops::lock(Exclusive::raw::<L>(), debug_of::<L>) };
    LockRecord::new::<L>(name, about, nature, ops)
}

/// The record of a file system on these locks.
pub(crate) const fn tree<L: LockSet<Native>>(name: &'static str, about: &'static str) -> LockRecord {
    let ops = Ops { tree: Some(|fs| of::<FileSystem<L>>(fs)), ..Ops::none(|_| "a file system".to_owned()) };
    LockRecord::new::<FileSystem<L>>(name, about, LINEAGE, ops)
}

/// # Safety
/// As [`LockRecord::place`] says.
unsafe fn place_among_many<L: Default + Send + Sync + 'static>(at: *mut u8) -> Object<'static> {
    assume_cpus(Policy::DEFAULT.many_cpus as u32);
    // SAFETY: the caller's promise.
    unsafe { place::<L>(at) }
}

/// The same lock on what it takes for a large machine, where it waits in other ways. Its cell has a process of its own.
const fn among_many<L: Default + Send + Sync + 'static>(name: &'static str, nature: Nature, ops: Ops) -> LockRecord {
    let record = LockRecord::new::<L>(name, "the same, as among many CPUs", nature, ops);
    LockRecord { place: place_among_many::<L>, ..record }
}

const SLEEPER: Nature =
    Nature { bounded: true, lets_go: true, forks: true, signals: true, slots: true, in_line: false, crowd: 32 };
const WRITERS: Nature = Nature { bounded: false, ..SLEEPER };
const SPINNER: Nature = Nature { bounded: false, slots: false, crowd: 12, ..SLEEPER };
/// A line that is copied into a forked child has waiters that nobody runs there.
const LINE: Nature = Nature { bounded: true, forks: false, crowd: 4, ..SPINNER };
const QUEUED: Nature = Nature { slots: true, ..LINE };
const MCS: Nature = Nature { signals: false, ..LINE };
/// As they were in 2013: waiters stand in lists and lines that a forked child must leave alone, and a handler that
/// interrupts a section under the `wait_lock` must not lock.
const LINEAGE: Nature = Nature { signals: false, forks: false, ..SPINNER };
const LINUX_MUTEX: Nature = Nature { slots: true, lets_go: false, ..LINEAGE };
const RWSEM: Nature = Nature { lets_go: false, ..LINEAGE };
const KERNEL_RWLOCK: Nature = Nature { crowd: 4, ..LINEAGE };
const KERNEL_LINE: Nature = Nature { bounded: true, crowd: 4, ..LINEAGE };

/// A handler would stand in line behind a thread that cannot get on.
const SEMAPHORE: Nature = Nature { signals: false, slots: false, ..SLEEPER };
/// A handler that interrupted an acquisition cannot tell how far it came. The child's thread has the parent's name.
const REENTRANT: Nature = Nature { signals: false, ..SLEEPER };

/// The locks.
pub static LOCKS: &[LockRecord] = &[
    LockRecord::new::<MutexAndCondvar>("mutex", "Mutex and Condvar", SLEEPER, own::MUTEX),
    among_many::<MutexAndCondvar>("mutex-many-cpus", SLEEPER, own::MUTEX),
    LockRecord::new::<SeqLock>("seqrwlock", "SeqRwLock, and its writers", WRITERS, own::SEQUENCE),
    LockRecord::new::<CountedLock>("lockref", "LockRef", WRITERS, own::COUNTS),
    LockRecord::new::<RawRwSem>("rwsem", "RwSem", SLEEPER, own::RWSEM),
    among_many::<RawRwSem>("rwsem-many-cpus", SLEEPER, own::RWSEM),
    timed::<RawSpinLock>("ttas", "SpinLock, no back-off", SPINNER),
    timed::<RawSpinLock<Exponential>>("ttas-exponential", "SpinLock, exponential back-off", SPINNER),
    timed::<RawTicketLock>("ticket", "TicketLock, no back-off", LINE),
    timed::<RawTicketLock<Proportional>>("ticket-proportional", "TicketLock, proportional back-off", LINE),
    timed::<RawQueuedSpinLock>("queued", "QueuedSpinLock", QUEUED),
    LockRecord::new::<RawMcsLock>("mcs", "McsLock", MCS, own::MCS),
    raw::<KernelTicketLock>("kernel-ticket", "the kernel's ticket lock", KERNEL_LINE),
    raw::<LinuxMutex<Baseline>>("linux-mutex", "Linux mutex of 3.7", LINUX_MUTEX),
    raw::<LinuxMutex<Patch1>>("linux-mutex-1", "Linux mutex of 3.7 with patch 1", LINUX_MUTEX),
    raw::<LinuxMutex<Patch1And2>>("linux-mutex-2", "Linux mutex of 3.7 with patches 1 and 2", LINUX_MUTEX),
    raw::<LinuxMutex<NoSpin>>("linux-mutex-no-spin", "the same without spinning", LINUX_MUTEX),
    lineage::rwsem_spinlock::<rwsem_spinlock::Fifo>("rwsem-spinlock-fifo", "rwsem on a spin lock", RWSEM),
    lineage::rwsem_spinlock::<rwsem_spinlock::Stealing>("rwsem-spinlock", "the same with writer stealing", RWSEM),
    lineage::rwsem_xadd::<rwsem_xadd::Fifo>("rwsem-xadd-fifo", "rwsem by exchange and add, 3.8", RWSEM),
    lineage::rwsem_xadd::<rwsem_xadd::Stealing>("rwsem-xadd", "the same with writer stealing, 3.9", RWSEM),
    lineage::rwsem_xadd::<rwsem_xadd::FastStealing>("rwsem-xadd-fast", "the same, 3.10", RWSEM),
    shared::<BiasedRwLock>("biased-rwlock", "the kernel's rwlock of 3.7", LINEAGE),
    shared::<QueuedRwLock>("queued-rwlock", "the kernel's queued rwlock", KERNEL_RWLOCK),
    lineage::d_count::<d_count::UnderLock>("d-count", "d_count under d_lock", KERNEL_LINE),
    lineage::d_count::<d_count::CmpXchg>("d-count-cmpxchg", "d_count by compare-exchange", KERNEL_LINE),
    lineage::d_count::<d_count::LockRef>("d-count-lockref", "d_count and d_lock in one word", KERNEL_LINE),
    lineage::rename_lock::<rename_lock::Exclusive>("rename-lock", "rename_lock", KERNEL_RWLOCK),
    lineage::rename_lock::<rename_lock::SeqRw>(
        "rename-seqrw",
        "rename_lock as sequence read/write lock",
        KERNEL_RWLOCK,
    ),
    raw::<Ia64SpinLock<ia64_spin::Plain>>("ia64", "the ia64 spin lock", SPINNER),
    raw::<Ia64SpinLock<ia64_spin::ExponentialCode>>("ia64-code", "the same with back-off", SPINNER),
    raw::<Ia64SpinLock<ia64_spin::ExponentialProse>>("ia64-prose", "the same, back-off as in the prose", SPINNER),
    raw::<InodeLock<inode_lock::Rwsem>>("inode-rwsem", "the inode lock as rwsem", RWSEM),
    raw::<OsvMutex>("osv", "OSv's mutex", Nature { bounded: true, ..LINUX_MUTEX }),
    raw::<OsvMutex<osv_mutex::Spin>>("osv-spin", "OSv's mutex with the spin from its case study", LINUX_MUTEX),
    raw::<OsvMutex<osv_mutex::SpinToOne>>("osv-to-one", "the same, technique 1", LINUX_MUTEX),
    raw::<OsvMutex<osv_mutex::SpinPolling>>("osv-polling", "the same, technique 3", LINUX_MUTEX),
    raw::<OsvMutex<osv_mutex::SpinAfterPush>>("osv-after-push", "the same, spin in the queue", LINUX_MUTEX),
    raw::<OsvMutex<osv_mutex::OwnerAtWake<osv_mutex::Spin>>>("osv-at-wake", "the same, owner set at wake", LINUX_MUTEX),
    own::one_permit::<false>("semaphore", "Semaphore of one permit", SEMAPHORE),
    own::one_permit::<true>("semaphore-fair", "FairSemaphore of one permit", Nature { in_line: true, ..SEMAPHORE }),
    LockRecord::new::<RawReentrantMutex>("reentrant", "ReentrantMutex, entered twice", REENTRANT, own::REENTRANT),
    tree::<Today>("vfs", "file system on today's locks"),
    tree::<Linux37>("vfs-linux-3.7", "file system on the locks of Linux 3.7"),
    tree::<Linux37Patch2>("vfs-linux-3.7-patch-2", "the same with both mutex patches"),
    tree::<Linux310>("vfs-linux-3.10", "file system on the locks of Linux 3.10"),
    tree::<Linux310Dcache>("vfs-linux-3.10-dcache", "Linux 3.10 with the patch of its case study"),
    tree::<Linux312>("vfs-linux-3.12", "file system on the locks of Linux 3.12"),
];
