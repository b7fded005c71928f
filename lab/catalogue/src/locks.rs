//! The list.

use crate::{Entry, Home, Nature, Visit};
use std::marker::PhantomData;
use turnwise::backoff::{ByDistance, Exponential, NoBackoff, Proportional};
use turnwise::platform::Native;
use turnwise::reentrant::Threads;
use turnwise::{
    FairSemaphore, LockRef, RawBigReaderLock, RawMcsLock, RawMutex, RawQueuedSpinLock, RawReentrantMutex, RawRwSem,
    RawSeqRwLock, RawSpinLock, RawTicketLock, Semaphore,
};
use turnwise_lineage::d_count::{self, DCount};
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};
use turnwise_lineage::linux_mutex::{self, LinuxMutex};
use turnwise_lineage::osv_mutex::{self, OsvMutex};
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, KernelTicketLock, QueuedRwLock};

/// Writes [`LOCKS`] and [`visit`] from lines `NAME: METHOD(TYPE) = RECORD;`. METHOD is the one of [`Visit`] that is
/// called with the type, in which `P` is the platform.
macro_rules! locks {
    ($($name:literal: $method:ident($lock:ty) = $record:expr;)*) => {
        /// Every lock, the library's first.
        pub const LOCKS: &[Entry] = &[$({
            const fn bytes<P: Threads>() -> usize {
                size_of::<$lock>()
            }
            Entry { name: $name, bytes: bytes::<Native>(), ..$record }
        }),*];

        /// Calls the visitor with the type of the lock of this name.
        ///
        /// # Panics
        /// When [`LOCKS`] has no such lock.
        pub fn visit<P: Threads, V: Visit<P>>(name: &str, visitor: V) -> V::Out {
            match name {
                $($name => visitor.$method(PhantomData::<$lock>),)*
                _ => panic!("no lock of the catalogue is called {name}"),
            }
        }
    };
}

