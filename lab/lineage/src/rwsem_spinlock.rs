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
use crate::wait::{ASLEEP, AWAKE, Kind, List, Waiter};
use crate::word;
use core::fmt;
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

/// The lock before: first come, first served; a writer at the head of the list is granted the lock while it sleeps.
pub struct Fifo;
/// The lock after: a writer at the head is woken, and any writer may be faster. Readers wait their turn as before.
pub struct Stealing;

impl Policy for Fifo {
    const STEALS: bool = false;
}
impl Policy for Stealing {
    const STEALS: bool = true;
}

seal!(Fifo, Stealing);

/// The lock without data, in the version `V`. Zero bytes are an unlocked lock.
#[repr(C)]
pub struct RwsemSpinlock<V: Policy, P: Platform = DefaultPlatform> {
    activity: P::U32,
    wait_lock: KernelTicketLock<P>,
    list: List<P>,
    policy: PhantomData<V>,
}

unlocked!(RwsemSpinlock<V> {
    activity: word(FREE),
    wait_lock: KernelTicketLock::new(),
    list: List::new(),
    policy: PhantomData,
});

// SAFETY: each owner changed the count under `wait_lock`, which admits one writer and no other owner with it, and
// orders all sections. Guards stay on their thread, as in a kernel.
unsafe impl<V: Policy, P: Platform> RawLock for RwsemSpinlock<V, P> {
    type Platform = P;
    type GuardMarker = GuardNoSend;

    /// Creates an unlocked lock on any platform.
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
        self.wait_lock.lock();
        if V::STEALS {
            self.wait_and_steal();
        } else if self.admit_writer() {
            self.leave_section();
        } else {
            self.wait_for_grant(Kind::Write);
        }
    }

    /// Acquires the lock for writing if it is free (`down_write_trylock`): with [`Fifo`] only if there are no waiters,
    /// with [`Stealing`] in any case.
    fn try_lock(&self) -> bool {
        self.wait_lock.with(|| self.admit_writer())
    }

    /// Releases the write lock (`up_write`) to the first in the list, and if that is a reader, to all readers before
    /// the first writer.
    unsafe fn unlock(&self) {
        self.wait_lock.with(|| {
            self.activity.store(FREE, Relaxed);
            if self.grant_readers() == 0 {
                self.let_writer();
            }
        });
    }

    /// Returns whether the lock is held at this moment.
    fn is_locked(&self) -> bool {
        self.activity.load(Relaxed) != FREE
    }
}

// SAFETY: readers are let in, under `wait_lock`, while no writer is; it orders all sections.
unsafe impl<V: Policy, P: Platform> RawRwLock for RwsemSpinlock<V, P> {
    /// Acquires the lock for reading (`down_read`): at once if no writer has it and there are no waiters.
    fn read(&self) {
        self.wait_lock.lock();
        if self.admit_reader() {
            self.leave_section();
        } else {
            self.wait_for_grant(Kind::Read);
        }
    }

    /// Acquires the lock for reading if no writer has it and there are no waiters (`down_read_trylock`).
    fn try_read(&self) -> bool {
        self.wait_lock.with(|| self.admit_reader())
    }

    /// Releases a read lock (`up_read`); the last reader lets the first in the list, a writer, continue.
    unsafe fn unlock_read(&self) {
        self.wait_lock.with(|| {
            let readers = self.activity.load(Relaxed) - 1;
            self.activity.store(readers, Relaxed);
            if readers == FREE {
                self.let_writer();
            }
        });
    }
}

impl<V: Policy, P: Platform> RwsemSpinlock<V, P> {
    /// Turns the write lock into a read lock (`downgrade_write`), and lets in the readers at the head of the list.
    ///
    /// # Safety
    /// The caller has the write lock, and has a read lock afterwards.
    pub unsafe fn downgrade(&self) {
        self.wait_lock.with(|| {
            self.activity.store(1, Relaxed);
            self.grant_readers();
        });
    }

