//! The lock that `spin_backoff` is about, in the three forms that the paper compares: the spin lock, the spin lock with
//! back-off, and the redesign that it chose, a reader-writer semaphore.
//!
//! | policy | the lock | bytes | readers |
//! |---|---|---|---|
//! | [`Spin`] | [`Ia64SpinLock`] that polls all the time | 4 | one at a time |
//! | [`BackOff`] | [`Ia64SpinLock`] with the back-off of the paper's code | 4 | one at a time |
//! | [`Rwsem`] | [`RwsemXadd`], first come, first served | 32 | together |
//!
//! The type only adds a common interface, so that a workload is written once. Word layouts, invariants and orderings
//! are those of the locks inside.

use crate::ia64_spin::{ExponentialCode, Ia64SpinLock, Plain};
use crate::rwsem_xadd::{Fifo, RwsemXadd};
use core::fmt;
use turnwise::platform::{DefaultPlatform, Platform};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

/// A version of the lock. The three types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// The type of the lock inside.
    type Inner<P: Platform>: RawLock;
    /// The lock inside, unlocked.
    const UNLOCKED: Self::Inner<DefaultPlatform>;
    /// Acquires the lock inside for reading; a spin lock does not distinguish readers.
    #[inline]
    fn read<P: Platform>(inner: &Self::Inner<P>) {
        inner.lock();
    }
    /// Acquires the lock inside for reading if that is possible at once.
    #[inline]
    fn try_read<P: Platform>(inner: &Self::Inner<P>) -> bool {
        inner.try_lock()
    }
    /// Releases a read lock.
    ///
    /// # Safety
    /// The caller has one by [`Policy::read`] or [`Policy::try_read`].
    #[inline]
    unsafe fn unlock_read<P: Platform>(inner: &Self::Inner<P>) {
        // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: its `read` was `lock`.
        unsafe { inner.unlock() };
    }
}

/// The spin lock, as it was.
pub struct Spin;
/// The spin lock with the paper's back-off.
pub struct BackOff;
/// The redesign: the reader-writer semaphore.
pub struct Rwsem;

impl Policy for Spin {
    type Inner<P: Platform> = Ia64SpinLock<Plain, P>;
    const UNLOCKED: Ia64SpinLock<Plain> = Ia64SpinLock::new();
}
impl Policy for BackOff {
    type Inner<P: Platform> = Ia64SpinLock<ExponentialCode, P>;
    const UNLOCKED: Ia64SpinLock<ExponentialCode> = Ia64SpinLock::new();
}
impl Policy for Rwsem {
    type Inner<P: Platform> = RwsemXadd<Fifo, P>;
    const UNLOCKED: RwsemXadd<Fifo> = RwsemXadd::new();
    #[inline]
    fn read<P: Platform>(inner: &Self::Inner<P>) {
        inner.read();
    }
    #[inline]
    fn try_read<P: Platform>(inner: &Self::Inner<P>) -> bool {
        inner.try_read()
    }
    #[inline]
    unsafe fn unlock_read<P: Platform>(inner: &Self::Inner<P>) {
        // SAFETY: contract of `RawRwLock::unlock_read`, which is the caller's, too: it has the lock for reading.
        unsafe { inner.unlock_read() };
    }
}

seal!(Spin, BackOff, Rwsem);

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(transparent)]
pub struct InodeLock<V: Policy, P: Platform = DefaultPlatform> {
    inner: V::Inner<P>,
}

unlocked!(InodeLock<V> { inner: V::UNLOCKED });

// SAFETY: the lock inside keeps these guarantees.
unsafe impl<V: Policy, P: Platform> RawLock for InodeLock<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        InodeLock { inner: RawLock::new_in() }
    }

    #[inline]
    fn lock(&self) {
        self.inner.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.inner.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: contract of `RawLock::unlock`, which is the caller's, too: it has the lock.
        unsafe { self.inner.unlock() };
    }

    fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }
}

// SAFETY: the lock inside keeps the guarantees of `RawRwLock`; the readers of a spin lock are its owners.
unsafe impl<V: Policy, P: Platform> RawRwLock for InodeLock<V, P> {
    #[inline]
    fn read(&self) {
        V::read(&self.inner);
    }

    #[inline]
    fn try_read(&self) -> bool {
        V::try_read(&self.inner)
    }

    #[inline]
    unsafe fn unlock_read(&self) {
        // SAFETY: contract of `RawRwLock::unlock_read`, which is that of `Policy::unlock_read`.
        unsafe { V::unlock_read(&self.inner) };
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