locks! {
    "mutex": mutex(RawMutex<P>) =
        turnwise("Mutex", "our adaptive mutex", "mutex_spinners", Nature::SLEEPER).order(HANDOFF).waiters(ADAPTIVE);
    "reentrant": reentrant(RawReentrantMutex<P>) =
        turnwise("ReentrantMutex", "our re-entrant mutex", "our Mutex", Nature::REENTRANT)
            .order(HANDOFF).waiters(ADAPTIVE).again("counted");
    "semaphore": semaphore(Semaphore<false, P>) =
        turnwise("Semaphore", "our semaphore with one permit", "Dijkstra 1965", Nature::SEMAPHORE)
            .order(HANDOFF).waiters("sleep").again("one more");
    "fair-semaphore": semaphore(FairSemaphore<P>) =
        turnwise("FairSemaphore", "our fair semaphore with one permit", "Dijkstra 1965", Nature::FAIR_SEMAPHORE)
            .order(FIFO).waiters("sleep").again("one more");
    "rwsem": rwsem(RawRwSem<P>) =
        turnwise("RwSem", "our readers-writer lock", "rwsem_stealing", Nature::SLEEPER)
            .order(HANDOFF).waiters(ADAPTIVE);
    "big-reader": big_reader(RawBigReaderLock<64, P>) =
        turnwise("BigReaderLock", "our readers-writer lock with readers counted per CPU", "Linux brlock 1999",
            Nature::SLEEPER_OF_THREADS).order(HANDOFF).waiters(ADAPTIVE);
    "seqrwlock": sequence(RawSeqRwLock<P>) =
        turnwise("SeqRwLock", "our sequence lock: readers copy", "dcache", Nature::WRITERS)
            .order(HANDOFF).waiters(ADAPTIVE);
    "lockref": lockref(LockRef<P>) =
        turnwise("LockRef", "our count and lock in one word", "dcache, Linux 3.12", Nature::WRITERS).waiters(ADAPTIVE);
    "ttas": timed(RawSpinLock<NoBackoff, P>) =
        turnwise("SpinLock", "our test-and-test-and-set lock", "spin_backoff", Nature::SPINNER);
    "ttas-backoff": timed(RawSpinLock<Exponential, P>) =
        turnwise("SpinLock", "our test-and-test-and-set lock, exponential back-off", "spin_backoff", Nature::SPINNER);
    "ttas-distance": timed(RawSpinLock<ByDistance, P>) =
        turnwise("SpinLock", "our test-and-test-and-set lock, longer back-off on other nodes",
            "Radovic 2003", Nature::SPINNER);
    "ticket": timed(RawTicketLock<NoBackoff, P>) =
        turnwise("TicketLock", "our ticket lock", "Reed, Kanodia 1979", Nature::LINE).order(FIFO);
    "ticket-backoff": timed(RawTicketLock<Proportional, P>) =
        turnwise("TicketLock", "our ticket lock, proportional back-off", "MCS 1991", Nature::LINE)
            .order(FIFO);
    "queued": timed(RawQueuedSpinLock<P>) =
        turnwise("QueuedSpinLock", "our queued spin lock, nodes in static memory", "Linux 4.2, MCS 1991",
            Nature::QUEUED).order(("FIFO queue", NEVER));
    "mcs": mcs(RawMcsLock<P>) =
        Entry { timed: false, ..turnwise("McsLock", "our MCS lock, nodes on the stack", "MCS 1991", Nature::MCS) }
            .order(FIFO);

    "linux-mutex-baseline": exclusive(LinuxMutex<linux_mutex::Baseline, P>) =
        linux_mutex("LinuxMutex<Baseline>", "the mutex of Linux 3.7: every spinner tries", ADAPTIVE);
    "linux-mutex-patch1": exclusive(LinuxMutex<linux_mutex::Patch1, P>) =
        linux_mutex("LinuxMutex<Patch1>", "with patch 1: spinners poll before they try", ADAPTIVE);
    "linux-mutex-patch1-and-2": exclusive(LinuxMutex<linux_mutex::Patch1And2, P>) =
        linux_mutex("LinuxMutex<Patch1And2>", "with patches 1 and 2: spinners queue", "queue, sleep");
    "linux-mutex-no-spin": exclusive(LinuxMutex<linux_mutex::NoSpin, P>) =
        linux_mutex("LinuxMutex<NoSpin>", "with both patches, compiled without spinning", "sleep");
    "rwsem-spinlock-fifo": rwsem_spinlock(RwsemSpinlock<rwsem_spinlock::Fifo, P>) =
        rwsem("RwsemSpinlock<Fifo>", "rwsem-spinlock, granted in order", FIFO);
    "rwsem-spinlock-stealing": rwsem_spinlock(RwsemSpinlock<rwsem_spinlock::Stealing, P>) =
        rwsem("RwsemSpinlock<Stealing>", "rwsem-spinlock, writers steal", STEAL);
    "rwsem-xadd-fifo": rwsem_xadd(RwsemXadd<rwsem_xadd::Fifo, P>) =
        rwsem("RwsemXadd<Fifo>", "xadd rwsem, granted in order (Linux 3.8)", FIFO);
    "rwsem-xadd-stealing": rwsem_xadd(RwsemXadd<rwsem_xadd::Stealing, P>) =
        rwsem("RwsemXadd<Stealing>", "xadd rwsem, waiting writers steal (Linux 3.9)", STEAL);
    "rwsem-xadd-fast-stealing": rwsem_xadd(RwsemXadd<rwsem_xadd::FastStealing, P>) =
        rwsem("RwsemXadd<FastStealing>", "xadd rwsem, writers steal before they wait, too (Linux 3.10)", STEAL);
    "d-count-under-lock": d_count(DCount<d_count::UnderLock, P>) =
        d_count("TwoWords<false>", "Linux 3.10: d_count under d_lock");
    "d-count-cmpxchg": d_count(DCount<d_count::CmpXchg, P>) =
        d_count("TwoWords<true>", "version 3: d_count by compare-exchange above 1");
    "d-count-lockref": d_count(DCount<d_count::LockRef, P>) =
        d_count("OneWord", "Linux 3.12: d_count and d_lock in one word");
    "rename-lock-exclusive": rename_lock(RenameLock<rename_lock::Exclusive, P>) =
        lineage("RenameLock<Exclusive>", "Linux 3.10: d_path shuts all others out", "dcache", Nature::KERNEL_RWLOCK)
            .order(FIFO);
    "rename-lock-seqrw": rename_lock(RenameLock<rename_lock::SeqRw, P>) =
        lineage("RenameLock<SeqRw>", "version 3: d_path is a blocking reader", "dcache", Nature::KERNEL_RWLOCK);
    "ia64-spin-plain": exclusive(Ia64SpinLock<ia64_spin::Plain, P>) =
        ia64("Ia64SpinLock<Plain>", "the ia64 spin lock of Linux 2.4");
    "ia64-spin-code": exclusive(Ia64SpinLock<ia64_spin::ExponentialCode, P>) =
        ia64("Ia64SpinLock<ExponentialCode>", "the ia64 spin lock with the back-off of the paper's code");
    "ia64-spin-kept": exclusive(Ia64SpinLock<ia64_spin::ExponentialKept, P>) =
        ia64("Ia64SpinLock<ExponentialKept>", "with the back-off of the code, kept after a failed exchange");
    "ia64-spin-prose": exclusive(Ia64SpinLock<ia64_spin::ExponentialProse, P>) =
        ia64("Ia64SpinLock<ExponentialProse>", "with the back-off of the paper's prose");
    "inode-lock-spin": shared(Ia64SpinLock<ia64_spin::Plain, P>) =
        ia64("Ia64SpinLock<Plain>", "the inode lock: a spin lock");
    "inode-lock-backoff": shared(Ia64SpinLock<ia64_spin::ExponentialCode, P>) =
        ia64("Ia64SpinLock<ExponentialCode>", "the inode lock: a spin lock with exponential back-off");
    "inode-lock-rwsem": shared(RwsemXadd<rwsem_xadd::Fifo, P>) =
        lineage("RwsemXadd<Fifo>", "the inode lock: an rwsem", "spin_backoff",
            Nature::RWSEM).order(FIFO).waiters("sleep");
    "osv-mutex-no-spin": exclusive(OsvMutex<osv_mutex::NoSpin, P>) =
        osv("OsvMutex<NoSpin>", "OSv's mutex, as it was", NEVER, Nature::OSV_MUTEX).waiters("sleep");
    "osv-mutex-spin": exclusive(OsvMutex<osv_mutex::Spin, P>) =
        osv("OsvMutex<Spin>", "OSv's mutex: poll the hand-off (the paper)", UNTIL_QUEUED, Nature::LINUX_MUTEX);
    "osv-mutex-spin-to-one": exclusive(OsvMutex<osv_mutex::SpinToOne, P>) =
        osv("OsvMutex<SpinToOne>", "OSv's mutex: wait until the count is one", UNTIL_QUEUED, Nature::LINUX_MUTEX);
    "osv-mutex-spin-polling": exclusive(OsvMutex<osv_mutex::SpinPolling, P>) =
        osv("OsvMutex<SpinPolling>", "OSv's mutex: poll by try_lock, uncounted", NO_BOUND, Nature::LINUX_MUTEX);
    "osv-mutex-spin-after-push": exclusive(OsvMutex<osv_mutex::SpinAfterPush, P>) =
        osv("OsvMutex<SpinAfterPush>", "OSv's mutex: spin when queued", NEVER, Nature::LINUX_MUTEX);
    "biased-rwlock": shared(BiasedRwLock<P>) =
        lineage("BiasedRwLock", "the rwlock of Linux 3.7: two writes for each attempt that fails", "mutex_spinners",
            Nature::LINEAGE);
    "queued-rwlock": shared(QueuedRwLock<P>) =
        lineage("QueuedRwLock", "the rwlock of Linux 3.16: waiters queue", "Linux 3.16", Nature::KERNEL_RWLOCK)
            .order(FIFO);
    "kernel-ticket": exclusive(KernelTicketLock<P>) =
        lineage("KernelTicketLock", "the ticket lock of Linux 2.6.25 to 4.1", "Linux 2.6.25", Nature::KERNEL_LINE)
            .order(FIFO);
}

