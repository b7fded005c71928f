//! The waits on condition variables that have released a mutex and will acquire it again: while there are any,
//! `pthread_mutex_destroy` answers EBUSY, as in the C library.
//!
//! In our mutexes they are counted in [`Mutex::waits`], together with the process's generation: in a forked child the
//! count of threads that it does not have is void. (In the C library it stays, and `destroy` says EBUSY for ever.)
//!
//! The C library counts who has a mutex, and its own condition variables leave their waiters in that count. Ours cannot
//! ask `pthread_mutex_unlock` for that, so the owner adds 1 for the wait before it, and takes it off after
//! `pthread_mutex_lock`. Only the owner writes that count, there as here. A mutex that was locked before a `fork` has
//! another owner by its count, and is left alone; so are robust ones, where the C library's `destroy` does not look.

use crate::layout::{LibcUsers, Mutex, kind};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::fence;
use turnwise::platform::native::generation;

/// Bits of [`Mutex::waits`] that count; Linux has no more threads than that. The rest is of which generation they are,
/// modulo 2^10.
const COUNT_BITS: u32 = 22;
const COUNT: u32 = (1 << COUNT_BITS) - 1;

/// How a wait was counted, for [`Mutex::uncount_wait`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Counted(u32);

impl Counted {
    /// Not at all.
    pub(crate) const NOT: Counted = Counted(u32::MAX);
    /// In the C library's count.
    const BY_LIBC: Counted = Counted(u32::MAX - 1);

    /// In ours, by this generation.
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

    /// The same in a mutex of the C library; [`Counted::NOT`] if the caller does not own it, or nobody looks.
    pub(crate) fn count_libc_wait(&self) -> Counted {
        // SAFETY: asks for a number.
        let me = unsafe { libc::syscall(libc::SYS_gettid) };
        if self.kind.load(Relaxed) & kind::ROBUST != 0 || self.libc().owner.load(Relaxed) != me as u32 {
            return Counted::NOT;
        }
        self.libc().add(1);
        Counted::BY_LIBC
    }

    /// Takes a wait off the count, after its thread has acquired the mutex again.
    pub(crate) fn uncount_wait(&self, counted: Counted) {
        match counted {
            Counted::NOT => {}
            Counted::BY_LIBC => self.libc().add(u32::MAX),
            own => {
                let is_counted = |waits: u32| waits & !COUNT == own.0 && waits & COUNT != 0;
                let subtract = |waits: u32| is_counted(waits).then(|| waits - 1);
                // ORDERING mutex.waits: pairs with the Acquire in `is_in_use`: whoever sees the wait gone sees that its
                // thread has the mutex, or had it.
                let _ = self.waits.fetch_update(Release, Relaxed, subtract);
            }
        }
    }

    /// Whether somebody has our own mutex, by `is_locked`, or waits with it. A wait that begins moves from the one to
    /// the other, a wait that ends back, so each is looked at after the other.
    pub(crate) fn is_in_use(&self, is_locked: impl FnOnce() -> bool) -> bool {
        // ORDERING mutex.waits: pairs with the Release in `uncount_wait`.
        let waits = self.waits.load(Acquire);
        if is_waited(waits) || is_locked() {
            return true;
        }
        // ORDERING mutex.waits: pairs with mutex.release: whoever sees the mutex released for a wait sees the wait.
        fence(Acquire);
        is_waited(self.waits.load(Relaxed))
    }

    fn libc(&self) -> &LibcUsers {
        // SAFETY: the same words of the same size; all are atomic, and valid with any bytes.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

fn is_waited(waits: u32) -> bool {
    waits & COUNT != 0 && waits & !COUNT == Counted::here().0
}

impl LibcUsers {
    /// By the owner only.
    fn add(&self, change: u32) {
        self.users.store(self.users.load(Relaxed).wrapping_add(change), Relaxed);
    }
}
