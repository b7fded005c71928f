//! The lock that `spin_backoff` is about, in the three forms that the document compares: the spin lock, the spin lock
//! with back-off, and the redesign that it chose, a reader-writer semaphore.
//!
//! | policy | the lock | bytes | readers |
//! |---|---|---|---|
//! | [`Spin`] | [`Ia64SpinLock`] that looks all the time | 4 | one at a time |
//! | [`BackOff`] | [`Ia64SpinLock`] with the back-off of the document's code | 4 | one at a time |
//! | [`Rwsem`] | [`RwsemXadd`], first come, first served | 32 | together |
//!
//! The type adds nothing to them but one interface, so that a workload is written once. Word layouts, invariants and
//! orderings are theirs.

use crate::ia64_spin::{ExponentialCode, Ia64SpinLock, Plain};
use crate::rwsem_xadd::{Fifo, RwsemXadd};
use core::fmt;
use turnwise::platform::{DefaultPlatform, Platform};

/// The lock inside.
pub trait Inner: Send + Sync + 'static {
    /// An unlocked one.
    fn new_in() -> Self;
    /// Acquires it for reading.
    fn read(&self);
    /// Releases it.
    ///
    /// # Safety
    /// The caller has it for reading.
    unsafe fn unlock_read(&self);
    /// Acquires it for writing.
    fn write(&self);
    /// Acquires it for writing if it is free.
    fn try_write(&self) -> bool;
    /// Releases it.
    ///
    /// # Safety
    /// The caller has it for writing.
    unsafe fn unlock_write(&self);
}

impl<V: crate::ia64_spin::Policy, P: Platform> Inner for Ia64SpinLock<V, P> {
    fn new_in() -> Self {
        Self::new_in()
    }
    #[inline]
    fn read(&self) {
        self.lock();
    }
    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock() };
    }
    #[inline]
    fn write(&self) {
        self.lock();
    }
    #[inline]
    fn try_write(&self) -> bool {
        self.try_lock()
    }
    #[inline]
    unsafe fn unlock_write(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock() };
    }
}

impl<V: crate::rwsem_xadd::Policy, P: Platform> Inner for RwsemXadd<V, P> {
    fn new_in() -> Self {
        Self::new_in()
    }
    #[inline]
    fn read(&self) {
        self.read();
    }
    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_read() };
    }
    #[inline]
    fn write(&self) {
        self.write();
    }
    #[inline]
    fn try_write(&self) -> bool {
        self.try_write()
    }
    #[inline]
    unsafe fn unlock_write(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_write() };
    }
}

/// A version of the lock. The three types below are all there are.
pub trait Policy: sealed::Sealed + Send + Sync + 'static {
    /// The lock inside.
    type Inner<P: Platform>: Inner;
}

/// The spin lock, as it was.
pub struct Spin;
/// The spin lock with the document's back-off.
pub struct BackOff;
/// The redesign.
pub struct Rwsem;

impl Policy for Spin {
    type Inner<P: Platform> = Ia64SpinLock<Plain, P>;
}
impl Policy for BackOff {
    type Inner<P: Platform> = Ia64SpinLock<ExponentialCode, P>;
}
impl Policy for Rwsem {
    type Inner<P: Platform> = RwsemXadd<Fifo, P>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Spin {}
    impl Sealed for super::BackOff {}
    impl Sealed for super::Rwsem {}
}

/// The lock without data, in the version `V`. Zero bytes = unlocked.
#[repr(transparent)]
pub struct InodeLock<V: Policy, P: Platform = DefaultPlatform> {
    inner: V::Inner<P>,
}

impl InodeLock<Spin> {
    /// An unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        InodeLock { inner: Ia64SpinLock::new() }
    }
}

impl InodeLock<BackOff> {
    /// An unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        InodeLock { inner: Ia64SpinLock::new() }
    }
}

impl InodeLock<Rwsem> {
    /// An unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        InodeLock { inner: RwsemXadd::new() }
    }
}

impl<V: Policy> Default for InodeLock<V> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<V: Policy, P: Platform> InodeLock<V, P> {
    /// An unlocked lock on any platform.
    pub fn new_in() -> Self {
        InodeLock { inner: Inner::new_in() }
    }

    /// Acquires the lock for reading; the spin locks exclude other readers too.
    #[inline]
    pub fn read(&self) {
        self.inner.read();
    }

    /// Releases a read lock.
    ///
    /// # Safety
    /// The caller has a read lock.
    #[inline]
    pub unsafe fn unlock_read(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.unlock_read() };
    }

    /// Acquires the lock for writing.
    #[inline]
    pub fn write(&self) {
        self.inner.write();
    }

    /// Acquires the lock for writing if it is free.
    #[inline]
    pub fn try_write(&self) -> bool {
        self.inner.try_write()
    }

    /// Releases the write lock.
    ///
    /// # Safety
    /// The caller has the write lock.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.unlock_write() };
    }
}

impl<V: Policy, P: Platform> fmt::Debug for InodeLock<V, P>
where
    V::Inner<P>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InodeLock").field("inner", &self.inner).finish()
    }
}

const _: () = assert!(size_of::<InodeLock<Spin>>() == 4 && size_of::<InodeLock<BackOff>>() == 4);
