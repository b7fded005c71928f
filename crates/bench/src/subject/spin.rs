//! Spin locks: with few threads, and with more than there are CPUs.

use super::{Group, LockInfo, Scenario, Subject, Waiting::*};
use crate::adapt::raw::Behind;
use crate::load::exclusive::Protected;
use turnwise::backoff::{Exponential, Proportional};
use turnwise::{McsLock, QueuedSpinLock, SpinLock, TicketLock};
use turnwise_lineage::KernelTicketLock;
use turnwise_lineage::ia64_spin::{self, Ia64SpinLock};

/// Spin locks.
pub static SUBJECT: Subject = Subject {
    name: "spin",
    help: "spin locks",
    groups: &[&SPIN],
    default: &["spin"],
    scenarios: SCENARIOS,
    figures: &["per op", "CPU per op", "fairness", "p50 wait", "p99 wait", "longest wait", "preempted per op"],
    exhibits: &[],
};

static SPIN: Group =
    Group { name: "spin", help: "all scenarios", locks: LOCKS, default: &["all"], reference: &["spin"] };

type Ia64<V> = Behind<Ia64SpinLock<V>, Protected>;

static LOCKS: &[LockInfo] = &[
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
    LockInfo::exclusive::<spin::mutex::SpinMutex<Protected>>("spin", Spins, "spin 0.12's test-and-set lock"),
    LockInfo::exclusive::<spin::mutex::TicketMutex<Protected>>("spin-ticket", Spins, "spin 0.12's ticket lock"),
    LockInfo::exclusive::<Behind<KernelTicketLock, Protected>>(
        "linux-ticket",
        Spins,
        "the ticket lock of Linux 2.6.25 to 4.1",
    )
    .ours("KernelTicketLock"),
    LockInfo::exclusive::<Ia64<ia64_spin::Plain>>("ia64", Spins, "the ia64 spin lock of Linux 2.4")
        .ours("Ia64SpinLock<Plain>"),
    LockInfo::exclusive::<Ia64<ia64_spin::ExponentialCode>>(
        "ia64-code",
        Spins,
        "with the back-off of the document's code",
    )
    .ours("Ia64SpinLock<ExponentialCode>"),
    LockInfo::exclusive::<Ia64<ia64_spin::ExponentialProse>>("ia64-prose", Spins, "with the back-off of its prose")
        .ours("Ia64SpinLock<ExponentialProse>"),
    LockInfo::exclusive::<turnwise::Mutex<Protected>>("mutex", Sleeps, "our mutex, which sleeps, for contrast")
        .ours("Mutex"),
];

static SCENARIOS: &[Scenario] = &[
    Scenario::tight(&SPIN, "uncontended", 1, "1 thread, increment only"),
    Scenario::tight(&SPIN, "tight-2", 2, "2 threads, increment only"),
    Scenario::tight(&SPIN, "2x50/100", 2, "2 threads, 50 ns inside, 100 ns outside").busy(50, 100),
    Scenario::tight(&SPIN, "2x50/500", 2, "2 threads, 50 ns inside, 500 ns outside").busy(50, 500),
    Scenario::tight(&SPIN, "4x50/100", 4, "4 threads, 50 ns inside, 100 ns outside").busy(50, 100),
];
