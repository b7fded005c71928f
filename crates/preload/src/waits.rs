//! The waits on condition variables that have released a mutex and will acquire it again: while there are any,
//! `pthread_mutex_destroy` returns EBUSY, as in the C library.
//!
//! In our mutexes they are counted in [`Mutex::waits`], together with the process's generation: in a forked child,
//! where those threads do not exist, the count is void. (In the C library it remains, and `destroy` fails with EBUSY
//! forever.)
//!
//! The C library counts a mutex's users, and its own condition variables leave their waiters in that count. Ours cannot
//! have `pthread_mutex_unlock` do so, so the owner adds 1 for the wait before it, and subtracts it after
//! `pthread_mutex_lock`. Only the owner writes that count, in both libraries. A mutex that was locked before a `fork`
//! has a different owner by its count, and is left alone; so are robust ones, which its `destroy` does not check.

use crate::layout::{LibcUsers, Mutex, kind};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::fence;
use turnwise::platform::native::{generation, tid};

/// The number of bits of [`Mutex::waits`] that count; Linux cannot have more threads than they can count. The other
/// bits are the generation of the waiters, modulo 2^10.
const COUNT_BITS: u32 = 22;
const COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The way a wait was counted, for [`Mutex::uncount_wait`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Counted(u32);

impl Counted {
    /// The wait was not counted.
    pub(crate) const NOT: Counted = Counted(u32::MAX);
    /// The wait was added to the C library's count.
    const BY_LIBC: Counted = Counted(u32::MAX - 1);

    /// Returns the form of a wait in our count, in this generation.
    fn here() -> Counted {
        Counted(generation() << COUNT_BITS)
    }
}

impl Mutex {
    /// Counts a wait in our own mutex, which it will release next.
    pub(crate) fn count_wait(&self) -> Counted {
        let own = Counted::here();
        let add = |waits: u32| Some(if waits & !COUNT == own.0 { waits + 1 } else { own.0 | 1 });
        let _ = self.waits.fetch_update(Relaxed, Relaxed, add);
        own
    }

    /// Counts a wait in a mutex of the C library; [`Counted::NOT`] if the caller does not own it, or if the C library
    /// does not check it.
    pub(crate) fn count_libc_wait(&self) -> Counted {
        let me = tid();
        if me == 0 || self.kind.load(Relaxed) & kind::ROBUST != 0 || self.libc().owner.load(Relaxed) != me {
            return Counted::NOT;
        }
        self.libc().add(1);
        Counted::BY_LIBC
    }

    /// Subtracts a wait from the count, after its thread has reacquired the mutex.
    pub(crate) fn uncount_wait(&self, counted: Counted) {
        match counted {
            Counted::NOT => {}
            Counted::BY_LIBC => self.libc().add(u32::MAX),
            own => {
                let is_counted = |waits: u32| waits & !COUNT == own.0 && waits & COUNT != 0;
                let subtract = |waits: u32| is_counted(waits).then(|| waits - 1);
                // ORDERING mutex.waits: pairs with the Acquire in `is_in_use`: a thread that sees that the wait ended
                // sees that its thread holds the mutex, or held it.
                let _ = self.waits.fetch_update(Release, Relaxed, subtract);
            }
        }
    }

    /// Returns whether our own mutex is held, by `is_locked`, or has waits. A wait that begins moves from the former to
    /// the latter, and back when it ends, so each is checked after the other.
    pub(crate) fn is_in_use(&self, is_locked: impl FnOnce() -> bool) -> bool {
        // ORDERING mutex.waits: pairs with the Release in `uncount_wait`.
        let waits = self.waits.load(Acquire);
        if is_waited(waits) || is_locked() {
            return true;
        }
        // ORDERING mutex.waits: pairs with mutex.release: having seen the mutex released for a wait, we see the wait.
        fence(Acquire);
        is_waited(self.waits.load(Relaxed))
    }

    fn libc(&self) -> &LibcUsers {
        // SAFETY: both types consist of atomic words at the same places, valid with any bytes.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

fn is_waited(waits: u32) -> bool {
    waits & COUNT != 0 && waits & !COUNT == Counted::here().0
}

impl LibcUsers {
    /// Adds to the count. Only the owner calls this.
    fn add(&self, change: u32) {
        self.users.store(self.users.load(Relaxed).wrapping_add(change), Relaxed);
    }
}