    /// Returns whether there are no waiters at this moment.
    pub fn has_no_waiters(&self) -> bool {
        self.list.is_empty()
    }

    /// Ends the section under `wait_lock`.
    fn leave_section(&self) {
        // SAFETY: contract of `RawLock::unlock`: the caller has `wait_lock`, and calls this once.
        unsafe { self.wait_lock.unlock() };
    }

    /// Takes a read lock if that is allowed. The caller has `wait_lock`.
    fn admit_reader(&self) -> bool {
        let activity = self.activity.load(Relaxed);
        let may = activity != WRITER && self.list.is_empty();
        if may {
            self.activity.store(activity + 1, Relaxed);
        }
        may
    }

    /// Takes the write lock if a thread that does not wait may do so. The caller has `wait_lock`.
    fn admit_writer(&self) -> bool {
        let may = self.activity.load(Relaxed) == FREE && (V::STEALS || self.list.is_empty());
        if may {
            self.activity.store(WRITER, Relaxed);
        }
        may
    }

    /// Waits in the list until the lock is granted to us. The caller has `wait_lock`, which is released.
    #[cold]
    fn wait_for_grant(&self, kind: Kind) {
        let me = Waiter::new(kind, ASLEEP);
        // SAFETY: contract of `List::push`: we have the list's lock; the node stays until it is granted, hence removed.
        unsafe { self.list.push(&me) };
        self.leave_section();
        me.await_grant();
    }

    /// Waits in the list, and takes the lock when it is free. The caller has `wait_lock`, which is released.
    fn wait_and_steal(&self) {
        let me = Waiter::new(Kind::Write, AWAKE);
        // SAFETY: contract of `List::push`: we have the list's lock; the node stays until it is removed below.
        unsafe { self.list.push(&me) };
        while self.activity.load(Relaxed) != FREE {
            me.word.store(ASLEEP, Relaxed);
            self.leave_section();
            me.sleep();
            self.wait_lock.lock();
        }
        self.activity.store(WRITER, Relaxed);
        // SAFETY: contract of `List::remove`: we have the list's lock, and are in the list.
        unsafe { self.list.remove(&me) };
        self.leave_section();
    }

    /// Lets the writer at the head of the list continue, if there is any waiter (invariants 1 and 4: it is not a
    /// reader). The caller has `wait_lock`; the lock is free.
    fn let_writer(&self) {
        // SAFETY: contract of `List::first`: we have the list's lock.
        let Some(first) = (unsafe { self.list.first() }) else { return };
        debug_assert_eq!(first.kind, Kind::Write);
        if V::STEALS {
            first.wake();
        } else {
            self.activity.store(WRITER, Relaxed);
            // SAFETY: contract of `List::remove`: we have the list's lock, and it is the first there.
            unsafe {
                self.list.remove(first);
                Waiter::grant(first);
            }
        }
    }

    /// Grants the lock to the readers at the head of the list; returns how many. The caller has `wait_lock`; no writer
    /// has the lock.
    fn grant_readers(&self) -> u32 {
        let mut granted = 0;
        // SAFETY: contract of `List::first`: we have the list's lock, and forget the waiter when it is granted.
        while let Some(first) = unsafe { self.list.first() }.filter(|first| first.kind == Kind::Read) {
            // SAFETY: contract of `List::remove`: we have the list's lock, and it is the first there; granted once.
            unsafe {
                self.list.remove(first);
                Waiter::grant(first);
            }
            granted += 1;
        }
        self.activity.store(self.activity.load(Relaxed) + granted, Relaxed);
        granted
    }
}

impl<V: Policy, P: Platform> fmt::Debug for RwsemSpinlock<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let activity = self.activity.load(Relaxed).cast_signed();
        f.debug_struct("RwsemSpinlock").field("activity", &activity).field("list", &!self.list.is_empty()).finish()
    }
}

const _: () = assert!(size_of::<RwsemSpinlock<Fifo>>() == size_of::<RwsemSpinlock<Stealing>>(), "stealing is free");
