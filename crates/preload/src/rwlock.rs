//! Readers-writer locks. All functions return 0 or an errno value, as pthread functions do.
//!
//! One lock, [`RawRwSem`](turnwise::RawRwSem), is used under every policy except the C library's, which a policy file
//! may request: the spin locks have no readers. The writer's identity is stored next to it. Only the writer writes it,
//! while it holds the lock: a thread that finds its own identity there holds the write lock.
//!
//! A lock that is read by several CPUs and hardly ever written spreads its readers over slots
//! ([`turnwise::big_reader::Spreading`]). While it is spread, a thread that releases it is a reader.

use crate::layout::RwLock;
use crate::rules::{self, Caller};
use crate::{live, owner, policy, real, slots};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use libc::{EAGAIN, EBUSY, EDEADLK, EPERM, ETIMEDOUT, c_int, pthread_rwlock_t, pthread_rwlockattr_t};
use turnwise::big_reader::{Slot, Spreading};
use turnwise::platform::{Deadline, Native};
use turnwise::rwsem::Prefer;
use turnwise::wait::Tuned;
use turnwise::{RawLock, RawRwSem};
use turnwise_live::Kind;

/// The only kind in glibc under which writers have priority (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`); the kind
/// with the shorter name gives readers priority, in glibc as here.
const WRITER_NONRECURSIVE: u32 = 2;

// SAFETY: they are parts of this lock, zero when it is initialised; no thread uses it when it is destroyed.
unsafe impl Spreading for RwLock {
    type Platform = Native;

    #[inline(always)]
    fn gate(&self) -> &AtomicU32 {
        &self.gate
    }

    #[inline(always)]
    fn met(&self) -> &AtomicU32 {
        &self.met
    }

    #[inline(always)]
    fn inner(&self) -> &RawRwSem {
        &self.lock
    }

    #[inline(always)]
    fn slots(&self) -> &[Slot] {
        // ORDERING rwlock.slots: pairs with the exchange in `spread_readers`: the table is mapped.
        slots::of(self.slots.load(Acquire))
    }
}

impl RwLock {
    /// Returns whether the lock is certainly ours: it is not process-shared, and the default policy is in force.
    #[inline(always)]
    pub(crate) fn is_fast(&self) -> bool {
        self.shared.load(Relaxed) | policy::fast_bits() == 0
    }