const NO_BOUND: &str = "no bound";
const NEVER: &str = "never";
const UNTIL_QUEUED: &str = "until queued";
const ADAPTIVE: &str = "spin, sleep";

/// The order of service, and for how long a waiter may be overtaken.
type Order = (&'static str, &'static str);
const ANY: Order = ("any", NO_BOUND);
const HANDOFF: Order = ("any, hand-off", "4 ms");
const FIFO: Order = ("FIFO", NEVER);
const STEAL: Order = ("writers: any", NO_BOUND);

impl Entry {
    const fn order(self, (order, overtaken): Order) -> Entry {
        Entry { order, overtaken, ..self }
    }

    const fn waiters(self, waiters: &'static str) -> Entry {
        Entry { waiters, ..self }
    }

    const fn again(self, again: &'static str) -> Entry {
        Entry { again, ..self }
    }
}

/// Returns a spin lock of the papers. Name and size come from the list.
const fn lineage(type_name: &'static str, summary: &'static str, source: &'static str, nature: Nature) -> Entry {
    Entry {
        name: "",
        type_name,
        summary,
        home: Home::Lineage,
        bytes: 0,
        source,
        order: ANY.0,
        overtaken: ANY.1,
        waiters: "spin",
        timed: false,
        again: "deadlock",
        nature,
    }
}

/// Returns a spin lock of the library.
const fn turnwise(type_name: &'static str, summary: &'static str, source: &'static str, nature: Nature) -> Entry {
    Entry { home: Home::Turnwise, timed: true, ..lineage(type_name, summary, source, nature) }
}

const fn linux_mutex(type_name: &'static str, summary: &'static str, waiters: &'static str) -> Entry {
    lineage(type_name, summary, "mutex_spinners", Nature::LINUX_MUTEX).waiters(waiters)
}

const fn rwsem(type_name: &'static str, summary: &'static str, order: Order) -> Entry {
    lineage(type_name, summary, "rwsem_stealing", Nature::RWSEM).order(order).waiters("sleep")
}

const fn d_count(type_name: &'static str, summary: &'static str) -> Entry {
    lineage(type_name, summary, "dcache", Nature::KERNEL_LINE)
}

const fn ia64(type_name: &'static str, summary: &'static str) -> Entry {
    lineage(type_name, summary, "spin_backoff", Nature::SPINNER)
}

/// Handed to the first in the queue; spinners may take an offered lock.
const fn osv(type_name: &'static str, summary: &'static str, overtaken: &'static str, nature: Nature) -> Entry {
    let entry = lineage(type_name, summary, "handoff_spin", nature).order(("FIFO, offer", overtaken));
    entry.waiters(ADAPTIVE).again("counted")
}
