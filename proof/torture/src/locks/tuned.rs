//! Mutex and readers-writer lock with settings, different for each wait: no spinning, spinning for the longest
//! permitted time, or claiming the next turn at once.

use super::own::{self, MutexAndCondvar};
use crate::object::of;
use crate::ops::{Exclusive, HasRaw, Ops, Shared};
use std::cell::Cell;
use turnwise::RawRwSem;
use turnwise::raw::RawLock;
use turnwise::rwsem::Prefer;
use turnwise::wait::Tuned;

const NONE: Tuned = Tuned { spin_ns: None, yield_after_ns: None, handoff_after_ns: None };
const LONG: Option<u64> = Some(10_000_000);

/// The extremes of the settings, alone and together.
const EXTREMES: [Tuned; 8] = [
    Tuned { spin_ns: Some(0), ..NONE },
    Tuned { handoff_after_ns: Some(0), ..NONE },
    Tuned { spin_ns: LONG, ..NONE },
    NONE,
    Tuned { spin_ns: Some(0), handoff_after_ns: Some(0), ..NONE },
    Tuned { spin_ns: Some(1), yield_after_ns: Some(1), ..NONE },
    Tuned { spin_ns: LONG, handoff_after_ns: Some(0), yield_after_ns: Some(1) },
    Tuned { handoff_after_ns: Some(u64::MAX), ..NONE },
];

thread_local! {
    static TURN: Cell<usize> = const { Cell::new(0) };
}

/// Returns the next of them for this thread.
fn settings() -> Tuned {
    let turn = TURN.get();
    TURN.set(turn.wrapping_add(1));
    EXTREMES[turn % EXTREMES.len()]
}

pub(super) const MUTEX: Ops = Ops {
    condvar: own::MUTEX.condvar,
    ..Ops::lock(
        Exclusive {
            acquire: |lock| {
                let mutex = of::<MutexAndCondvar>(lock).raw();
                if !mutex.lock_fast() {
                    mutex.lock_tuned(settings());
                }
            },
            acquire_until: Some(|lock, deadline| {
                let mutex = of::<MutexAndCondvar>(lock).raw();
                mutex.try_lock() || mutex.lock_tuned_until(deadline, settings())
            }),
            // SAFETY: the caller has the lock.
            release_fair: Some(|lock| unsafe { of::<MutexAndCondvar>(lock).raw().unlock_fair() }),
            ..Exclusive::raw::<MutexAndCondvar>()
        },
        own::MUTEX.words,
    )
};

pub(super) const RWSEM: Ops = Ops {
    shared: Some(Shared {
        read: |lock| {
            of::<RawRwSem>(lock).read_tuned(Prefer::Writers, None, settings());
        },
        read_until: Some(|lock, deadline| of::<RawRwSem>(lock).read_tuned(Prefer::Writers, Some(deadline), settings())),
        ..own::RWSEM.shared.expect("it has readers")
    }),
    ..Ops::lock(
        Exclusive {
            acquire: |lock| {
                of::<RawRwSem>(lock).write_tuned(None, settings());
            },
            acquire_until: Some(|lock, deadline| of::<RawRwSem>(lock).write_tuned(Some(deadline), settings())),
            ..Exclusive::raw::<RawRwSem>()
        },
        own::RWSEM.words,
    )
};
