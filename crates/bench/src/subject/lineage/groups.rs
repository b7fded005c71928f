//! The locks, by document.

use crate::adapt::raw::Behind;
use crate::load::counted::Locked;
use crate::load::exclusive::Protected;
use crate::load::shared::Record;
use crate::subject::{Group, LockInfo, Waiting::*};
use turnwise::{RwSem, SpinLock};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, QueuedRwLock};

type Mutex<V> = Behind<LinuxMutex<V>, Protected>;
type Spinlock<V> = Behind<RwsemSpinlock<V>, Record>;
type Xadd<V> = Behind<RwsemXadd<V>, Record>;
type Rename<V> = Behind<RenameLock<V>, Record>;
type Inode<V> = Behind<InodeLock<V>, Record>;
type Osv<V> = Behind<OsvMutex<V>, Protected>;

pub(super) static MUTEX_SPINNERS: Group = Group {
    name: "mutex_spinners",
    help: "the mutex of Linux 3.7 to 3.10: spinners that look first, spinners that queue",
    locks: &[
        LockInfo::exclusive::<Mutex<Baseline>>("baseline", Sleeps, "Linux 3.7: every spinner tries")
            .ours("LinuxMutex<Baseline>"),
        LockInfo::exclusive::<Mutex<Patch1>>("patch1", Sleeps, "patch 1: spinners look before they try")
            .ours("LinuxMutex<Patch1>"),
        LockInfo::exclusive::<Mutex<Patch1And2>>("patch1+2", Sleeps, "patches 1 and 2: spinners queue")
            .ours("LinuxMutex<Patch1And2>"),
        LockInfo::exclusive::<Mutex<NoSpin>>("no-spin", Sleeps, "both patches, compiled without spinning")
            .ours("LinuxMutex<NoSpin>"),
        LockInfo::exclusive::<turnwise::Mutex<Protected>>("turnwise", Sleeps, "our lock, today").ours("Mutex"),
    ],
    default: &["all"],
    reference: &["baseline"],
};

pub(super) static RWSEM_STEALING: Group = Group {
    name: "rwsem_stealing",
    help: "rwsems of Linux 3.8: granted in order, and stolen",
    locks: &[
        LockInfo::shared::<Spinlock<rwsem_spinlock::Fifo>>("fifo", Sleeps, "rwsem-spinlock, granted in order")
            .ours("RwsemSpinlock<Fifo>"),
        LockInfo::shared::<Spinlock<rwsem_spinlock::Stealing>>("stealing", Sleeps, "rwsem-spinlock, writers steal")
            .ours("RwsemSpinlock<Stealing>"),
        LockInfo::shared::<Xadd<rwsem_xadd::Fifo>>("xadd-fifo", Sleeps, "xadd rwsem, granted in order")
            .ours("RwsemXadd<Fifo>"),
        LockInfo::shared::<Xadd<rwsem_xadd::Stealing>>("xadd-stealing", Sleeps, "xadd rwsem, writers steal")
            .ours("RwsemXadd<Stealing>"),
        LockInfo::shared::<Xadd<rwsem_xadd::FastStealing>>(
            "xadd-fast-stealing",
            Sleeps,
            "the same, also before they wait (Linux 3.10)",
        )
        .ours("RwsemXadd<FastStealing>"),
        LockInfo::shared::<RwSem<Record>>("turnwise", Sleeps, "our lock, today").ours("RwSem"),
    ],
    default: &["all"],
    reference: &["fifo"],
};

pub(super) static D_COUNT: Group = Group {
    name: "d_count",
    help: "dcache: the count of a dentry",
    locks: &[
        LockInfo::counter::<DCount<d_count::UnderLock>>("d_lock", Spins, "Linux 3.10: under d_lock")
            .ours("DCount<UnderLock>"),
        LockInfo::counter::<DCount<d_count::CmpXchg>>("cmpxchg", Spins, "version 3: by compare-exchange above 1")
            .ours("DCount<CmpXchg>"),
        LockInfo::counter::<DCount<d_count::LockRef>>("lockref", Spins, "Linux 3.12: lock and count in one word")
            .ours("DCount<LockRef>"),
        LockInfo::counter::<Locked<SpinLock<u64>>>("ttas", Spins, "a count under our spin lock, today")
            .ours("SpinLock"),
        LockInfo::counter::<turnwise::LockRef>("turnwise", Sleeps, "our lock, today").ours("LockRef"),
    ],
    default: &["all"],
    reference: &["d_lock"],
};

