//! One record per lock.

use crate::counts::CountedLock;
use crate::lineage::Tree;
use crate::lock::{Lock, MutexAndCondvar, OnePermit, Spin};
use crate::sequence::SeqLock;
use crate::tree::FileSystem;
use turnwise::backoff::{Exponential, Proportional};
use turnwise::platform::native::assume_cpus;
use turnwise::wait::Policy;
use turnwise::{RawMcsLock, RawQueuedSpinLock, RawReentrantMutex, RawRwSem, RawSpinLock, RawTicketLock};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock;
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock, RwsemSpinlock, RwsemXadd};
use turnwise_lineage::{rwsem_spinlock, rwsem_xadd};
use turnwise_vfs::locks::{Linux37, Linux37Patch2, Linux310, Linux310Dcache, Linux312, Today};

/// What a lock can do beside `acquire`, `try_acquire` and `release`.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// Waits that end at a deadline.
    pub timed: bool,
    /// Release to the one that waited longest.
    pub fair: bool,
    /// A condition variable.
    pub condvar: bool,
    /// No waiter is overtaken for ever.
    pub bounded: bool,
    /// A release touches nothing once another thread may have the lock.
    pub lets_go: bool,
    /// A forked child can use the lock that its only thread owned in the parent, whoever waited for it there.
    pub forks: bool,
    /// A signal handler may acquire it. (Not with this harness if a node must be allocated.)
    pub signals: bool,
    /// It asks a thread's slot for something: its node in a queue, or whether its owner runs.
    pub slots: bool,
    /// Optimistic and blocking reads.
    pub sequence: bool,
    /// A count of references.
    pub counts: bool,
    /// References that anybody may take: [`crate::references::References`].
    pub references: bool,
    /// Permits by number: [`crate::permits::Permits`].
    pub permits: bool,
    /// Permits first come, first served.
    pub in_line: bool,
    /// Readers beside one another: [`crate::lock::Shared`].
    pub shared: bool,
    /// A writer may become a reader.
    pub downgrades: bool,
    /// Upgradable readers.
    pub upgrades: bool,
    /// It is no lock but a file system built of some: [`crate::tree::Tree`].
    pub tree: bool,
    /// Threads that may wait at once without a collapse: a line of spinners moves by a time slice per preempted thread.
    pub crowd: usize,
}

/// A lock to torture.
pub struct LockRecord {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it can do.
    pub can: Abilities,
    /// Size in bytes.
    pub size: usize,
    /// Makes one at this address, which has room for `size` bytes and is aligned to 16.
    ///
    /// # Safety
    /// As said. The lock lives as long as the caller leaves the memory alone.
    pub place: unsafe fn(*mut u8) -> *const dyn Lock,
}

impl LockRecord {
    /// A new lock. Its memory is never freed: a cell makes a handful and ends with its process.
    pub fn make(&self) -> &'static dyn Lock {
        let memory = vec![0_u128; self.size.div_ceil(16)].leak();
        // SAFETY: room for `size` bytes, aligned to 16; nobody else has the memory.
        unsafe { &*(self.place)(memory.as_mut_ptr().cast()) }
    }
}

/// # Safety
/// As [`LockRecord::place`] says.
unsafe fn place<L: Lock + Default + 'static>(at: *mut u8) -> *const dyn Lock {
    const { assert!(align_of::<L>() <= 16, "LockRecord::place promises 16") };
    let lock = at.cast::<L>();
    // SAFETY: room and alignment are the caller's promise.
    unsafe { lock.write(L::default()) };
    lock
}

/// # Safety
/// As [`LockRecord::place`] says.
unsafe fn place_among_many<L: Lock + Default + 'static>(at: *mut u8) -> *const dyn Lock {
    assume_cpus(Policy::DEFAULT.many_cpus as u32);
    // SAFETY: the caller's promise.
    unsafe { place::<L>(at) }
}

/// The same lock on what it takes for a large machine, where it waits in other ways. Its cell has a process of its own.
const fn among_many<L: Lock + Default + 'static>(
    name: &'static str,
    about: &'static str,
    can: Abilities,
) -> LockRecord {
    LockRecord { place: place_among_many::<L>, ..record::<L>(name, about, can) }
}

/// The record of the lock `L`.
pub(crate) const fn record<L: Lock + Default + 'static>(
    name: &'static str,
    about: &'static str,
    can: Abilities,
) -> LockRecord {
    LockRecord { name, about, can, size: size_of::<L>(), place: place::<L> }
}

