//! The readers-writer semaphore by exchange and add (Linux lib/rwsem.c, 3.8 to 3.10, x86-64): one signed word, fast
//! paths of one instruction, and a list for threads that fail there. It comes without writer lock stealing, with it in
//! the slow path (A. Shi, 3.9), and with it in the fast path (M. Lespinasse, 3.10).
//!
//! | bytes | word | meaning |
//! |---|---|---|
//! | 8 | count | signed: see below |
//! | 8 | `wait_lock` | guards the list: [`KernelTicketLock`] |
//! | 16 | list | the waiters, longest first |
//!
//! count = active + `WAITING` if the list is not empty + `WAITING` if a writer is active, where `WAITING` is -2^32 and
//! active (the low 32 bits) counts the readers and the writer that have the lock, and those that just came and do not
//! know yet whether they have it:
//!
//! | count | state |
//! |---|---|
//! | 0 | free |
//! | n > 0 | n readers |
//! | `WAITING` | free, and the list is not empty |
//! | `WAITING + n` | n readers and a list; or one writer; or a thread that is about to find out |
//! | `2 * WAITING + n` | a writer and a list |
//!
//! Invariants:
//! 1. A reader has the lock if the count was not below 0 when it added 1, or since a granter counted it in.
//! 2. A writer has the lock if active was 0 when it added its bias and, for a newcomer without fast-path stealing, the
//!    list was empty too.
//! 3. `WAITING` is in the count for the list from before `wait_lock` is given back until the list is empty.
//! 4. A thread that takes active to 0 while the count is negative takes `wait_lock` and lets the first in the list
//!    continue.
//!
//! **A release touches the lock after another thread has it**: it takes `wait_lock` after the addition that released.

use crate::ticket::KernelTicketLock;
use crate::wait::{Kind, List, Locked, Waiter};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{DefaultPlatform, IntWord, Platform, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

/// What a thread that has the lock, or is finding out, adds to the count.
const ACTIVE: i64 = 1;
/// The bits that count active threads.
const ACTIVE_MASK: i64 = 0xffff_ffff;
/// What a list that is not empty adds to the count, and an active writer once more.
const WAITING: i64 = -ACTIVE_MASK - 1;
/// What a writer adds to the count.
const WRITER: i64 = WAITING + ACTIVE;

/// A version of the lock. The three types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// Whether a waiting writer is only woken, and any writer in the list may take a free lock.
    const STEALS: bool;
    /// Whether a newcomer may take a free lock although others wait.
    const STEALS_AT_ONCE: bool;
}

versions! {
    /// Linux 3.8: first come, first served in the list.
    Fifo { const STEALS: bool = false; const STEALS_AT_ONCE: bool = false; }
    /// Linux 3.9: writers in the list are woken, and take the lock themselves.
    Stealing { const STEALS: bool = true; const STEALS_AT_ONCE: bool = false; }
    /// Linux 3.10: newly arrived writers may take a free lock at once; waiting ones poll the count before they try.
    FastStealing { const STEALS: bool = true; const STEALS_AT_ONCE: bool = true; }
}

/// What a waker knows about the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// It released the lock; others may already have it.
    Any,
    /// The lock was free a moment ago.
    Free,
    /// Readers have the lock: only readers can join them.
    ReadOwned,
}

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct RwsemXadd<V: Policy, P: Platform = DefaultPlatform> {
    count: P::U64,
    wait_lock: KernelTicketLock<P>,
    list: List<P>,
    policy: PhantomData<V>,
}

lock_basics!(RwsemXadd<V>, |lock| count: format_args!("{:#x}", lock.load()), list: !lock.list.is_empty());

// SAFETY: the count admits one writer when no thread is active; it acquires (rwsem_xadd.write) what others released.
// Guards stay on their thread, as in a kernel.
unsafe impl<V: Policy, P: Platform> RawLock for RwsemXadd<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        RwsemXadd {
            count: P::U64::new(0),
            wait_lock: KernelTicketLock::new_in(),
            list: List::new_in(),
            policy: PhantomData,
        }
    }

    /// Acquires the lock for writing (`down_write`).
    #[inline]
    fn lock(&self) {
        // ORDERING rwsem_xadd.write: pairs with rwsem_xadd.up_write and rwsem_xadd.up_read: former owners are done.
        let before = self.count.fetch_add(WRITER as u64, Acquire) as i64;
        if !Self::may_write(before) {
            self.write_slow();
        }
    }

    /// Acquires the lock for writing if it is free (`down_write_trylock`); with [`FastStealing`] even if others wait.
    #[inline]
    fn try_lock(&self) -> bool {
        let mut count = self.load();
        while Self::may_write(count) {
            // ORDERING rwsem_xadd.write: pairs with rwsem_xadd.up_write and rwsem_xadd.up_read, as in `lock`.
            match self.count.compare_exchange(count as u64, (count + WRITER) as u64, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found as i64,
            }
        }
        false
    }

    /// Releases the write lock (`up_write`).
    #[inline]
    unsafe fn unlock(&self) {
        // ORDERING rwsem_xadd.up_write: pairs with rwsem_xadd.read, rwsem_xadd.write and rwsem_xadd.update.
        self.released(self.count.fetch_sub(WRITER as u64, Release) as i64 - WRITER);
    }

    /// Returns whether any thread has the lock at this moment, or is finding out.
    fn is_locked(&self) -> bool {
        self.load() & ACTIVE_MASK != 0
    }
}

