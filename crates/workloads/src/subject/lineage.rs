//! The documents' locks, before and after, and what one should take today.

use super::{Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::raw::Behind;
use crate::documents::{Exhibit, Measure};
use crate::load::exclusive::Protected;
use crate::load::shared::Record;
use turnwise::RwSem;
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};
use turnwise_lineage::{BiasedRwLock, QueuedRwLock};

/// The documents' locks.
pub static SUBJECT: Subject = Subject {
    name: "lineage",
    help: "the documents' locks, before and after, beside what was published",
    groups: &[&MUTEX_SPINNERS, &RWSEM_STEALING, &RWLOCK],
    default: &["mutex_spinners", "rwsem_stealing", "rwlock"],
    scenarios: SCENARIOS,
    figures: &[
        "per op",
        "CPU per op",
        "fairness",
        "per read",
        "per write",
        "longest read wait",
        "longest write wait",
        "p99 wait",
        "longest wait",
        "sleeps per op",
        "sleeps per s",
    ],
    exhibits: EXHIBITS,
};

type Mutex<V> = Behind<LinuxMutex<V>, Protected>;
type Spinlock<V> = Behind<RwsemSpinlock<V>, Record>;
type Xadd<V> = Behind<RwsemXadd<V>, Record>;

static MUTEX_SPINNERS: Group = Group {
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
        LockInfo::exclusive::<turnwise::Mutex<Protected>>("turnwise", Sleeps, "our mutex, today").ours("Mutex"),
    ],
    default: &["all"],
    reference: Some("baseline"),
};

static RWSEM_STEALING: Group = Group {
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
        LockInfo::shared::<RwSem<Record>>("turnwise", Sleeps, "our readers-writer lock, today").ours("RwSem"),
    ],
    default: &["all"],
    reference: Some("fifo"),
};

static RWLOCK: Group = Group {
    name: "rwlock",
    help: "the rwlock of that time, which mutex_spinners found at the top of its profile, and a later one",
    locks: &[
        LockInfo::shared::<Behind<BiasedRwLock, Record>>("biased", Spins, "two writes for each attempt that fails")
            .ours("BiasedRwLock"),
        LockInfo::shared::<Behind<QueuedRwLock, Record>>("queued", Spins, "Linux 3.16: waiters queue")
            .ours("QueuedRwLock"),
    ],
    default: &["all"],
    reference: Some("biased"),
};

const fn short(group: &'static Group, name: &'static str, threads: usize, help: &'static str) -> Scenario {
    Scenario::tight(group, name, threads, help).busy(50, 100)
}

static SCENARIOS: &[Scenario] = &[
    short(&MUTEX_SPINNERS, "mutex-2", 2, "2 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-4", 4, "4 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-8", 8, "8 threads, 50 ns inside, 100 ns outside"),
    short(&MUTEX_SPINNERS, "mutex-32", 32, "32 threads, 50 ns inside, 100 ns outside"),
    short(&RWSEM_STEALING, "rwsem-8", 8, "8 writers, 50 ns inside, 100 ns outside"),
    short(&RWSEM_STEALING, "rwsem-32", 32, "32 writers, 50 ns inside, 100 ns outside"),
    short(&RWLOCK, "rwlock-2", 2, "2 threads, half reads, 50 ns inside, 100 ns outside").cast(super::Cast::Mixed(50)),
    short(&RWLOCK, "rwlock-4", 4, "4 threads, half reads, 50 ns inside, 100 ns outside").cast(super::Cast::Mixed(50)),
];

const fn exhibit(
    scenario: &'static str,
    (before, after): (&'static str, &'static str),
    measure: Measure,
    published: Option<&'static str>,
) -> Exhibit {
    Exhibit { scenario, before, after, measure, published }
}

const SPINNERS: (&str, &str) = ("baseline", "patch1+2");
const STEALING: (&str, &str) = ("fifo", "stealing");
const XADD: (&str, &str) = ("xadd-fifo", "xadd-stealing");

static EXHIBITS: &[Exhibit] = &[
    exhibit("mutex-2", SPINNERS, Measure::Throughput, Some("mutex-patch2-1-node")),
    exhibit("mutex-4", SPINNERS, Measure::Throughput, Some("mutex-patch2-2-nodes")),
    exhibit("mutex-8", SPINNERS, Measure::Throughput, Some("mutex-patch2-4-nodes")),
    exhibit("mutex-32", SPINNERS, Measure::Throughput, Some("mutex-patch2-8-nodes")),
    exhibit("mutex-32", ("baseline", "patch1"), Measure::Throughput, Some("mutex-patch1-8-nodes")),
    exhibit("rwsem-8", STEALING, Measure::Throughput, Some("rwsem-throughput")),
    exhibit("rwsem-8", STEALING, Measure::Switches, Some("rwsem-switches")),
    exhibit("rwsem-32", STEALING, Measure::Throughput, Some("rwsem-throughput")),
    exhibit("rwsem-32", STEALING, Measure::Switches, Some("rwsem-switches")),
    exhibit("rwsem-8", XADD, Measure::Throughput, Some("rwsem-xadd")),
    exhibit("rwsem-32", XADD, Measure::Throughput, Some("rwsem-xadd")),
    exhibit("rwlock-4", ("biased", "queued"), Measure::Throughput, None),
];
