//! Code that is generic over locks.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use turnwise::platform::{Deadline, Platform};
use turnwise::raw::{GuardSend, RawLock, RawRwLock, RawTimedLock};
use turnwise::reentrant::Threads;
use turnwise::{
    LockRef, Permits, RawBigReaderLock, RawMcsLock, RawMutex, RawReentrantMutex, RawRwSem, RawSeqRwLock, Semaphore,
};
use turnwise_lineage::d_count::Count;
use turnwise_lineage::rename_lock::{self, RenameLock};
use turnwise_lineage::rwsem_spinlock::{self, RwsemSpinlock};
use turnwise_lineage::rwsem_xadd::{self, RwsemXadd};

/// Names a lock's type.
pub type Of<R> = PhantomData<R>;

/// An action on a lock whose type it does not know. Methods for a lock of a certain type are for visitors that need
/// more of it than what its kind can do.
pub trait Visit<P: Threads>: Sized {
    /// The result.
    type Out;

    /// Visits a lock that one thread has at a time.
    fn exclusive<R: RawLock<Platform = P> + Debug>(self, lock: Of<R>) -> Self::Out;
    /// Visits a lock that many threads read under, or one writes: by default as one for writers alone.
    fn shared<R: RawRwLock<Platform = P> + Debug>(self, lock: Of<R>) -> Self::Out {
        self.exclusive(lock)
    }
    /// Visits the MCS lock, whose callers bring the nodes.
    fn mcs(self, _: Of<RawMcsLock<P>>) -> Self::Out {
        unreachable!("this visitor is for other kinds of locks")
    }
    /// Visits the sequence lock, whose readers copy the data that it protects.
    fn sequence(self, _: Of<RawSeqRwLock<P>>) -> Self::Out {
        unreachable!("this visitor is for other kinds of locks")
    }
    /// Visits a count of references.
    fn counted<C: RefCount>(self, _: Of<C>) -> Self::Out {
        unreachable!("this visitor is for other kinds of locks")
    }

    /// Visits a lock whose waiters can give up at a deadline.
    fn timed<R: RawTimedLock<Platform = P> + Debug>(self, lock: Of<R>) -> Self::Out {
        self.exclusive(lock)
    }
    /// Visits the mutex.
    fn mutex(self, lock: Of<RawMutex<P>>) -> Self::Out {
        self.timed(lock)
    }
    /// Visits the re-entrant mutex.
    fn reentrant(self, lock: Of<RawReentrantMutex<P>>) -> Self::Out {
        self.exclusive(lock)
    }
    /// Visits a semaphore.
    fn semaphore<const FAIR: bool>(self, _: Of<Semaphore<FAIR, P>>) -> Self::Out {
        self.timed(PhantomData::<OnePermit<FAIR, P>>)
    }
    /// Visits the readers-writer lock.
    fn rwsem(self, lock: Of<RawRwSem<P>>) -> Self::Out {
        self.shared(lock)
    }
    /// Visits the readers-writer lock with readers counted per CPU.
    fn big_reader<const N: usize>(self, lock: Of<RawBigReaderLock<N, P>>) -> Self::Out {
        self.shared(lock)
    }
    /// Visits the count with a lock in one word.
    fn lockref(self, lock: Of<LockRef<P>>) -> Self::Out {
        self.counted(lock)
    }
    /// Visits a version of the rwsem on a spin lock.
    fn rwsem_spinlock<V: rwsem_spinlock::Policy>(self, lock: Of<RwsemSpinlock<V, P>>) -> Self::Out {
        self.shared(lock)
    }
    /// Visits a version of the rwsem by exchange and add.
    fn rwsem_xadd<V: rwsem_xadd::Policy>(self, lock: Of<RwsemXadd<V, P>>) -> Self::Out {
        self.shared(lock)
    }
    /// Visits a version of the count of a dentry.
    fn d_count<C: Count<Platform = P> + Debug>(self, lock: Of<C>) -> Self::Out {
        self.counted(lock)
    }
    /// Visits a version of the lock around renames.
    fn rename_lock<V: rename_lock::Policy>(self, lock: Of<RenameLock<V, P>>) -> Self::Out {
        self.shared(lock)
    }
}

/// A count of references, which starts at one.
pub trait RefCount: Sync + 'static {
    /// Makes a count with one reference, the owner's.
    fn new_in() -> Self;
    /// Takes one more reference.
    fn get(&self);
    /// Gives a reference back; never the last.
    fn put(&self);
    /// Returns the number of references.
    fn count(&self) -> u64;
}

/// `dget` and `dput`.
impl<C: Count> RefCount for C {
    fn new_in() -> Self {
        C::with_references(1)
    }

    #[inline]
    fn get(&self) {
        Count::get(self);
    }

    #[inline]
    fn put(&self) {
        self.put_quickly();
    }

    fn count(&self) -> u64 {
        Count::count(self).into()
    }
}

/// A semaphore with one permit, which only its owner gives back.
pub struct OnePermit<const FAIR: bool, P: Platform>(pub Semaphore<FAIR, P>);

// SAFETY: there is one permit, no other code can reach the semaphore, and giving it back orders owners.
unsafe impl<const FAIR: bool, P: Platform> RawLock for OnePermit<FAIR, P> {
    type Platform = P;
    type GuardMarker = GuardSend;

    fn new_in() -> Self {
        OnePermit(Semaphore::new_in(1))
    }

    #[inline]
    fn lock(&self) {
        self.0.acquire().forget();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_acquire().map(Permits::forget).is_some()
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.0.release(1);
    }

    fn is_locked(&self) -> bool {
        self.0.available() == 0
    }
}

// SAFETY: it acquires the permit, as `lock` does.
unsafe impl<const FAIR: bool, P: Platform> RawTimedLock for OnePermit<FAIR, P> {
    fn lock_until(&self, deadline: Deadline) -> bool {
        self.0.try_acquire_until(1, deadline).map(Permits::forget).is_some()
    }
}

impl<const FAIR: bool, P: Platform> Debug for OnePermit<FAIR, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
