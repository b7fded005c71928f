//! Every lock that can be simulated: one line each, from which lists, flags and tests derive.

use super::run::{Plan, Run, counted, exclusive, shared};
use anyhow::{Context, Result};
use turnwise::backoff::{Exponential, Proportional};
use turnwise::{LockRef, McsLock, Mutex, QueuedSpinLock, RawReentrantMutex, RwSem, SpinLock, TicketLock};
use turnwise_bench::adapt::mutexes::OnePermit;
use turnwise_bench::adapt::raw::Behind;
use turnwise_bench::adapt::seqlocks::{Blocking, Optimistic};
use turnwise_bench::load::counted::Counter;
use turnwise_bench::load::exclusive::{Lock, Protected};
use turnwise_bench::load::shared::{Record, SharedLock};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::inode_lock::{self, InodeLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};
use turnwise_sim::Sim;

/// What threads can do with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// One thread at a time has it, whatever it does.
    Exclusive,
    /// Many read or one writes.
    Shared,
    /// The same, and readers write nothing: they read again if somebody wrote.
    Sequence,
    /// They take references, and drop them.
    Counted,
}

/// A lock that can be simulated.
pub struct SimLock {
    /// What `--lock` and the reports call it.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// What threads can do with it.
    pub sort: Sort,
    /// Its name in the [catalogue](turnwise_bench::catalogue).
    pub entry: &'static str,
    pub(super) run: fn(&Plan) -> Result<Run>,
}

impl SimLock {
    /// The lock of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<&'static SimLock> {
        let found = LOCKS.iter().find(|lock| lock.name == name);
        found.with_context(|| {
            let names: Vec<_> = LOCKS.iter().map(|lock| lock.name).collect();
            format!("no lock '{name}' can be simulated; there are {}", names.join(", "))
        })
    }
}

const fn one<L: Lock<Protected>>(name: &'static str, entry: &'static str, help: &'static str) -> SimLock {
    SimLock { name, help, sort: Sort::Exclusive, entry, run: exclusive::<L> }
}

const fn many<L: SharedLock>(name: &'static str, entry: &'static str, help: &'static str) -> SimLock {
    SimLock { name, help, sort: Sort::Shared, entry, run: shared::<L> }
}

const fn sequence<L: SharedLock>(name: &'static str, entry: &'static str, help: &'static str) -> SimLock {
    SimLock { sort: Sort::Sequence, ..many::<L>(name, entry, help) }
}

const fn count<C: Counter>(name: &'static str, entry: &'static str, help: &'static str) -> SimLock {
    SimLock { name, help, sort: Sort::Counted, entry, run: counted::<C> }
}

type One<R> = Behind<R, Protected>;
type Many<R> = Behind<R, Record>;
type Linux<V> = One<LinuxMutex<V, Sim>>;
type Rwsem<V> = Many<RwsemSpinlock<V, Sim>>;
type Xadd<V> = Many<RwsemXadd<V, Sim>>;
type Rename<V> = Many<RenameLock<V, Sim>>;
type Ia64<V> = One<Ia64SpinLock<V, Sim>>;
type Inode<V> = Many<InodeLock<V, Sim>>;
type Osv<V> = One<OsvMutex<V, Sim>>;

