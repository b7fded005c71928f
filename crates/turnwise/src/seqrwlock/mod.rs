//! The sequence read/write lock: reads that write nothing, and a second kind of read that no writer can disturb.

mod cell;
mod guard;
mod raw;

pub use guard::{SeqReadGuard, SeqWriteGuard};
pub use raw::{RawSeqRwLock, SeqReader};

use crate::order::{Class, How};
use crate::platform::{DefaultPlatform, Platform};
use crate::raw::{RawLock, RawRwLock, RawTimedLock, RawTimedRwLock};
use crate::rwlock::MappedRwLockReadGuard;
use cell::SeqCell;
use core::fmt;
use core::ptr::NonNull;

/// The number of optimistic reads that writers may invalidate before [`SeqRwLock::read`] takes the lock.
pub const READ_TRIES: u32 = 4;

/// A value that is copied out without writing to the lock.
///
/// | access | cost | while a writer publishes |
/// |---|---|---|
/// | [`read`](SeqRwLock::read), [`read_with`](SeqRwLock::read_with) | a copy and two loads of the sequence; no write to shared memory | copies again, then takes the lock |
/// | [`blocking_read`](SeqRwLock::blocking_read) | a read lock; the value stays in place | waits |
/// | [`write`](SeqRwLock::write) | a write lock and two copies | waits |
///
/// It is for small values that are read far more often than written: a clock, a routing entry, a pair of bounds. A
/// writer works on a copy and publishes it when the guard is dropped, so optimistic readers are disturbed only while
/// the copy is being published; a thread that has the write guard reads the old value by `read`.
///
/// ```
/// use turnwise::SeqRwLock;
///
/// static BOUNDS: SeqRwLock<(u64, u64)> = SeqRwLock::new((0, 10));
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         let (low, high) = BOUNDS.read();
///         assert_eq!(high - low, 10);
///     });
///     let mut bounds = BOUNDS.write();
///     bounds.0 += 5;
///     bounds.1 += 5;
/// });
/// assert_eq!(BOUNDS.read(), (5, 15));
/// assert_eq!(BOUNDS.read_with(|bounds| bounds.0 + bounds.1), 20);
/// assert_eq!(*BOUNDS.blocking_read(), (5, 15));
/// ```
///
/// It does not poison: a panic while the write guard lives publishes the copy in its current state.
pub struct SeqRwLock<T: Copy, P: Platform = DefaultPlatform> {
    raw: RawSeqRwLock<P>,
    class: Class,
    value: SeqCell<T>,
}

// SAFETY: every reading thread gets copies of `T`, and blocking readers share a `&T`; one thread at a time changes the
// value: it excludes the latter, and the former's copies are checked against its changes.
unsafe impl<T: Copy + Send + Sync, P: Platform> Sync for SeqRwLock<T, P> {}
// SAFETY: the lock owns its value, and its words are `Send`.
unsafe impl<T: Copy + Send, P: Platform> Send for SeqRwLock<T, P> {}

own_constructors!(SeqRwLock<T: Copy>, RawSeqRwLock, value: SeqCell, "an unlocked lock");

impl<T: Copy, P: Platform> SeqRwLock<T, P> {
    /// Returns a copy of the value.
    ///
    /// The read is optimistic: it writes nothing that others read. If writers invalidate [`READ_TRIES`] copies, or one
    /// takes longer than an eighth of [`still_ns`](crate::wait::Policy::still_ns) to publish, it takes the lock
    /// for reading: so it can neither starve nor burn CPU time behind a preempted writer.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn read(&self) -> T {
        match self.try_read() {
            Some(copy) => copy,
            None => self.read_slow(),
        }
    }

    /// Returns a copy of the value, unless a writer is just publishing one. It never waits.
    #[inline]
    pub fn try_read(&self) -> Option<T> {
        self.copy(self.raw.try_read_begin()?)
    }

    /// Runs `f` on the value: on a copy, or in place with the lock held if the first copy was invalidated.
    #[inline]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn read_with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_read() {
            Some(copy) => f(&copy),
            None => f(&self.blocking_read()),
        }
    }

    /// Returns a copy of the value made since `begin`, if no writer interfered.
    #[inline(always)]
    fn copy(&self, begin: u64) -> Option<T> {
        P::touch(self.value.as_ptr().cast(), size_of::<T>(), false);
        let copy = self.value.load();
        // SAFETY: invariant 2 of `raw`: no writer came between the loads of the sequence, so the copy is a whole value.
        (!self.raw.read_retry(begin)).then(|| unsafe { copy.assume_init() })
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "order-check", track_caller)]
    fn read_slow(&self) -> T {
        for _ in 1..READ_TRIES {
            let Some(begin) = self.raw.read_begin_spinning() else { break };
            if let Some(value) = self.copy(begin) {
                return value;
            }
        }
        *self.blocking_read()
    }

    acquisitions! {
        How::Read, |lock, deadline| Self::in_place[lock] -> SeqReadGuard<'_, T, P>, P;

        /// Excludes writers, and gives access to the value in place. Any number of threads may do so at a time.
        blocking_read: lock.raw.read();
        /// Begins a blocking read, if no writer holds the lock or waits.
        try_blocking_read: lock.raw.try_read();
        try_blocking_read_for, try_blocking_read_until: lock.raw.read_until(deadline);
    }

    /// Creates the guard of a blocking read.
    ///
    /// # Safety
    /// The calling thread has the lock for reading, and there is no other guard for that.
    #[inline]
    unsafe fn in_place(&self) -> SeqReadGuard<'_, T, P> {
        P::touch(self.value.as_ptr().cast(), size_of::<T>(), false);
        // SAFETY: the read lock keeps writers from the value as long as the guard lives.
        unsafe { MappedRwLockReadGuard::new(&self.raw, NonNull::from(&*self.value.as_ptr())) }
    }

    acquisitions! {
        How::Write, |lock, deadline| SeqWriteGuard::new[lock] -> SeqWriteGuard<'_, T, P>, P;

        /// Excludes other writers and blocking readers, and returns a guard with a copy of the value that is published
        /// when the guard is dropped.
        write: lock.raw.inner().lock();
        /// Acquires the lock for writing, if it is free.
        try_write: lock.raw.inner().try_lock();
        try_write_for, try_write_until: lock.raw.inner().lock_until(deadline);
    }

    /// Returns the order checker's class of this lock, and its name.
    #[inline]
    fn class(&self) -> (&Class, usize) {
        (&self.class, core::ptr::from_ref(&self.raw).addr())
    }

    /// Returns what has happened so far to the lock that writers and blocking readers take. Optimistic reads are not
    /// counted.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> crate::events::Stats {
        self.raw.stats()
    }

    /// Replaces the value.
    #[cfg_attr(feature = "order-check", track_caller)]
    pub fn set(&self, value: T) {
        *self.write() = value;
    }

    /// Returns the value, without locking: the exclusive borrow proves that no other thread has access to it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Returns the value, without locking: no other thread can have access to it.
    pub fn into_inner(mut self) -> T {
        *self.value.get_mut()
    }

    /// Returns the lock without the value.
    pub fn raw(&self) -> &RawSeqRwLock<P> {
        &self.raw
    }
}

impl<T: Copy + fmt::Debug, P: Platform> fmt::Debug for SeqRwLock<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("SeqRwLock");
        match self.try_read() {
            Some(value) => out.field("value", &value),
            None => out.field("value", &format_args!("<being written>")),
        };
        out.finish_non_exhaustive()
    }
}
