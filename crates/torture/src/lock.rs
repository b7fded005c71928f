//! What a lock must offer to be tortured.

use crate::counts::Counts;
use crate::permits::Permits;
use crate::references::References;
use crate::sequence::Sequence;
use crate::tree::Tree;
use std::fmt::Debug;
use turnwise::platform::Deadline;
use turnwise::raw::{RawLock, RawTimedLock};
use turnwise::spin::mcs::McsNode;
use turnwise::{RawCondvar, RawMcsLock, RawMutex, RawReentrantMutex, RawRwSem, Semaphore};

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

    /// The same lock as its readers see it.
    fn shared(&self) -> &dyn Shared {
        unreachable!("not among its abilities: shared")
    }

    /// References that anybody may take.
    fn references(&self) -> &dyn References {
        unreachable!("not among its abilities: references")
    }

    /// The same semaphore, permits by number.
    fn permits(&self) -> &dyn Permits {
        unreachable!("not among its abilities: permits")
    }

    /// The file system that it is.
    fn tree(&self) -> &dyn Tree {
        unreachable!("not among its abilities: tree")
    }

    /// The words of the lock, for a report of who waits.
    fn words(&self) -> String;
}

/// The readers' side of a [`Lock`] whose `acquire` is a writer's. As there, a method that the record does not list is
/// never called.
pub trait Shared: Send + Sync {
    /// Acquires the lock for reading.
    fn read(&self);

    /// Acquires the lock for reading if that is possible at once.
    fn try_read(&self) -> bool;

    /// Acquires the lock for reading, or gives up at `deadline`.
    fn read_until(&self, _deadline: Deadline) -> bool {
        unreachable!("not among its abilities: timed")
    }

    /// Releases a read lock.
    ///
    /// # Safety
    /// The caller has one.
    unsafe fn unlock_read(&self);

    /// Turns the write lock into a read lock.
    ///
    /// # Safety
    /// The caller has the write lock.
    unsafe fn downgrade(&self) {
        unreachable!("not among its abilities: downgrades")
    }

    /// Acquires the lock for upgradable reading, by a try if `at_once`; says whether it got it.
    fn upgradable_read(&self, _at_once: bool) -> bool {
        unreachable!("not among its abilities: upgrades")
    }

    /// Turns the upgradable read lock into the write lock, or gives up at `deadline`; says whether it did.
    ///
    /// # Safety
    /// The caller has the upgradable read lock.
    unsafe fn upgrade(&self, _deadline: Option<Deadline>) -> bool {
        unreachable!("not among its abilities: upgrades")
    }

    /// Turns the write lock into the upgradable read lock.
    ///
    /// # Safety
    /// The caller has the write lock.
    unsafe fn downgrade_to_upgradable(&self) {
        unreachable!("not among its abilities: upgrades")
    }

    /// Releases the upgradable read lock.
    ///
    /// # Safety
    /// The caller has it.
    unsafe fn unlock_upgradable(&self) {
        unreachable!("not among its abilities: upgrades")
    }
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

    fn shared(&self) -> &dyn Shared {
        self
    }

    fn words(&self) -> String {
        words_of(self)
    }
}

// In each method: the caller has the lock in the mode that the trait asks for.
impl Shared for RawRwSem {
    fn read(&self) {
        self.read();
    }

    fn try_read(&self) -> bool {
        self.try_read()
    }

    fn read_until(&self, deadline: Deadline) -> bool {
        self.read_until(deadline)
    }

    unsafe fn unlock_read(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_read() }
    }

    unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.downgrade() }
    }

    fn upgradable_read(&self, at_once: bool) -> bool {
        if at_once {
            return self.try_upgradable_read();
        }
        self.upgradable_read();
        true
    }

    unsafe fn upgrade(&self, deadline: Option<Deadline>) -> bool {
        let upgrade = |deadline| {
            // SAFETY: the caller's promise.
            unsafe { self.upgrade_until(deadline) }
        };
        deadline.map_or_else(
            || {
                // SAFETY: the caller's promise.
                unsafe { self.upgrade() };
                true
            },
            upgrade,
        )
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.downgrade_to_upgradable() }
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.unlock_upgradable() }
    }
}

/// A semaphore with one permit.
pub struct OnePermit<const FAIR: bool>(Semaphore<FAIR>);

impl<const FAIR: bool> OnePermit<FAIR> {
    /// Itself.
    pub fn semaphore(&self) -> &Semaphore<FAIR> {
        &self.0
    }
}

impl<const FAIR: bool> Default for OnePermit<FAIR> {
    fn default() -> Self {
        OnePermit(Semaphore::new_in(1))
    }
}

impl<const FAIR: bool> Lock for OnePermit<FAIR> {
    fn acquire(&self) -> Held {
        self.0.acquire().forget();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.0.try_acquire().map(|permit| {
            permit.forget();
            None
        })
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.0.try_acquire_until(1, deadline).map(|permit| {
            permit.forget();
            None
        })
    }

    unsafe fn release(&self, _held: Held) {
        self.0.release(1);
    }

    fn permits(&self) -> &dyn Permits {
        self
    }

    fn words(&self) -> String {
        words_of(&self.0)
    }
}

/// The re-entrant mutex, entered twice each time.
impl Lock for RawReentrantMutex {
    fn acquire(&self) -> Held {
        self.lock();
        self.lock();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        (self.try_lock() && self.try_lock()).then_some(None)
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        (self.lock_until(deadline) && self.try_lock()).then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock, acquired twice.
        unsafe { self.unlock() };
        // SAFETY: as above.
        unsafe { self.unlock() };
    }

    unsafe fn release_fair(&self, _held: Held) {
        // SAFETY: the caller has the lock, acquired twice.
        unsafe { self.unlock() };
        // SAFETY: as above.
        unsafe { self.unlock_fair() };
    }

    fn words(&self) -> String {
        words_of(self)
    }
}

/// A spin lock that is released without a node.
#[derive(Default)]
pub struct Spin<R>(R);

impl<R: RawTimedLock + Debug> Lock for Spin<R> {
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
