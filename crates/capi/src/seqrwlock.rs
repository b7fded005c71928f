//! The sequence lock with blocking readers of the C API: `tw_seqrwlock`.

use crate::result::{timed, tried, tw_result};
use crate::time::{self, until};
use crate::{functions, stands_for};
use core::ffi::c_int;
use core::mem;
use turnwise::RawSeqRwLock;
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};

/// A sequence lock with a second, blocking kind of reader. An optimistic reader writes nothing: it reads, and reads
/// again if a writer interfered. It must read the data by atomic loads (relaxed ones suffice), since a writer may be
/// changing them, and must not follow pointers in the data unless what they point to cannot be freed meanwhile.
/// Initialised by `TW_SEQRWLOCK_INIT` or zero bytes: unlocked.
#[repr(C)]
pub struct tw_seqrwlock {
    /// Private: programs do not access it.
    pub opaque: [u64; 3],
}
stands_for!(tw_seqrwlock, RawSeqRwLock);

/// The value of a pass that holds the lock. Sequences at which a read begins are even.
const LOCKED: u64 = 1;

/// Initialises an unlocked lock, as TW_SEQRWLOCK_INIT does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_seqrwlock_init(lock: *mut tw_seqrwlock) {
    // SAFETY: contract of `_init`: the pointer is to writable memory for the type, which nothing else uses yet.
    unsafe { lock.write(tw_seqrwlock { opaque: [0; 3] }) }
}

functions! {
    /// Begins an optimistic read, waiting while a writer changes the data; returns the value that
    /// tw_seqrwlock_read_retry takes as `begin`.
    #[must_use]
    tw_seqrwlock_read_begin(lock: *const tw_seqrwlock) -> u64 = lock.read_begin();
    /// Returns whether a writer interfered since tw_seqrwlock_read_begin returned `begin`. If so, what was read may be
    /// inconsistent: begin again.
    #[must_use]
    tw_seqrwlock_read_retry(lock: *const tw_seqrwlock, begin: u64) -> bool = lock.read_retry(begin);
}

/// Begins a read of at most two passes, the first optimistic, the second with the lock held; if a writer is busy with
/// the data for long, the first pass holds the lock already. Returns the value that the next two functions take:
///
///     uint64_t pass = tw_seqrwlock_begin_or_lock(&lock);
///     do
///         read();
///     while (tw_seqrwlock_retry_or_lock(&lock, &pass));
///     tw_seqrwlock_done(&lock, pass);
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_seqrwlock_begin_or_lock(lock: *mut tw_seqrwlock) -> u64 {
    // SAFETY: contract of `of`: the header requires a pointer to a live lock.
    let lock = unsafe { tw_seqrwlock::of(lock) };
    if let Some(begin) = lock.try_read_begin() {
        return begin;
    }
    let reader = lock.reader();
    if reader.is_blocking() {
        mem::forget(reader);
        return LOCKED;
    }
    lock.try_read_begin().unwrap_or_else(|| {
        lock.read();
        LOCKED
    })
}

/// Ends a pass. Returns true if a writer interfered: discard what was read and make another pass, the last, with the
/// lock held. Returns false if what was read is consistent: call tw_seqrwlock_done.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn tw_seqrwlock_retry_or_lock(lock: *mut tw_seqrwlock, pass: *mut u64) -> bool {
    // SAFETY: contract of `tw_seqrwlock_retry_or_lock`: the pointers are to a live lock and to the caller's own pass.
    let (lock, pass) = unsafe { (tw_seqrwlock::of(lock), &mut *pass) };
    let spoilt = *pass != LOCKED && lock.read_retry(*pass);
    if spoilt {
        lock.read();
        *pass = LOCKED;
    }
    spoilt
}

/// Ends a read that tw_seqrwlock_begin_or_lock began: releases the lock if the last pass holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_seqrwlock_done(lock: *mut tw_seqrwlock, pass: u64) {
    if pass == LOCKED {
        // SAFETY: contract of `tw_seqrwlock_done`: the pointer is to a live lock, which this pass holds.
        unsafe { tw_seqrwlock::of(lock).unlock_read() };
    }
}

functions! {
    /// Begins a blocking read, which excludes writers; any number of them may overlap. Optimistic reads are not
    /// disturbed.
    tw_seqrwlock_read(lock: *mut tw_seqrwlock) = lock.read();
    /// Begins a blocking read if no writer holds the lock or waits: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_seqrwlock_tryread(lock: *mut tw_seqrwlock) -> tw_result = tried(lock.try_read());
    /// Begins a blocking read: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_seqrwlock_read_for(lock: *mut tw_seqrwlock, timeout_ns: u64) -> tw_result =
        timed(lock.read_until(time::after(timeout_ns)));
    /// Begins a blocking read: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such
    /// clock.
    #[must_use]
    tw_seqrwlock_read_until(lock: *mut tw_seqrwlock, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| lock.read_until(at));
    /// Ends a blocking read.
    tw_seqrwlock_unlock_read(lock: *mut tw_seqrwlock) = lock.unlock_read();
    /// Acquires the lock for writing: excludes writers and blocking readers, and makes optimistic reads fail until
    /// tw_seqrwlock_unlock_write.
    tw_seqrwlock_write(lock: *mut tw_seqrwlock) = lock.lock();
    /// Acquires the lock for writing if it is free: TW_OK, or TW_BUSY at once.
    #[must_use]
    tw_seqrwlock_trywrite(lock: *mut tw_seqrwlock) -> tw_result = tried(lock.try_lock());
    /// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
    #[must_use]
    tw_seqrwlock_write_for(lock: *mut tw_seqrwlock, timeout_ns: u64) -> tw_result =
        timed(lock.lock_until(time::after(timeout_ns)));
    /// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
    /// such clock.
    #[must_use]
    tw_seqrwlock_write_until(lock: *mut tw_seqrwlock, clock: c_int, at_ns: u64) -> tw_result =
        until(clock, at_ns, |at| lock.lock_until(at));
    /// Releases the write lock: ends the change of the data.
    tw_seqrwlock_unlock_write(lock: *mut tw_seqrwlock) = lock.unlock();
}