const SLEEPER: Abilities = Abilities {
    timed: true,
    fair: true,
    condvar: true,
    bounded: true,
    lets_go: true,
    forks: true,
    signals: true,
    slots: true,
    sequence: false,
    counts: false,
    references: false,
    permits: false,
    in_line: false,
    shared: false,
    downgrades: false,
    upgrades: false,
    tree: false,
    crowd: 32,
};
const WRITERS: Abilities = Abilities { fair: false, condvar: false, bounded: false, ..SLEEPER };
const SEQUENCE: Abilities = Abilities { sequence: true, ..WRITERS };
const COUNTS: Abilities = Abilities { counts: true, ..WRITERS };
const SHARED: Abilities =
    Abilities { fair: false, condvar: false, shared: true, downgrades: true, upgrades: true, ..SLEEPER };
const SPINNER: Abilities =
    Abilities { fair: false, condvar: false, bounded: false, slots: false, crowd: 12, ..SLEEPER };
/// A line that is copied into a forked child has waiters that nobody runs there.
const LINE: Abilities = Abilities { bounded: true, forks: false, crowd: 4, ..SPINNER };
const QUEUED: Abilities = Abilities { slots: true, ..LINE };
const MCS: Abilities = Abilities { timed: false, signals: false, ..LINE };
/// As they were in 2013: waiters stand in lists and lines that a forked child must leave alone, and a handler that
/// interrupts a section under the `wait_lock` must not lock.
const LINEAGE: Abilities = Abilities { timed: false, signals: false, forks: false, bounded: false, ..SPINNER };
const LINUX_MUTEX: Abilities = Abilities { slots: true, lets_go: false, ..LINEAGE };
const RWSEM: Abilities = Abilities { lets_go: false, shared: true, downgrades: true, ..LINEAGE };
const BIASED: Abilities = Abilities { shared: true, ..LINEAGE };
const KERNEL_RWLOCK: Abilities = Abilities { crowd: 4, ..BIASED };
const KERNEL_LINE: Abilities = Abilities { bounded: true, crowd: 4, ..LINEAGE };
/// A waiter for the ia64 lock leaves no trace.
const IA64: Abilities = Abilities { timed: false, ..SPINNER };
const D_COUNT: Abilities = Abilities { references: true, ..KERNEL_LINE };
const RENAME: Abilities = Abilities { sequence: true, crowd: 4, ..LINEAGE };
/// By its writers alone.
const INODE: Abilities = Abilities { lets_go: false, ..LINEAGE };
const OSV: Abilities = Abilities { slots: true, ..INODE };

/// A handler would stand in line behind a thread that cannot get on.
const SEMAPHORE: Abilities =
    Abilities { fair: false, condvar: false, signals: false, slots: false, permits: true, ..SLEEPER };
/// A handler that interrupted an acquisition cannot tell how far it came. The child's thread has the parent's name.
const REENTRANT: Abilities = Abilities { condvar: false, signals: false, ..SLEEPER };

/// Nothing that a lock can do.
const TREE: Abilities =
    Abilities { timed: false, fair: false, condvar: false, lets_go: false, slots: false, tree: true, ..LINEAGE };

