//! The mutex and its peers.

use super::{BASIC, Group, LockInfo, Scenario, Subject, Times, Waiting::*};
use crate::adapt::plugged;
use crate::adapt::pthread::{Adaptive, Normal, PthreadMutex};
use crate::blind::Blind;
use crate::load::exclusive::Protected;
use crate::situation::{Arrivals, Neighbour};

/// The mutex and its peers.
pub static SUBJECT: Subject = Subject {
    name: "mutex",
    help: "mutexes",
    groups: &[&MUTEX, &MANY, &BESIDE, &OPEN, &QUOTA, &ON_CPU],
    default: &["mutex"],
    scenarios: SCENARIOS,
    figures: &[
        BASIC,
        &["disturbed: CPU", "disturbed: ops", "throttled", "served", "p50 wait", "p99 wait", "p99.9 wait"],
        &["longest wait", "sleeps per op", "preempted per op"],
    ],
    comparisons: &[],
    plugged: Some(plugged::exclusive),
};

static MUTEX: Group = Group::of("mutex", "all scenarios that compare mutexes", LOCKS).by_default(&[
    "mutex",
    "std",
    "parking_lot",
    "pthread",
    "pthread-adaptive",
    "spin",
]);
static MANY: Group = few("many", "all scenarios with many locks, of which each thread takes any");
static BESIDE: Group = few("beside", "all scenarios beside a busy process");
static OPEN: Group = few("open", "all scenarios in which requests arrive at times of their own");
static QUOTA: Group = few("quota", "all scenarios under a CPU quota, as containers have it");
static ON_CPU: Group = Group::of("on-cpu", "all scenarios that show what the on_cpu layer brings", LOCKS)
    .by_default(&["mutex", "mutex-blind"])
    .against(&["mutex-blind"]);

/// Ours and the mutexes that programs have.
const fn few(name: &'static str, help: &'static str) -> Group {
    Group::of(name, help, LOCKS).by_default(&["mutex", "std", "parking_lot", "pthread"]).against(&["pthread"])
}

static LOCKS: &[LockInfo] = &[
    LockInfo::own("mutex"),
    LockInfo::exclusive::<turnwise::Mutex<Protected, Blind>>(
        "mutex-blind",
        Sleeps,
        "our adaptive mutex without the on_cpu layer",
    )
    .ours(),
    LockInfo::own("reentrant"),
    LockInfo::own("semaphore"),
    LockInfo::own("fair-semaphore"),
    LockInfo::exclusive::<std::sync::Mutex<Protected>>("std", Sleeps, "std::sync::Mutex"),
    LockInfo::exclusive::<parking_lot::Mutex<Protected>>("parking_lot", Sleeps, "parking_lot 0.13's Mutex"),
    #[cfg(feature = "parking_lot_0_12")]
    LockInfo::exclusive::<parking_lot_0_12::Mutex<Protected>>("parking_lot-0.12", Sleeps, "parking_lot 0.12's Mutex"),
    #[cfg(feature = "usync")]
    LockInfo::exclusive::<usync::Mutex<Protected>>("usync", Sleeps, "usync 0.2's Mutex"),
    LockInfo::exclusive::<PthreadMutex<Protected, Normal>>("pthread", Sleeps, "the C library's default mutex"),
    LockInfo::exclusive::<PthreadMutex<Protected, Adaptive>>(
        "pthread-adaptive",
        Sleeps,
        "the C library's mutex of type PTHREAD_MUTEX_ADAPTIVE_NP",
    ),
    LockInfo::exclusive::<spin::mutex::SpinMutex<Protected>>("spin", Spins, "spin 0.12's test-and-set lock"),
    LockInfo::own("ttas"),
    LockInfo::own("ttas-backoff"),
    LockInfo::own("ticket"),
    LockInfo::own("ticket-backoff"),
    LockInfo::own("queued"),
    LockInfo::own("mcs"),
];

const fn beside(name: &'static str, threads: usize, help: &'static str) -> Scenario {
    Scenario::tight(&BESIDE, name, threads, help).busy(50, 100).beside(Neighbour::Free)
}

const fn open(name: &'static str, arrivals: Arrivals, help: &'static str) -> Scenario {
    Scenario::tight(&OPEN, name, 8, help).busy(20_000, 0).arrivals(arrivals)
}

const fn quota(name: &'static str, percent: u32, help: &'static str) -> Scenario {
    Scenario::tight(&QUOTA, name, 4, help).busy(50, 100).quota(percent)
}

/// Sections as long as those that wait for a disk.
const fn many(name: &'static str, locks: usize, help: &'static str) -> Scenario {
    let times = Times::Sleep { inside_ns: 1_000_000 };
    Scenario { times, ..Scenario::tight(&MANY, name, 32, help).locks(locks) }
}

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
    many("many-16", 16, "32 threads, 16 locks, 1 ms asleep inside"),
    many("many-64", 64, "32 threads, 64 locks, 1 ms asleep inside"),
    beside("beside-pinned", 2, "2 threads on a CPU each, 1 us inside, 1 us outside; a busy process on the second's")
        .busy(1_000, 1_000)
        .beside(Neighbour::OnLastThread),
    beside("beside-pinned-short", 2, "2 threads on a CPU each, 50 ns inside, 100 ns outside; likewise")
        .beside(Neighbour::OnLastThread),
    beside("beside-free", 2, "2 threads, 50 ns inside, 100 ns outside, and a busy process, all free to move"),
    beside("beside-free-8", 8, "8 threads, 50 ns inside, 100 ns outside, and a busy process, likewise"),
    open(
        "open-10k",
        Arrivals::Poisson { per_s: 10_000 },
        "8 threads, 20 us inside, 10,000 arrivals a second at random",
    ),
    open(
        "open-25k",
        Arrivals::Poisson { per_s: 25_000 },
        "8 threads, 20 us inside, 25,000 arrivals a second at random",
    ),
    open(
        "open-40k",
        Arrivals::Poisson { per_s: 40_000 },
        "8 threads, 20 us inside, 40,000 arrivals a second at random",
    ),
    open(
        "burst-16",
        Arrivals::Bursts { each: 2, every_us: 2_000 },
        "8 threads, 20 us inside, 16 arrivals at once every 2 ms",
    ),
    open(
        "burst-64",
        Arrivals::Bursts { each: 8, every_us: 4_000 },
        "8 threads, 20 us inside, 64 arrivals at once every 4 ms",
    ),
    quota("quota-half", 50, "4 threads, 50 ns inside, 100 ns outside, half a CPU for all"),
    quota("quota-one", 100, "4 threads, 50 ns inside, 100 ns outside, one CPU for all"),
    quota("quota-one-and-half", 150, "4 threads, 50 ns inside, 100 ns outside, one and a half CPUs for all"),
    Scenario::tight(&ON_CPU, "on-cpu-2-short", 2, "2 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-4-short", 4, "4 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-8-short", 8, "8 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-32-short", 32, "32 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&ON_CPU, "on-cpu-2-long", 2, "2 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-4-long", 4, "4 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-8-long", 8, "8 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
    Scenario::tight(&ON_CPU, "on-cpu-32-long", 32, "32 threads, 2 us inside, 1 us outside").busy(2_000, 1_000),
];