/// Every lock, ours first.
pub static LOCKS: &[SimLock] = &[
    one::<Mutex<Protected, Sim>>("mutex", "Mutex", "our adaptive mutex"),
    one::<One<RawReentrantMutex<Sim>>>("reentrant", "ReentrantMutex", "our re-entrant mutex"),
    one::<One<OnePermit<false, Sim>>>("semaphore", "Semaphore", "our semaphore with one permit"),
    one::<One<OnePermit<true, Sim>>>("fair-semaphore", "FairSemaphore", "the same, fair"),
    many::<RwSem<Record, Sim>>("rwsem", "RwSem", "our readers-writer lock"),
    sequence::<Optimistic<Sim>>("seqrwlock", "SeqRwLock", "our sequence lock, optimistic readers"),
    sequence::<Blocking<Sim>>("seqrwlock-blocking", "SeqRwLock", "the same, readers keep writers out"),
    count::<LockRef<Sim>>("lockref", "LockRef", "our count and lock in one word"),
    one::<SpinLock<Protected, turnwise::backoff::NoBackoff, Sim>>("ttas", "SpinLock", "our test-and-test-and-set lock"),
    one::<SpinLock<Protected, Exponential, Sim>>("ttas-backoff", "SpinLock", "the same with exponential back-off"),
    one::<TicketLock<Protected, turnwise::backoff::NoBackoff, Sim>>("ticket", "TicketLock", "our ticket lock"),
    one::<TicketLock<Protected, Proportional, Sim>>("ticket-backoff", "TicketLock", "the same, proportional back-off"),
    one::<QueuedSpinLock<Protected, Sim>>("queued", "QueuedSpinLock", "our queued spin lock, nodes in static memory"),
    one::<McsLock<Protected, Sim>>("mcs", "McsLock", "our MCS lock, nodes on the stack"),
    one::<Linux<linux_mutex::Baseline>>(
        "lineage-mutex-baseline",
        "LinuxMutex<Baseline>",
        "the mutex of Linux 3.7: every spinner tries",
    ),
    one::<Linux<linux_mutex::Patch1>>("lineage-mutex-patch1", "LinuxMutex<Patch1>", "patch 1: spinners look first"),
    one::<Linux<linux_mutex::Patch1And2>>(
        "lineage-mutex-mcs",
        "LinuxMutex<Patch1And2>",
        "patches 1 and 2: spinners queue",
    ),
    one::<Linux<linux_mutex::NoSpin>>("lineage-mutex-nospin", "LinuxMutex<NoSpin>", "both, compiled without spinning"),
    many::<Rwsem<rwsem_spinlock::Fifo>>(
        "lineage-rwsem-fifo",
        "RwsemSpinlock<Fifo>",
        "rwsem-spinlock, granted in order",
    ),
    many::<Rwsem<rwsem_spinlock::Stealing>>(
        "lineage-rwsem-stealing",
        "RwsemSpinlock<Stealing>",
        "rwsem-spinlock, writers steal",
    ),
    many::<Xadd<rwsem_xadd::Fifo>>("lineage-xadd-3.8", "RwsemXadd<Fifo>", "xadd rwsem, granted in order"),
    many::<Xadd<rwsem_xadd::Stealing>>("lineage-xadd-3.9", "RwsemXadd<Stealing>", "xadd rwsem, waiting writers steal"),
    many::<Xadd<rwsem_xadd::FastStealing>>(
        "lineage-xadd-3.10",
        "RwsemXadd<FastStealing>",
        "the same, also before they wait",
    ),
    one::<One<KernelTicketLock<Sim>>>("lineage-ticket", "KernelTicketLock", "the ticket lock of Linux 2.6.25 to 4.1"),
    many::<Many<BiasedRwLock<Sim>>>("lineage-rwlock", "BiasedRwLock", "the rwlock of that time"),
    many::<Many<QueuedRwLock<Sim>>>("lineage-qrwlock", "QueuedRwLock", "the rwlock of Linux 3.16: waiters queue"),
    count::<DCount<d_count::UnderLock, Sim>>("lineage-dcount-lock", "DCount<UnderLock>", "d_count under d_lock"),
    count::<DCount<d_count::CmpXchg, Sim>>("lineage-dcount-cmpxchg", "DCount<CmpXchg>", "d_count by compare-exchange"),
    count::<DCount<d_count::LockRef, Sim>>("lineage-dcount-lockref", "DCount<LockRef>", "the lockref of Linux 3.12"),
    many::<Rename<rename_lock::Exclusive>>(
        "lineage-rename-exclusive",
        "RenameLock<Exclusive>",
        "rename_lock of Linux 3.10: d_path shuts all out",
    ),
    many::<Rename<rename_lock::SeqRw>>(
        "lineage-rename-seqrw",
        "RenameLock<SeqRw>",
        "the document's: d_path is a blocking reader",
    ),
    one::<Ia64<ia64_spin::Plain>>("lineage-ia64", "Ia64SpinLock<Plain>", "the ia64 spin lock of Linux 2.4"),
    one::<Ia64<ia64_spin::ExponentialCode>>(
        "lineage-ia64-backoff",
        "Ia64SpinLock<ExponentialCode>",
        "with the back-off of the document's code",
    ),
    one::<Ia64<ia64_spin::ExponentialProse>>(
        "lineage-ia64-backoff-prose",
        "Ia64SpinLock<ExponentialProse>",
        "with the back-off of its prose",
    ),
    many::<Inode<inode_lock::Spin>>("lineage-inode-spin", "InodeLock<Spin>", "the inode lock: a spin lock"),
    many::<Inode<inode_lock::BackOff>>("lineage-inode-backoff", "InodeLock<BackOff>", "with exponential back-off"),
    many::<Inode<inode_lock::Rwsem>>("lineage-inode-rwsem", "InodeLock<Rwsem>", "an rwsem instead"),
    one::<Osv<osv_mutex::NoSpin>>("lineage-osv", "OsvMutex<NoSpin>", "OSv's mutex, as it was"),
    one::<Osv<osv_mutex::Spin>>("lineage-osv-spin", "OsvMutex<Spin>", "the document's: poll the hand-off, 1000 tries"),
    one::<Osv<osv_mutex::SpinToOne>>("lineage-osv-spin-to-one", "OsvMutex<SpinToOne>", "wait until the count is one"),
    one::<Osv<osv_mutex::SpinPolling>>(
        "lineage-osv-spin-polling",
        "OsvMutex<SpinPolling>",
        "poll by try_lock, uncounted",
    ),
    one::<Osv<osv_mutex::SpinAfterPush>>("lineage-osv-spin-after-push", "OsvMutex<SpinAfterPush>", "spin when queued"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use turnwise_bench::catalogue::CATALOGUE;

    #[test]
    fn every_lock_of_the_catalogue_can_be_simulated() {
        for entry in CATALOGUE {
            assert!(LOCKS.iter().any(|lock| lock.entry == entry.name), "{} is missing", entry.name);
        }
        for lock in LOCKS {
            let known = CATALOGUE.iter().any(|entry| entry.name == lock.entry);
            assert!(known, "{}: {} is not in the catalogue", lock.name, lock.entry);
        }
    }

    #[test]
    fn names_are_unique_and_a_wrong_one_is_answered_with_all() {
        assert_eq!(LOCKS.iter().map(|lock| lock.name).collect::<HashSet<_>>().len(), LOCKS.len());
        for lock in LOCKS {
            assert_eq!(SimLock::find(lock.name).expect("it is there").entry, lock.entry);
        }
        let error = SimLock::find("mutx").err().expect("there is none").to_string();
        assert!(error.contains("'mutx'") && error.contains("lineage-osv-spin-after-push"), "{error}");
    }
}