pub(super) static RENAME_LOCK: Group = Group {
    name: "rename_lock",
    help: "dcache: the lock around renames, which every d_path takes",
    locks: &[
        LockInfo::shared::<Rename<rename_lock::Exclusive>>(
            "exclusive",
            Spins,
            "Linux 3.10: d_path shuts all others out",
        )
        .ours("RenameLock<Exclusive>"),
        LockInfo::shared::<Rename<rename_lock::SeqRw>>("seqrwlock", Spins, "version 3: d_path is a blocking reader")
            .ours("RenameLock<SeqRw>"),
        LockInfo::shared::<crate::adapt::seqlocks::Blocking>("turnwise-blocking", Sleeps, "our lock, today, likewise")
            .ours("SeqRwLock"),
    ],
    default: &["all"],
    reference: &["exclusive"],
};

pub(super) static SPIN_BACKOFF: Group = Group {
    name: "spin_backoff",
    help: "the inode lock of Linux 2.4 on ia64: spinning, backing off, redesigned",
    locks: &[
        LockInfo::shared::<Inode<inode_lock::Spin>>("spin", Spins, "the spin lock").ours("InodeLock<Spin>"),
        LockInfo::shared::<Inode<inode_lock::BackOff>>("back-off", Spins, "with exponential back-off")
            .ours("InodeLock<BackOff>"),
        LockInfo::shared::<Inode<inode_lock::Rwsem>>("rwsem", Sleeps, "an rwsem instead").ours("InodeLock<Rwsem>"),
        LockInfo::shared::<RwSem<Record>>("turnwise", Sleeps, "our lock, today").ours("RwSem"),
    ],
    default: &["all"],
    reference: &["spin"],
};

pub(super) static HANDOFF_SPIN: Group = Group {
    name: "handoff_spin",
    help: "OSv's mutex: without spinning, with it, and with the other techniques of its issue",
    locks: &[
        LockInfo::exclusive::<Osv<osv_mutex::NoSpin>>("no-spin", Sleeps, "as it was").ours("OsvMutex<NoSpin>"),
        LockInfo::exclusive::<Osv<osv_mutex::Spin>>("spin", Sleeps, "the document: poll the hand-off, 1000 tries")
            .ours("OsvMutex<Spin>"),
        LockInfo::exclusive::<Osv<osv_mutex::SpinToOne>>("spin-to-one", Sleeps, "wait until the count is one")
            .ours("OsvMutex<SpinToOne>"),
        LockInfo::exclusive::<Osv<osv_mutex::SpinPolling>>("spin-polling", Sleeps, "poll by try_lock, uncounted")
            .ours("OsvMutex<SpinPolling>"),
        LockInfo::exclusive::<Osv<osv_mutex::SpinAfterPush>>("spin-after-push", Sleeps, "spin when queued")
            .ours("OsvMutex<SpinAfterPush>"),
        LockInfo::exclusive::<turnwise::Mutex<Protected>>("turnwise", Sleeps, "our lock, today").ours("Mutex"),
    ],
    default: &["all"],
    reference: &["no-spin"],
};

pub(super) static RWLOCK: Group = Group {
    name: "rwlock",
    help: "the rwlock of that time, at the top of mutex_spinners' profile, and a later one",
    locks: &[
        LockInfo::shared::<Behind<BiasedRwLock, Record>>("biased", Spins, "two writes for each attempt that fails")
            .ours("BiasedRwLock"),
        LockInfo::shared::<Behind<QueuedRwLock, Record>>("queued", Spins, "Linux 3.16: waiters queue")
            .ours("QueuedRwLock"),
    ],
    default: &["all"],
    reference: &["biased"],
};
