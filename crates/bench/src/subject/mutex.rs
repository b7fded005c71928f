//! The mutex and its peers.

use super::{Group, LockInfo, Scenario, Subject, Times, Waiting::*};
use crate::adapt::mutexes::OnePermit;
use crate::adapt::pthread::{Adaptive, Normal, PthreadMutex};
use crate::adapt::raw::Behind;
use crate::blind::Blind;
use crate::load::exclusive::Protected;
use turnwise::backoff::{Exponential, Proportional};
use turnwise::{McsLock, QueuedSpinLock, RawReentrantMutex, SpinLock, TicketLock};

/// The mutex and its peers.
pub static SUBJECT: Subject = Subject {
    name: "mutex",
    help: "mutexes",
    groups: &[&MUTEX, &ON_CPU],
    default: &["mutex"],
    scenarios: SCENARIOS,
    figures: &[
        "per op",
        "CPU per op",
        "fairness",
        "p50 wait",
        "p99 wait",
        "p99.9 wait",
        "longest wait",
        "sleeps per op",
        "preempted per op",
    ],
    exhibits: &[],
};

static MUTEX: Group = Group {
    name: "mutex",
    help: "all scenarios that compare mutexes",
    locks: LOCKS,
    default: &["turnwise", "std", "parking_lot", "pthread", "pthread-adaptive", "spin"],
    reference: &[],
};

static ON_CPU: Group = Group {
    name: "on-cpu",
    help: "all scenarios that show what the on_cpu layer brings",
    locks: LOCKS,
    default: &["turnwise", "turnwise-blind"],
    reference: &["turnwise-blind"],
};

static LOCKS: &[LockInfo] = &[
    LockInfo::exclusive::<turnwise::Mutex<Protected>>("turnwise", Sleeps, "our adaptive mutex").ours("Mutex"),
    LockInfo::exclusive::<turnwise::Mutex<Protected, Blind>>(
        "turnwise-blind",
        Sleeps,
        "our adaptive mutex without the on_cpu layer",
    )
    .ours("Mutex"),
    LockInfo::exclusive::<Behind<RawReentrantMutex, Protected>>("turnwise-reentrant", Sleeps, "our re-entrant mutex")
        .ours("ReentrantMutex"),
    LockInfo::exclusive::<Behind<OnePermit<false>, Protected>>(
        "turnwise-semaphore",
        Sleeps,
        "our semaphore with one permit",
    )
    .ours("Semaphore"),
    LockInfo::exclusive::<Behind<OnePermit<true>, Protected>>("turnwise-fair-semaphore", Sleeps, "the same, fair")
        .ours("FairSemaphore"),
    LockInfo::exclusive::<std::sync::Mutex<Protected>>("std", Sleeps, "std::sync::Mutex"),
    LockInfo::exclusive::<parking_lot::Mutex<Protected>>("parking_lot", Sleeps, "parking_lot 0.13's Mutex"),
    LockInfo::exclusive::<PthreadMutex<Protected, Normal>>("pthread", Sleeps, "the C library's default mutex"),
    LockInfo::exclusive::<PthreadMutex<Protected, Adaptive>>(
        "pthread-adaptive",
        Sleeps,
        "the C library's mutex of type PTHREAD_MUTEX_ADAPTIVE_NP",
    ),
    LockInfo::exclusive::<spin::mutex::SpinMutex<Protected>>("spin", Spins, "spin 0.12's test-and-set lock"),
    LockInfo::exclusive::<SpinLock<Protected>>("ttas", Spins, "our test-and-test-and-set lock").ours("SpinLock"),
    LockInfo::exclusive::<SpinLock<Protected, Exponential>>(
        "ttas-backoff",
        Spins,
        "the same with exponential back-off",
    )
    .ours("SpinLock"),
    LockInfo::exclusive::<TicketLock<Protected>>("ticket", Spins, "our ticket lock").ours("TicketLock"),
    LockInfo::exclusive::<TicketLock<Protected, Proportional>>(
        "ticket-backoff",
        Spins,
        "the same with proportional back-off",
    )
    .ours("TicketLock"),
    LockInfo::exclusive::<QueuedSpinLock<Protected>>("queued", Spins, "our queued spin lock, nodes in static memory")
        .ours("QueuedSpinLock"),
    LockInfo::exclusive::<McsLock<Protected>>("mcs", Spins, "our MCS lock, nodes on the stack").ours("McsLock"),
];

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&MUTEX, "uncontended", 1, "1 thread, increment only"),
    Scenario::tight(&MUTEX, "tight-2", 2, "2 threads, increment only"),
    Scenario::tight(&MUTEX, "2x50/100", 2, "2 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&MUTEX, "2x50/500", 2, "2 threads, 50 ns inside, 500 ns outside").busy(50, 500),
    Scenario::tight(&MUTEX, "4x50/100", 4, "4 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&MUTEX, "8x50/100", 8, "8 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&MUTEX, "32x50/100", 32, "32 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&MUTEX, "64x50/100", 64, "64 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&MUTEX, "misc-mutex-4", 4, "4 threads, increment only (OSv's misc-mutex)"),
    Scenario::tight(&MUTEX, "misc-mutex-20", 20, "20 threads, increment only (OSv's misc-mutex)"),
    Scenario::tight(&MUTEX, "long", 8, "8 threads, 50 us inside").busy(50_000, 0),
    Scenario {
        times: Times::Sleep { inside_ns: 100_000 },
        ..Scenario::tight(&MUTEX, "sleep", 8, "8 threads, 100 us asleep inside")
    },
    Scenario::tight(&ON_CPU, "on-cpu-2-short", 2, "2 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-4-short", 4, "4 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-8-short", 8, "8 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-32-short", 32, "32 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-2-long", 2, "2 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-4-long", 4, "4 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-8-long", 8, "8 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-32-long", 32, "32 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
];