// SAFETY: readers are in while no writer is; rwsem_xadd.read acquires what writers released (rwsem_xadd.up_write), and
// rwsem_xadd.up_read releases to them.
unsafe impl<V: Policy, P: Platform> RawRwLock for RwsemXadd<V, P> {
    /// Acquires the lock for reading (`down_read`).
    #[inline]
    fn read(&self) {
        // ORDERING rwsem_xadd.read: pairs with rwsem_xadd.up_write; shows what the last writer wrote.
        if (self.count.fetch_add(ACTIVE as u64, Acquire) as i64) < 0 {
            self.read_slow();
        }
    }

    /// Acquires the lock for reading if no writer has it and there are no waiters (`down_read_trylock`).
    #[inline]
    fn try_read(&self) -> bool {
        let mut count = self.load();
        while count >= 0 {
            // ORDERING rwsem_xadd.read: pairs with rwsem_xadd.up_write, as in `read`.
            match self.count.compare_exchange(count as u64, (count + ACTIVE) as u64, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found as i64,
            }
        }
        false
    }

    /// Releases a read lock (`up_read`).
    #[inline]
    unsafe fn unlock_read(&self) {
        // ORDERING rwsem_xadd.up_read: pairs with rwsem_xadd.write and rwsem_xadd.update: the writer comes after our
        // reads; every change of the count is an exchange, so it comes after those of the readers before us too.
        self.released(self.count.fetch_sub(ACTIVE as u64, Release) as i64 - ACTIVE);
    }
}

impl<V: Policy, P: Platform> RwsemXadd<V, P> {
    /// Turns the write lock into a read lock (`downgrade_write`), and lets in the readers at the head of the list.
    ///
    /// # Safety
    /// The caller has the write lock, and has a read lock afterwards.
    #[inline]
    pub unsafe fn downgrade(&self) {
        // ORDERING rwsem_xadd.up_write: as in `unlock`, for readers.
        let before = self.count.fetch_sub(WAITING as u64, Release) as i64;
        if before - WAITING < 0 {
            self.wake(&mut self.list.lock(&self.wait_lock), Wake::ReadOwned);
        }
    }

    /// Returns whether there are no waiters at this moment.
    pub fn has_no_waiters(&self) -> bool {
        self.list.is_empty()
    }

    fn load(&self) -> i64 {
        self.count.load(Relaxed) as i64
    }

    /// Returns whether a writer that finds this count as it adds its bias has the lock (invariant 2).
    #[inline]
    fn may_write(before: i64) -> bool {
        if V::STEALS_AT_ONCE { before & ACTIVE_MASK == 0 } else { before == 0 }
    }

    /// Adds to the count; returns the sum.
    fn update(&self, by: i64) -> i64 {
        // ORDERING rwsem_xadd.update: pairs with rwsem_xadd.up_write and rwsem_xadd.up_read, for the thread that gets
        // the lock here, or is granted it.
        (self.count.fetch_add(by as u64, Acquire) as i64).wrapping_add(by)
    }

