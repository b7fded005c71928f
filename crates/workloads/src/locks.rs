//! The locks that are compared: one record for each, from which the list, the filters and the reports derive.

use crate::blind::Blind;
use crate::pthread::{Adaptive, Normal, PthreadMutex};
use crate::run::{self, Outcome, Plan, Protected};
use turnwise::backoff::{Backoff, Exponential, Proportional};
use turnwise::{McsLock, QueuedSpinLock, SpinLock, TicketLock};

/// A lock with data inside. The workloads are generic over it, so every lock is inlined into its own copy of them.
pub trait Lock<T>: Sync {
    /// An unlocked lock.
    fn new(value: T) -> Self;
    /// Acquires, runs `f`, releases.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
    /// The data.
    fn into_inner(self) -> T;
}

/// What a waiter of a lock does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// It sleeps sooner or later: fit for more threads than CPUs.
    Sleeps,
    /// It spins for ever.
    Spins,
}

/// A lock that can be benchmarked.
pub struct LockInfo {
    /// What `--lock` and the reports call it.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// What its waiters do.
    pub waiting: Waiting,
    /// This project's own, rather than a peer.
    pub ours: bool,
    /// Measures one sample of a workload with this lock.
    pub sample: fn(&Plan) -> anyhow::Result<Outcome>,
}

/// Every lock, in the order of reports.
pub static LOCKS: &[LockInfo] = &[
    ours::<turnwise::Mutex<Protected>>("turnwise", "our adaptive mutex", Waiting::Sleeps),
    ours::<turnwise::Mutex<Protected, Blind>>(
        "turnwise-blind",
        "our adaptive mutex without the on_cpu layer",
        Waiting::Sleeps,
    ),
    peer::<std::sync::Mutex<Protected>>("std", "std::sync::Mutex", Waiting::Sleeps),
    peer::<parking_lot::Mutex<Protected>>("parking_lot", "parking_lot 0.13's Mutex", Waiting::Sleeps),
    peer::<PthreadMutex<Protected, Normal>>("pthread", "the C library's default mutex", Waiting::Sleeps),
    peer::<PthreadMutex<Protected, Adaptive>>(
        "pthread-adaptive",
        "the C library's mutex of type PTHREAD_MUTEX_ADAPTIVE_NP",
        Waiting::Sleeps,
    ),
    peer::<spin::mutex::SpinMutex<Protected>>("spin", "spin 0.12's test-and-set lock", Waiting::Spins),
    ours::<SpinLock<Protected>>("ttas", "our test-and-test-and-set lock", Waiting::Spins),
    ours::<SpinLock<Protected, Exponential>>("ttas-backoff", "the same with exponential back-off", Waiting::Spins),
    ours::<TicketLock<Protected>>("ticket", "our ticket lock", Waiting::Spins),
    ours::<TicketLock<Protected, Proportional>>(
        "ticket-backoff",
        "the same with proportional back-off",
        Waiting::Spins,
    ),
    ours::<QueuedSpinLock<Protected>>("queued", "our queued spin lock, nodes in static memory", Waiting::Spins),
    ours::<McsLock<Protected>>("mcs", "our MCS lock, nodes on the stack", Waiting::Spins),
];

const fn ours<L: Lock<Protected>>(name: &'static str, help: &'static str, waiting: Waiting) -> LockInfo {
    LockInfo { name, help, waiting, ours: true, sample: run::sample::<L> }
}

const fn peer<L: Lock<Protected>>(name: &'static str, help: &'static str, waiting: Waiting) -> LockInfo {
    LockInfo { name, help, waiting, ours: false, sample: run::sample::<L> }
}

/// The lock called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static LockInfo> {
    LOCKS.iter().find(|lock| lock.name == name)
}

/// A lock whose `lock` returns a guard; `$new` makes one.
macro_rules! guarded {
    ($lock:ty, $new:path $(, $generic:ident: $bound:path)*) => {
        impl<T: Send $(, $generic: $bound)*> Lock<T> for $lock {
            fn new(value: T) -> Self {
                $new(value)
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
                f(&mut self.lock())
            }

            fn into_inner(self) -> T {
                <$lock>::into_inner(self)
            }
        }
    };
}

guarded!(turnwise::Mutex<T, P>, turnwise::Mutex::new_in, P: turnwise::platform::Platform);
guarded!(SpinLock<T, B>, SpinLock::new_in, B: Backoff);
guarded!(TicketLock<T, B>, TicketLock::new_in, B: Backoff);
guarded!(QueuedSpinLock<T>, QueuedSpinLock::new_in);
guarded!(parking_lot::Mutex<T>, parking_lot::Mutex::new);
guarded!(spin::mutex::SpinMutex<T>, spin::mutex::SpinMutex::new);

impl<T: Send> Lock<T> for McsLock<T> {
    fn new(value: T) -> Self {
        McsLock::new(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        McsLock::with(self, f)
    }

    fn into_inner(self) -> T {
        McsLock::into_inner(self)
    }
}

impl<T: Send> Lock<T> for std::sync::Mutex<T> {
    fn new(value: T) -> Self {
        std::sync::Mutex::new(value)
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock().expect("no workload panics with the lock held"))
    }

    fn into_inner(self) -> T {
        std::sync::Mutex::into_inner(self).expect("no workload panics with the lock held")
    }
}
