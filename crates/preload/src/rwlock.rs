//! Readers-writer locks. Everything returns 0 or an errno value, as pthread functions do.
//!
//! One lock, [`RawRwSem`](turnwise::RawRwSem), under every policy but the C library's, which a policy file may ask
//! for: the spin locks know no readers. Beside it stands the writer's identity, which only the writer writes while it
//! has the lock: whoever finds its own there has the write lock.

use crate::layout::RwLock;
use crate::rules::{self, Caller};
use crate::{owner, policy, real};
use core::sync::atomic::Ordering::Relaxed;
use libc::{EAGAIN, EBUSY, EDEADLK, EPERM, ETIMEDOUT, c_int, pthread_rwlock_t, pthread_rwlockattr_t};
use turnwise::platform::Deadline;
use turnwise::rwsem::Prefer;

/// The one kind of glibc's (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`) under which writers go first; the one with
/// the shorter name lets readers go first, there as here.
const WRITER_NONRECURSIVE: u32 = 2;

impl RwLock {
    /// Whether it is ours for sure: not process-shared, and the default policy in force.
    #[inline(always)]
    pub(crate) fn is_fast(&self) -> bool {
        self.shared.load(Relaxed) | policy::fast_bits() == 0
    }

    /// Whether it is the C library's: process-shared, or a rule says so.
    pub(crate) fn is_foreign(&self, caller: Caller) -> bool {
        self.shared.load(Relaxed) != 0 || policy::of(&self.decided, core::ptr::from_ref(self).addr(), caller).is_none()
    }

    fn prefer(&self) -> Prefer {
        if self.kind.load(Relaxed) == WRITER_NONRECURSIVE { Prefer::Writers } else { Prefer::Readers }
    }

    fn is_mine(&self) -> bool {
        self.writer.load(Relaxed) == owner::current()
    }

    /// After the write lock was acquired.
    fn own(&self) -> c_int {
        self.writer.store(owner::current(), Relaxed);
        0
    }
}

/// Acquires for reading; gives up at `deadline`, or at once if there are too many read locks.
pub(crate) fn read(lock: &RwLock, deadline: Option<Deadline>) -> c_int {
    // A writer's own lock bars it: the question who has the lock can wait until the lock is found taken.
    if lock.lock.try_read_with(lock.prefer()) {
        return 0;
    }
    if lock.is_mine() {
        return EDEADLK;
    }
    if lock.lock.is_full() {
        return EAGAIN; // nobody would wake us; to wait for one of 2^20 to leave is to wait for ever
    }
    if lock.lock.read_with(lock.prefer(), deadline) { 0 } else { ETIMEDOUT }
}

/// Acquires for reading if that is possible at once.
pub(crate) fn try_read(lock: &RwLock) -> c_int {
    match lock.lock.try_read_with(lock.prefer()) {
        true => 0,
        false if lock.lock.is_full() => EAGAIN,
        false => EBUSY,
    }
}

/// Acquires for writing; gives up at `deadline`.
pub(crate) fn write(lock: &RwLock, deadline: Option<Deadline>) -> c_int {
    if lock.lock.try_write() {
        return lock.own();
    }
    if lock.is_mine() {
        return EDEADLK;
    }
    if lock.lock.write_with(deadline) { lock.own() } else { ETIMEDOUT }
}

/// Acquires for writing if that is possible at once.
pub(crate) fn try_write(lock: &RwLock) -> c_int {
    if lock.lock.try_write() { lock.own() } else { EBUSY }
}

/// Releases whichever lock there is if nobody sleeps; says whether it did.
#[inline(always)]
pub(crate) fn unlock_quickly(lock: &RwLock) -> bool {
    // SAFETY: POSIX requires that the caller has the lock, for reading or for writing.
    unsafe { lock.lock.unlock_without_sleepers(|| lock.writer.store(0, Relaxed)) }
}

/// Releases whichever lock there is; EPERM if there is none.
pub(crate) fn unlock(lock: &RwLock) -> c_int {
    if lock.lock.is_write_locked() {
        lock.writer.store(0, Relaxed);
        // SAFETY: POSIX requires that the caller has the lock, and while a writer has it, nobody else does.
        unsafe { lock.lock.unlock_write() };
    } else if lock.lock.is_locked() {
        // SAFETY: POSIX requires that the caller has the lock, and readers have it.
        unsafe { lock.lock.unlock_read_with(lock.prefer()) };
    } else {
        return EPERM;
    }
    0
}

/// Makes an unlocked lock of raw memory.
///
/// # Safety
/// `object` is writable and nobody uses it; `attributes` is null or initialised.
pub(crate) unsafe extern "C" fn init(
    object: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
    caller: Caller,
) -> c_int {
    // SAFETY: the caller's promise. The C library's function only writes the object: its kind and whether it is shared
    // where its static initialisers have them, and zeros.
    let errno = unsafe { real::rwlock_init(object, attributes) };
    // SAFETY: the caller's object, just initialised.
    let lock = unsafe { RwLock::of(object) };
    if errno == 0 && lock.shared.load(Relaxed) == 0 && policy::current().is_none() {
        lock.decided.store(rules::decide_new(object.addr(), caller), Relaxed);
    }
    errno
}