    /// Returns whether the lock is the C library's: it is process-shared, or a rule requires it.
    pub(crate) fn is_foreign(&self, caller: Caller) -> bool {
        self.shared.load(Relaxed) != 0 || policy::of(&self.cached_rule, self.address(), caller).is_none()
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    fn prefer(&self) -> Prefer {
        if self.kind.load(Relaxed) == WRITER_NONRECURSIVE { Prefer::Writers } else { Prefer::Readers }
    }

    fn is_mine(&self) -> bool {
        self.writer.load(Relaxed) == owner::current()
    }

    /// Stores the calling thread as the writer, after it has acquired the write lock.
    fn own(&self) -> c_int {
        self.writer.store(owner::current(), Relaxed);
        0
    }
}

/// Acquires the lock for reading; gives up at `deadline`, or immediately if there are too many read locks.
pub(crate) fn read(lock: &RwLock, deadline: Option<Deadline>, caller: Caller) -> c_int {
    // A writer cannot acquire its own lock for reading: the owner matters only once the lock is found taken.
    if read_quickly(lock).is_some() || lock.lock.try_read_with(lock.prefer()) {
        return 0;
    }
    if lock.is_mine() {
        return EDEADLK;
    }
    if lock.lock.is_full() {
        return EAGAIN; // no departing reader would wake this thread
    }
    let wait = |tuned: Option<Tuned>| match tuned {
        None => lock.lock.read_with(lock.prefer(), deadline),
        Some(tuned) => lock.lock.read_tuned(lock.prefer(), deadline, tuned),
    };
    if live::wait_for_rwlock(lock, Kind::Read, caller, wait) { 0 } else { ETIMEDOUT }
}

/// Acquires the lock for reading if it is available immediately.
pub(crate) fn try_read(lock: &RwLock) -> c_int {
    match read_quickly(lock).is_some() || lock.lock.try_read_with(lock.prefer()) {
        true => 0,
        false if lock.lock.is_full() => EAGAIN,
        false => EBUSY,
    }
}

/// Acquires the lock for reading if no thread waits.
#[inline(always)]
pub(crate) fn read_quickly(lock: &RwLock) -> Option<c_int> {
    // While the lock is spread its inner lock has a reader: a lone reader need not ask.
    let meets = lock.lock.readers() != 0;
    if meets && lock.enter() {
        return Some(0);
    }
    let taken = lock.lock.try_read_unbarred();
    if taken && meets && lock.is_due() {
        spread_readers(lock);
    }
    taken.then_some(0)
}

/// Spreads the readers, of which the caller is one, over slots.
#[cold]
fn spread_readers(lock: &RwLock) {
    if lock.slots.load(Relaxed) == 0 {
        let number = slots::take(lock.address());
        // ORDERING rwlock.slots: pairs with the load in `slots`.
        if lock.slots.compare_exchange(0, number, Release, Relaxed).is_err_and(|found| found != number) {
            slots::give_back(number, lock.address());
        }
    }
    // SAFETY: contract of `spread`: the caller has just acquired the inner lock.
    unsafe { lock.spread() }
}

/// Acquires the lock for writing; gives up at `deadline`.
pub(crate) fn write(lock: &RwLock, deadline: Option<Deadline>, caller: Caller) -> c_int {
    if lock.try_write() {
        return lock.own();
    }
    if lock.is_mine() {
        return EDEADLK;
    }
    let wait = |tuned: Option<Tuned>| lock.write(deadline, &tuned.unwrap_or(Tuned::POLICY));
    if live::wait_for_rwlock(lock, Kind::Write, caller, wait) { lock.own() } else { ETIMEDOUT }
}

/// Acquires the lock for writing if it is free and no thread waits.
#[inline(always)]
pub(crate) fn write_quickly(lock: &RwLock) -> Option<c_int> {
    lock.try_write().then(|| lock.own())
}

/// Acquires the lock for writing if it is available immediately.
pub(crate) fn try_write(lock: &RwLock) -> c_int {
    if lock.try_write() { lock.own() } else { EBUSY }
}

/// Releases the read or write lock that is held, if no thread sleeps; returns whether it did.
#[inline(always)]
pub(crate) fn unlock_quickly(lock: &RwLock) -> bool {
    // SAFETY: POSIX requires that the caller holds the lock, for reading or for writing; while the lock is spread, for
    // reading.
    unsafe { lock.leave() || lock.lock.unlock_without_sleepers(|| lock.writer.store(0, Relaxed)) }
}

/// Releases the read or write lock that is held; EPERM if neither is.
pub(crate) fn unlock(lock: &RwLock) -> c_int {
    // SAFETY: POSIX requires that the caller holds the lock, and while it is spread, no writer does.
    if unsafe { lock.leave() } {
        return 0;
    }
    if lock.lock.is_write_locked() {
        lock.writer.store(0, Relaxed);
        // SAFETY: POSIX requires that the caller holds the lock, and while a writer holds it, no other thread does.
        unsafe { lock.lock.unlock() };
        live::released(lock.address());
    } else if lock.lock.is_locked() {
        // SAFETY: POSIX requires that the caller holds the lock, and readers hold it.
        unsafe { lock.lock.unlock_read_with(lock.prefer()) };
    } else {
        return EPERM;
    }
    0
}

/// Ends the use of the lock.
pub(crate) fn destroy(lock: &RwLock) -> c_int {
    lock.gather();
    slots::give_back(lock.slots.swap(0, Relaxed), lock.address());
    0
}

/// Makes raw memory an unlocked lock.
///
/// # Safety
/// `object` is writable and no thread uses it; `attributes` is null or initialised.
pub(crate) unsafe extern "C" fn init(
    object: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
    caller: Caller,
) -> c_int {
    // SAFETY: contract of `init`. The C library's function only writes the object: its kind and whether it is shared
    // where its static initialisers have them, and zeros.
    let errno = unsafe { real::pthread_rwlock_init(object, attributes) };
    // SAFETY: the caller's object, just initialised.
    let lock = unsafe { RwLock::of(object) };
    if errno == 0 && lock.shared.load(Relaxed) == 0 && policy::current().is_none() {
        lock.cached_rule.store(rules::decide_new(object.addr(), caller), Relaxed);
    }
    errno
}