/// The locks.
pub static LOCKS: &[LockRecord] = &[
    record::<MutexAndCondvar>("mutex", "Mutex and Condvar", SLEEPER),
    among_many::<MutexAndCondvar>("mutex-many-cpus", "the same, as among many CPUs", SLEEPER),
    record::<SeqLock>("seqrwlock", "SeqRwLock, and its writers", SEQUENCE),
    record::<CountedLock>("lockref", "LockRef", COUNTS),
    record::<RawRwSem>("rwsem", "RwSem", SHARED),
    among_many::<RawRwSem>("rwsem-many-cpus", "the same, as among many CPUs", SHARED),
    record::<Spin<RawSpinLock>>("ttas", "SpinLock, no back-off", SPINNER),
    record::<Spin<RawSpinLock<Exponential>>>("ttas-exponential", "SpinLock, exponential back-off", SPINNER),
    record::<Spin<RawTicketLock>>("ticket", "TicketLock, no back-off", LINE),
    record::<Spin<RawTicketLock<Proportional>>>("ticket-proportional", "TicketLock, proportional back-off", LINE),
    record::<Spin<RawQueuedSpinLock>>("queued", "QueuedSpinLock", QUEUED),
    record::<RawMcsLock>("mcs", "McsLock", MCS),
    record::<KernelTicketLock>("kernel-ticket", "the kernel's ticket lock", KERNEL_LINE),
    record::<LinuxMutex<Baseline>>("linux-mutex", "Linux mutex of 3.7", LINUX_MUTEX),
    record::<LinuxMutex<Patch1>>("linux-mutex-1", "Linux mutex of 3.7 with patch 1", LINUX_MUTEX),
    record::<LinuxMutex<Patch1And2>>("linux-mutex-2", "Linux mutex of 3.7 with patches 1 and 2", LINUX_MUTEX),
    record::<LinuxMutex<NoSpin>>("linux-mutex-no-spin", "the same without spinning", LINUX_MUTEX),
    record::<RwsemSpinlock<rwsem_spinlock::Fifo>>("rwsem-spinlock-fifo", "rwsem on a spin lock", RWSEM),
    record::<RwsemSpinlock<rwsem_spinlock::Stealing>>("rwsem-spinlock", "the same with writer stealing", RWSEM),
    record::<RwsemXadd<rwsem_xadd::Fifo>>("rwsem-xadd-fifo", "rwsem by exchange and add, 3.8", RWSEM),
    record::<RwsemXadd<rwsem_xadd::Stealing>>("rwsem-xadd", "the same with writer stealing, 3.9", RWSEM),
    record::<RwsemXadd<rwsem_xadd::FastStealing>>("rwsem-xadd-fast", "the same, 3.10", RWSEM),
    record::<BiasedRwLock>("biased-rwlock", "the kernel's rwlock of 3.7", BIASED),
    record::<QueuedRwLock>("queued-rwlock", "the kernel's queued rwlock", KERNEL_RWLOCK),
    record::<DCount<d_count::UnderLock>>("d-count", "d_count under d_lock", D_COUNT),
    record::<DCount<d_count::CmpXchg>>("d-count-cmpxchg", "d_count by compare-exchange", D_COUNT),
    record::<DCount<d_count::LockRef>>("d-count-lockref", "d_count and d_lock in one word", D_COUNT),
    record::<Tree<rename_lock::Exclusive>>("rename-lock", "rename_lock", RENAME),
    record::<Tree<rename_lock::SeqRw>>("rename-seqrw", "rename_lock as sequence read/write lock", RENAME),
    record::<Ia64SpinLock<ia64_spin::Plain>>("ia64", "the ia64 spin lock", IA64),
    record::<Ia64SpinLock<ia64_spin::ExponentialCode>>("ia64-code", "the same with back-off", IA64),
    record::<Ia64SpinLock<ia64_spin::ExponentialProse>>("ia64-prose", "the same, back-off as in the prose", IA64),
    record::<InodeLock<inode_lock::Rwsem>>("inode-rwsem", "the inode lock as rwsem", INODE),
    record::<OsvMutex>("osv", "OSv's mutex", Abilities { bounded: true, ..OSV }),
    record::<OsvMutex<osv_mutex::Spin>>("osv-spin", "OSv's mutex with the document's spin", OSV),
    record::<OsvMutex<osv_mutex::SpinToOne>>("osv-to-one", "the same, technique 1", OSV),
    record::<OsvMutex<osv_mutex::SpinPolling>>("osv-polling", "the same, technique 3", OSV),
    record::<OsvMutex<osv_mutex::SpinAfterPush>>("osv-after-push", "the same, spin in the queue", OSV),
    record::<OsvMutex<osv_mutex::OwnerAtWake<osv_mutex::Spin>>>("osv-at-wake", "the same, owner set at wake", OSV),
    record::<OnePermit<false>>("semaphore", "Semaphore of one permit", SEMAPHORE),
    record::<OnePermit<true>>(
        "semaphore-fair",
        "FairSemaphore of one permit",
        Abilities { in_line: true, ..SEMAPHORE },
    ),
    record::<RawReentrantMutex>("reentrant", "ReentrantMutex, entered twice", REENTRANT),
    record::<FileSystem<Today>>("vfs", "file system on today's locks", TREE),
    record::<FileSystem<Linux37>>("vfs-linux-3.7", "file system on the locks of Linux 3.7", TREE),
    record::<FileSystem<Linux37Patch2>>("vfs-linux-3.7-patch-2", "the same with both mutex patches", TREE),
    record::<FileSystem<Linux310>>("vfs-linux-3.10", "file system on the locks of Linux 3.10", TREE),
    record::<FileSystem<Linux310Dcache>>("vfs-linux-3.10-dcache", "the same with the document's patch", TREE),
    record::<FileSystem<Linux312>>("vfs-linux-3.12", "file system on the locks of Linux 3.12", TREE),
];
