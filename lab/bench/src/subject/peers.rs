//! The locks of each subject that are not just ours of the catalogue: the peers, and ours in other shapes.

use super::{LockInfo, Waiting::*};
use crate::adapt::counters::{Additions, Clones, Exchanges};
use crate::adapt::monitors::{Pair, PthreadMonitor};
use crate::adapt::pthread::{Adaptive, Normal, PthreadMutex, PthreadRwLock};
use crate::adapt::rwlocks::Alone;
use crate::adapt::seqlocks::{Blocking, With};
use crate::adapt::trees::{Holding, LockedTree, OurPaths, Ours, Table, Tmpfs, TmpfsPaths};
use crate::blind::Blind;
use crate::load::counted::Locked;
use crate::load::exclusive::Protected;
use crate::load::monitor::{Broadcast, Inside, Pattern, PingPong, Queue};
use crate::load::names::{self, Disjoint, Question, Shared, Siblings, Whose};
use crate::load::shared::Record;
use turnwise_vfs::locks::{Linux37, Linux310, Linux310Dcache, Linux312, Today};

/// Returns those of a group, in order.
pub(super) fn of(subject: &str, group: &str) -> Vec<LockInfo> {
    match (subject, group) {
        ("mutex", _) => mutexes(),
        ("rwlock", _) => rwlocks(),
        ("seqlock", _) => seqlocks(),
        ("refcount", _) => counts(),
        ("spin", _) => spin_locks(),
        ("lineage", "d_count") => vec![LockInfo::count_under("ttas").ours()],
        ("lineage", "rename_lock") => vec![
            LockInfo::shared::<Blocking>("seqrwlock-blocking", Sleeps, "our sequence lock, readers keep writers out")
                .ours(),
        ],
        ("condvar", "ping-pong") => monitors::<PingPong>(),
        ("condvar", "queue") => monitors::<Queue>(),
        ("condvar", "broadcast") => monitors::<Broadcast>(),
        ("vfs", "look-up-shared") => trees::<Shared>(),
        ("vfs", "look-up-siblings") => trees::<Siblings>(),
        ("vfs", "look-up-disjoint") => trees::<Disjoint>(),
        ("vfs", "held-shared") => held(),
        ("vfs", "path-shared") => paths::<Shared>(),
        ("vfs", "path-disjoint") => paths::<Disjoint>(),
        _ => Vec::new(),
    }
}

fn mutexes() -> Vec<LockInfo> {
    [
        LockInfo::exclusive::<turnwise::Mutex<Protected, Blind>>(
            "mutex-blind",
            Sleeps,
            "our adaptive mutex without the on_cpu layer",
        )
        .ours(),
        LockInfo::exclusive::<std::sync::Mutex<Protected>>("std", Sleeps, "std::sync::Mutex"),
        LockInfo::exclusive::<parking_lot::Mutex<Protected>>("parking_lot", Sleeps, "parking_lot 0.13's Mutex"),
        #[cfg(feature = "parking_lot_0_12")]
        LockInfo::exclusive::<parking_lot_0_12::Mutex<Protected>>(
            "parking_lot-0.12",
            Sleeps,
            "parking_lot 0.12's Mutex",
        ),
        #[cfg(feature = "usync")]
        LockInfo::exclusive::<usync::Mutex<Protected>>("usync", Sleeps, "usync 0.2's Mutex"),
        LockInfo::exclusive::<PthreadMutex<Protected, Normal>>("pthread", Sleeps, "the C library's default mutex"),
        LockInfo::exclusive::<PthreadMutex<Protected, Adaptive>>(
            "pthread-adaptive",
            Sleeps,
            "the C library's mutex of type PTHREAD_MUTEX_ADAPTIVE_NP",
        ),
        spin_mutex(),
    ]
    .into()
}

fn spin_mutex() -> LockInfo {
    LockInfo::exclusive::<spin::mutex::SpinMutex<Protected>>("spin", Spins, "spin 0.12's test-and-set lock")
}

fn spin_locks() -> Vec<LockInfo> {
    let ticket = "spin 0.12's ticket lock";
    vec![spin_mutex(), LockInfo::exclusive::<spin::mutex::TicketMutex<Protected>>("spin-ticket", Spins, ticket)]
}

fn rwlocks() -> Vec<LockInfo> {
    [
        LockInfo::shared::<std::sync::RwLock<Record>>("std", Sleeps, "std::sync::RwLock"),
        LockInfo::shared::<parking_lot::RwLock<Record>>("parking_lot", Sleeps, "parking_lot 0.13's RwLock"),
        #[cfg(feature = "parking_lot_0_12")]
        LockInfo::shared::<parking_lot_0_12::RwLock<Record>>("parking_lot-0.12", Sleeps, "parking_lot 0.12's RwLock"),
        #[cfg(feature = "usync")]
        LockInfo::shared::<usync::RwLock<Record>>("usync", Sleeps, "usync 0.2's RwLock"),
        LockInfo::shared::<PthreadRwLock<false>>("pthread", Sleeps, "the C library's default, which prefers readers"),
        LockInfo::shared::<PthreadRwLock<true>>(
            "pthread-writers",
            Sleeps,
            "the same of kind PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP",
        ),
        LockInfo::shared::<spin::RwLock<Record>>("spin", Spins, "spin 0.12's RwLock"),
        LockInfo::shared::<Alone<turnwise::Mutex<Record>>>("mutex", Sleeps, "our mutex: readers one at a time").ours(),
        LockInfo::shared::<Alone<std::sync::Mutex<Record>>>("std-mutex", Sleeps, "std::sync::Mutex, likewise"),
    ]
    .into()
}

