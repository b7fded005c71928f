//! The readers-writer semaphore on a spin lock (Linux lib/rwsem-spinlock.c, 3.8), before and after `rwsem_stealing`
//! (Y. Han, A. Shi and others, "rwsem-spinlock: Implement writer lock-stealing for better scalability", February 2013).
//!
//! | bytes | word | meaning |
//! |---|---|---|
//! | 4 | activity | how many readers have the lock; 0: free; -1: a writer has it |
//! | 8 | `wait_lock` | guards everything else: [`KernelTicketLock`] |
//! | 16 | list | the waiters, longest first |
//!
//! Every operation is a section under `wait_lock`. Invariants:
//! 1. While readers have the lock, the first in the list is a writer, or the list is empty.
//! 2. Readers are *granted*: the releaser counts them in, takes them from the list and then signals them; the lock is
//!    theirs while they still sleep. With [`Fifo`] this holds for writers too.
//! 3. With [`Stealing`] a writer is only *woken*: it stays in the list, the lock is free, and whichever writer first
//!    finds it so under `wait_lock` takes it and leaves the list, wherever it stands there.
//! 4. The lock is never free while the first in the list is a reader and `wait_lock` is free.
//!
//! **A release touches the lock after another thread has it**: a granted waiter leaves without `wait_lock`, which the
//! granter still has.

use crate::ticket::KernelTicketLock;
use crate::wait::{Kind, List, Locked, Waiter};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{DefaultPlatform, Platform, Word};
use turnwise::raw::{GuardNoSend, RawLock, RawRwLock};

const FREE: u32 = 0;
const WRITER: u32 = FREE.wrapping_sub(1);

/// A version of the lock. The two types below are all there are.
pub trait Policy: crate::sealed::Sealed + Send + Sync + 'static {
    /// Whether a writer may take a free lock although others wait.
    const STEALS: bool;
}

versions! {
    /// The lock before: first come, first served; a writer at the head of the list is granted the lock while it sleeps.
    Fifo { const STEALS: bool = false; }
    /// The lock after: a writer at the head is woken, and any writer may be faster. Readers wait their turn as before.
    Stealing { const STEALS: bool = true; }
}

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct RwsemSpinlock<V: Policy, P: Platform = DefaultPlatform> {
    activity: P::U32,
    wait_lock: KernelTicketLock<P>,
    list: List<P>,
    policy: PhantomData<V>,
}

lock_basics! { RwsemSpinlock<V>, |lock|
    activity: lock.activity.load(Relaxed).cast_signed(), list: !lock.list.is_empty()
}

// SAFETY: each owner changed the count under `wait_lock`, which admits one writer and no other owner with it, and
// orders all sections. Guards stay on their thread, as in a kernel.
unsafe impl<V: Policy, P: Platform> RawLock for RwsemSpinlock<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    fn new_in() -> Self {
        RwsemSpinlock {
            activity: P::U32::new(FREE),
            wait_lock: KernelTicketLock::new_in(),
            list: List::new_in(),
            policy: PhantomData,
        }
    }

    /// Acquires the lock for writing (`down_write`).
    fn lock(&self) {
        let list = self.list.lock(&self.wait_lock);
        if V::STEALS {
            drop(list.wait_until(|_| (), Waiter::sleep, |list, _| self.admit_writer(list)));
        } else if !self.admit_writer(&list) {
            list.wait_for_grant(Kind::Write, |_| ());
        }
    }

    /// Acquires the lock for writing if it is free (`down_write_trylock`): with [`Fifo`] only if there are no waiters,
    /// with [`Stealing`] in any case.
    fn try_lock(&self) -> bool {
        self.admit_writer(&self.list.lock(&self.wait_lock))
    }

    /// Releases the write lock (`up_write`) to the first in the list, and if that is a reader, to all readers before
    /// the first writer.
    unsafe fn unlock(&self) {
        let mut list = self.list.lock(&self.wait_lock);
        self.activity.store(FREE, Relaxed);
        if self.grant_readers(&mut list) == 0 {
            self.let_writer(&mut list);
        }
    }

    fn is_locked(&self) -> bool {
        self.activity.load(Relaxed) != FREE
    }
}

// SAFETY: readers are let in, under `wait_lock`, while no writer is; it orders all sections.
unsafe impl<V: Policy, P: Platform> RawRwLock for RwsemSpinlock<V, P> {
    /// Acquires the lock for reading (`down_read`): at once if no writer has it and there are no waiters.
    fn read(&self) {
        let list = self.list.lock(&self.wait_lock);
        if !self.admit_reader(&list) {
            list.wait_for_grant(Kind::Read, |_| ());
        }
    }

    /// Acquires the lock for reading if no writer has it and there are no waiters (`down_read_trylock`).
    fn try_read(&self) -> bool {
        self.admit_reader(&self.list.lock(&self.wait_lock))
    }

    /// Releases a read lock (`up_read`); the last reader lets the first in the list, a writer, continue.
    unsafe fn unlock_read(&self) {
        let mut list = self.list.lock(&self.wait_lock);
        let readers = self.activity.load(Relaxed) - 1;
        self.activity.store(readers, Relaxed);
        if readers == FREE {
            self.let_writer(&mut list);
        }
    }
}

impl<V: Policy, P: Platform> RwsemSpinlock<V, P> {
    /// Turns the write lock into a read lock (`downgrade_write`), and lets in the readers at the head of the list.
    ///
    /// # Safety
    /// The caller has the write lock, and has a read lock afterwards.
    pub unsafe fn downgrade(&self) {
        let mut list = self.list.lock(&self.wait_lock);
        self.activity.store(1, Relaxed);
        self.grant_readers(&mut list);
    }

    /// Returns whether there are no waiters at this moment.
    pub fn has_no_waiters(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes a read lock if that is allowed.
    fn admit_reader(&self, list: &Locked<'_, P>) -> bool {
        let activity = self.activity.load(Relaxed);
        let may = activity != WRITER && list.is_empty();
        if may {
            self.activity.store(activity + 1, Relaxed);
        }
        may
    }

    /// Takes the write lock if a thread that does not wait, or one that steals, may do so.
    fn admit_writer(&self, list: &Locked<'_, P>) -> bool {
        let may = self.activity.load(Relaxed) == FREE && (V::STEALS || list.is_empty());
        if may {
            self.activity.store(WRITER, Relaxed);
        }
        may
    }

    /// Lets the writer at the head of the list continue, if there is any waiter (invariants 1 and 4: it is not a
    /// reader). The lock is free.
    fn let_writer(&self, list: &mut Locked<'_, P>) {
        list.grant_first_if(|_, first| {
            debug_assert_eq!(first.kind, Kind::Write);
            if V::STEALS {
                first.wake();
            } else {
                self.activity.store(WRITER, Relaxed);
            }
            !V::STEALS
        });
    }

    /// Grants the lock to the readers at the head of the list; returns how many. No writer has the lock.
    fn grant_readers(&self, list: &mut Locked<'_, P>) -> u32 {
        let mut granted = 0;
        while list.grant_first_if(|_, first| first.kind == Kind::Read) {
            granted += 1;
        }
        self.activity.store(self.activity.load(Relaxed) + granted, Relaxed);
        granted
    }
}

const _: () = assert!(size_of::<RwsemSpinlock<Fifo>>() == size_of::<RwsemSpinlock<Stealing>>(), "stealing is free");