    /// Completes a release that left `count`.
    #[inline]
    fn released(&self, count: i64) {
        if count < 0 && count & ACTIVE_MASK == 0 {
            self.wake_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_slow(&self) {
        self.wake(&mut self.list.lock(&self.wait_lock), Wake::Any);
    }

    #[cold]
    #[inline(never)]
    fn read_slow(&self) {
        let list = self.list.lock(&self.wait_lock);
        let share = joins(&list);
        list.wait_for_grant(Kind::Read, |list| {
            if self.update(share - ACTIVE) == WAITING {
                self.wake(list, Wake::Free);
            }
        });
    }

    #[cold]
    #[inline(never)]
    fn write_slow(&self) {
        let list = self.list.lock(&self.wait_lock);
        let (first, share) = (list.is_empty(), joins(&list));
        let joined = |list: &mut Locked<'_, P>| {
            let count = self.update(share - WRITER);
            if count == WAITING && !V::STEALS_AT_ONCE {
                self.wake(list, Wake::Free);
            } else if count > WAITING && !first {
                // Others waited before us, and there is no writer: readers ahead may go in.
                self.wake(list, Wake::ReadOwned);
            }
        };
        if V::STEALS {
            drop(list.wait_until(joined, Waiter::sleep, |list, me| self.steal(list, me)));
        } else {
            list.wait_for_grant(Kind::Write, joined);
        }
    }

    /// Takes the lock for a writer in the list, wherever it stands, if it is free.
    fn steal(&self, list: &Locked<'_, P>, me: &Waiter<P>) -> bool {
        let by = WRITER + leaves(list, me);
        if V::STEALS_AT_ONCE { self.exchange(by) } else { self.add_or_undo(list, by) }
    }

    /// Takes a free lock as 3.10 did: poll, then compare-exchange.
    fn exchange(&self, by: i64) -> bool {
        // ORDERING rwsem_xadd.write: pairs with rwsem_xadd.up_write and rwsem_xadd.up_read, as in `lock`.
        self.load() == WAITING
            && self.count.compare_exchange(WAITING as u64, (WAITING + by) as u64, Acquire, Relaxed).is_ok()
    }

    /// Takes a free lock as 3.9 did, only while a writer is first in the list, so that readers keep their turn: add,
    /// and take it back if the lock is held.
    fn add_or_undo(&self, list: &Locked<'_, P>, by: i64) -> bool {
        list.first().is_some_and(|first| first.kind == Kind::Write) && self.try_add(by)
    }

    /// Adds `by` if no thread is active; returns whether it did. If the active ones leave before it is taken back, it
    /// tries again, since they left the waking to us.
    fn try_add(&self, by: i64) -> bool {
        loop {
            if (self.update(by) - by) & ACTIVE_MASK == 0 {
                return true;
            }
            if self.update(-by) & ACTIVE_MASK != 0 {
                return false;
            }
        }
    }

    /// Lets the first in the list continue, and if that is a reader, all before the first writer. The list is not
    /// empty, unless another thread was faster.
    fn wake(&self, list: &mut Locked<'_, P>, why: Wake) {
        let mut readers = false;
        list.grant_first_if(|list, first| {
            readers = first.kind == Kind::Read;
            if readers || why == Wake::ReadOwned {
                return false; // a writer would find the readers
            }
            if V::STEALS {
                first.wake();
                return false;
            }
            self.try_add(WRITER + leaves(list, first))
        });
        if readers {
            self.wake_readers(list, why);
        }
    }

    fn wake_readers(&self, list: &mut Locked<'_, P>, why: Wake) {
        // Only a writer can be in the way: its bias takes the count below `WAITING`.
        let counted_in = if V::STEALS_AT_ONCE {
            if why != Wake::ReadOwned && !self.admit_first_reader() {
                return;
            }
            if why == Wake::ReadOwned { 0 } else { ACTIVE }
        } else {
            // An exchange that changes nothing: the line is about to be written.
            if why == Wake::Any && self.update(0) < WAITING {
                return;
            }
            0
        };
        let (readers, all) = list.readers_first();
        self.update(i64::from(readers) * ACTIVE - counted_in - if all { WAITING } else { 0 });
        for _ in 0..readers {
            list.grant_first_if(|_, _| true);
        }
    }

    /// Counts one reader in before the others are counted, which takes a while; `false`: a newcomer stole the lock.
    fn admit_first_reader(&self) -> bool {
        loop {
            if self.update(ACTIVE) - ACTIVE >= WAITING {
                return true;
            }
            if self.update(-ACTIVE) & ACTIVE_MASK != 0 {
                return false;
            }
        }
    }
}

/// Returns what a waiter that joins the list adds to the count.
fn joins<P: Platform>(list: &Locked<'_, P>) -> i64 {
    if list.is_empty() { WAITING } else { 0 }
}

/// Returns what a waiter that leaves the list adds to the count.
fn leaves<P: Platform>(list: &Locked<'_, P>, waiter: &Waiter<P>) -> i64 {
    if list.is_alone(waiter) { -WAITING } else { 0 }
}

const _: () = assert!(size_of::<RwsemXadd<Fifo>>() == size_of::<RwsemXadd<FastStealing>>(), "stealing is free");