fn seqlocks() -> Vec<LockInfo> {
    vec![
        LockInfo::shared::<With>("seqrwlock-with", Sleeps, "the same, with read_with").ours(),
        LockInfo::shared::<Blocking>("seqrwlock-blocking", Sleeps, "the same, with readers that keep writers out")
            .ours(),
        LockInfo::shared::<seqlock::SeqLock<Record>>("seqlock", Sleeps, "the seqlock crate 0.2"),
        LockInfo::shared::<std::sync::RwLock<Record>>("std", Sleeps, "std::sync::RwLock"),
        LockInfo::shared::<parking_lot::RwLock<Record>>("parking_lot", Sleeps, "parking_lot 0.13's RwLock"),
    ]
}

fn counts() -> Vec<LockInfo> {
    let mut all = vec![
        LockInfo::counter::<Exchanges>("cmpxchg", Never, "a bare word, a compare-exchange each way"),
        LockInfo::counter::<Additions>("atomic-add", Never, "a bare word, an addition each way"),
        LockInfo::counter::<Clones>("arc", Never, "std::sync::Arc, cloned and dropped"),
        LockInfo::counter::<Locked<std::sync::Mutex<u64>>>("std-mutex", Sleeps, "std::sync::Mutex"),
        LockInfo::counter::<Locked<spin::mutex::SpinMutex<u64>>>("spin", Spins, "spin 0.12's test-and-set lock"),
    ];
    all.extend(["d-count-under-lock", "d-count-cmpxchg", "d-count-lockref"].map(LockInfo::listed));
    let under = ["mutex", "ttas", "ttas-backoff", "ticket", "ticket-backoff", "queued", "mcs"];
    all.extend(under.map(LockInfo::count_under));
    all
}

fn monitors<T: Pattern>() -> Vec<LockInfo> {
    type Turnwise<T> = Pair<turnwise::Mutex<T>, turnwise::Condvar>;
    type Std<T> = Pair<std::sync::Mutex<T>, std::sync::Condvar>;
    type ParkingLot<T> = Pair<parking_lot::Mutex<T>, parking_lot::Condvar>;
    vec![
        LockInfo::monitor::<Turnwise<Inside<T::State>>, T>("mutex", "our adaptive mutex and condition variable").ours(),
        LockInfo::monitor::<Std<Inside<T::State>>, T>("std", "std::sync::Mutex and Condvar"),
        LockInfo::monitor::<ParkingLot<Inside<T::State>>, T>("parking_lot", "parking_lot 0.13's Mutex and Condvar"),
        LockInfo::monitor::<PthreadMonitor<Inside<T::State>>, T>("pthread", "the C library's, by default"),
    ]
}

impl LockInfo {
    /// Returns a file system that is queried for what is at a path, or for the path of something.
    fn tree<Q: Question, W: Whose>(name: &'static str, help: &'static str) -> LockInfo {
        LockInfo::by(names::sample::<Q, W>, name, Sleeps, help)
    }

    /// Returns our file system on each set of locks.
    fn ours_on<Q0: Question, Q1: Question, Q2: Question, Q3: Question, Q4: Question, W: Whose>() -> Vec<LockInfo> {
        vec![
            LockInfo::tree::<Q0, W>("turnwise", "our file system, today's locks").ours(),
            LockInfo::tree::<Q1, W>("linux-3.7", "the same, locks of Linux 3.7"),
            LockInfo::tree::<Q2, W>("linux-3.10", "the same, locks of Linux 3.10: before `dcache`"),
            LockInfo::tree::<Q3, W>("linux-3.10-dcache", "the same, with the document's locks"),
            LockInfo::tree::<Q4, W>("linux-3.12", "the same, locks of Linux 3.12"),
        ]
    }
}

/// Names our file system on each set of locks in one of its three adapters.
macro_rules! on_each_set {
    ($adapter:ident, $whose:ty) => {
        LockInfo::ours_on::<
            $adapter<Today>,
            $adapter<Linux37>,
            $adapter<Linux310>,
            $adapter<Linux310Dcache>,
            $adapter<Linux312>,
            $whose,
        >()
    };
}

fn trees<W: Whose>() -> Vec<LockInfo> {
    let mut all = on_each_set!(Ours, W);
    all.extend([
        LockInfo::tree::<Tmpfs, W>("tmpfs", "stat(2) on the kernel's tmpfs"),
        LockInfo::tree::<Table, W>("dashmap", "DashMap<PathBuf, _>: no directory can be renamed"),
        LockInfo::tree::<LockedTree, W>("rwlock-btree", "std's RwLock around a BTreeMap<PathBuf, _>"),
    ]);
    all
}

fn held() -> Vec<LockInfo> {
    on_each_set!(Holding, Shared)
}

fn paths<W: Whose>() -> Vec<LockInfo> {
    let mut all = on_each_set!(OurPaths, W);
    all.push(LockInfo::tree::<TmpfsPaths, W>("tmpfs", "readlink(2) in /proc/self/fd, on the kernel's tmpfs"));
    all
}
