//! What a lock must offer to be tortured.

use crate::counts::Counts;
use crate::sequence::Sequence;
use std::fmt::Debug;
use turnwise::platform::Deadline;
use turnwise::spin::RawSpin;
use turnwise::spin::mcs::McsNode;
use turnwise::{RawCondvar, RawMcsLock, RawMutex, RawRwSem};

/// What an acquisition left behind for the release: the node of an MCS lock.
pub type Held = Option<Box<McsNode>>;

/// A lock without data, with whatever it can do. A method that the lock's record does not list in
/// [`crate::locks::Abilities`] is never called.
pub trait Lock: Send + Sync {
    /// Acquires the lock.
    fn acquire(&self) -> Held;

    /// Acquires the lock if it is free.
    fn try_acquire(&self) -> Option<Held>;

    /// Acquires the lock, or gives up at `deadline`.
    fn acquire_until(&self, _deadline: Deadline) -> Option<Held> {
        unreachable!("not among its abilities: timed")
    }

    /// Called by the owner before the last write of its section. Only a lock that is broken on purpose does something.
    fn before_last_write(&self) {}

    /// Releases the lock.
    ///
    /// # Safety
    /// `held` comes from the last acquisition.
    unsafe fn release(&self, held: Held);

    /// Releases the lock to the one that waited longest.
    ///
    /// # Safety
    /// As for [`Lock::release`].
    unsafe fn release_fair(&self, _held: Held) {
        unreachable!("not among its abilities: fair")
    }

    /// Releases the lock, waits for a notification or `deadline`, and acquires it again; says whether the time was out.
    ///
    /// # Safety
    /// The caller has the lock.
    unsafe fn wait(&self, _deadline: Option<Deadline>) -> bool {
        unreachable!("not among its abilities: condvar")
    }

    /// Wakes one of those in [`Lock::wait`].
    fn notify_one(&self) {
        unreachable!("not among its abilities: condvar")
    }

    /// Wakes all of those in [`Lock::wait`].
    fn notify_all(&self) {
        unreachable!("not among its abilities: condvar")
    }

    /// Its optimistic and blocking reads.
    fn sequence(&self) -> &dyn Sequence {
        unreachable!("not among its abilities: sequence")
    }

    /// Its count of references.
    fn counts(&self) -> &dyn Counts {
        unreachable!("not among its abilities: counts")
    }

    /// The words of the lock, for a report of who waits.
    fn words(&self) -> String;
}

/// The mutex and its condition variable.
#[derive(Default)]
pub struct MutexAndCondvar {
    mutex: RawMutex,
    condvar: RawCondvar,
}

impl Lock for MutexAndCondvar {
    fn acquire(&self) -> Held {
        self.mutex.lock();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.mutex.try_lock().then_some(None)
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.mutex.lock_until(deadline).then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.mutex.unlock() }
    }

    unsafe fn release_fair(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.mutex.unlock_fair() }
    }

    unsafe fn wait(&self, deadline: Option<Deadline>) -> bool {
        // SAFETY: the caller has the mutex, which is the only one that this condition variable ever sees.
        unsafe { self.condvar.wait(&self.mutex, deadline) }.timed_out()
    }

    fn notify_one(&self) {
        self.condvar.notify_one();
    }

    fn notify_all(&self) {
        self.condvar.notify_all();
    }

    fn words(&self) -> String {
        words_of(self)
    }
}

/// The readers-writer lock, by its writers alone.
impl Lock for RawRwSem {
    fn acquire(&self) -> Held {
        self.write();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.try_write().then_some(None)
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.write_until(deadline).then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.unlock_write() };
    }

    fn words(&self) -> String {
        words_of(self)
    }
}

/// A spin lock that is released without a node.
#[derive(Default)]
pub struct Spin<R>(R);

impl<R: RawSpin + Debug> Lock for Spin<R> {
    fn acquire(&self) -> Held {
        self.0.lock();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.0.try_lock().then_some(None)
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.0.lock_until(deadline).then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.0.unlock() }
    }

    fn words(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl Lock for RawMcsLock {
    fn acquire(&self) -> Held {
        let node = Box::new(McsNode::new());
        // SAFETY: the box keeps the node in place until `release` has it back.
        unsafe { self.lock(&node) };
        Some(node)
    }

    fn try_acquire(&self) -> Option<Held> {
        let node = Box::new(McsNode::new());
        // SAFETY: as in `acquire`.
        unsafe { self.try_lock(&node) }.then_some(Some(node))
    }

    unsafe fn release(&self, held: Held) {
        let node = held.expect("an MCS lock is released with its node");
        // SAFETY: the caller acquired the lock through this node.
        unsafe { self.unlock(&node) }
    }

    fn words(&self) -> String {
        format!("{self:?}")
    }
}

/// The bytes of a lock as 4-byte words. Another thread may change them meanwhile, so they are read atomically.
pub fn words_of<L>(lock: &L) -> String {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let first = std::ptr::from_ref(lock).cast::<AtomicU32>();
    let word = |n| {
        // SAFETY: `n` words lie within `lock`, which consists of atomic words.
        let word = unsafe { &*first.add(n) };
        format!("{:#010x}", word.load(Relaxed))
    };
    (0..size_of::<L>() / 4).map(word).collect::<Vec<_>>().join(" ")
}
