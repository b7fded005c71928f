//! The locks that a thread holds, in the order in which it took them. Other threads search here for a lock's holder.

use crate::journal::{NO_LINE, What};
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, compiler_fence};
use turnwise_recording::Entry;

/// The most locks that a thread is known to hold. Beyond that, the oldest is forgotten.
pub(crate) const HELD: usize = 32;
/// The number of contexts that a thread remembers.
const CONTEXTS: usize = 1024;
/// No lock has this address: in the place of one that another thread released.
pub(crate) const NEVER_HELD: u64 = 1;
/// 2^64 divided by the root of 2. (It differs from the table's: it need not be kept from before the call.)
const MIX: u64 = 0xb504_f333_f9de_6485;

/// [`Held::lock`]: there is something to count after the release. (Locks lie at multiples of 4.)
pub(crate) const PENDING: u64 = 2;

/// A lock that the thread holds.
pub(crate) struct Held {
    /// Its address, and [`PENDING`].
    pub(crate) lock: AtomicU64,
    /// Null: the lock is only written down in the [journal](crate::journal).
    pub(crate) entry: AtomicPtr<Entry>,
    /// Identifies the entry, those of the locks held before it, in their order, and the thread: the next thread reuses
    /// its entries, but knows none of its orders. In the first element, it identifies the thread alone. For a lock that
    /// is only written down, and in the lower half of the first, it is the line.
    context: AtomicU64,
    /// For a lock that is only written down: [`What`].
    what: AtomicU64,
}

impl Held {
    /// Returns the address of its lock.
    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        self.lock.load(Relaxed) & !PENDING
    }

    /// Returns its entry, unless it is only written down.
    #[inline(always)]
    pub(crate) fn entry(&self) -> Option<&'static Entry> {
        // SAFETY: null or an entry, which stays where it is.
        unsafe { self.entry.load(Relaxed).as_ref() }
    }

    /// Marks it as released by another thread, if it still is the lock at this address.
    pub(crate) fn give_up(&self, address: u64) {
        let lock = self.lock.load(Relaxed);
        if lock & !PENDING == address {
            let _ = self.lock.compare_exchange(lock, NEVER_HELD, Relaxed, Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn set(&self, lock: u64, entry: *const Entry, context: u64) {
        self.entry.store(entry.cast_mut(), Relaxed);
        self.context.store(context, Relaxed);
        self.lock.store(lock, Relaxed);
    }

    /// Writes a lock that is only written down.
    #[inline(always)]
    pub(crate) fn set_written(&self, lock: u64, what: What, line: u64) {
        self.what.store(what.0, Relaxed);
        self.set(lock, ptr::null(), line);
    }

    /// Returns its line, if it is only written down; [`NO_LINE`] for the first, which is never held.
    #[inline(always)]
    pub(crate) fn line(&self) -> Option<u32> {
        self.entry.load(Relaxed).is_null().then(|| self.context.load(Relaxed) as u32)
    }

    /// Returns its journal record, if it is only written down.
    pub(crate) fn written(&self) -> Option<What> {
        self.entry.load(Relaxed).is_null().then(|| What(self.what.load(Relaxed)))
    }
}

/// All locks that a thread holds.
#[repr(C)]
pub(crate) struct HeldLocks {
    /// The first is never held. (The array comes first, so that reaching an element takes no separate address.)
    held: [Held; HELD + 1],
    /// The number of locks that the thread is known to hold, but which are not in `held` for lack of room.
    forgotten: AtomicUsize,
    /// Puts the following fields on one cache line.
    apart: [u64; 3],
    /// The number of locks in `held`.
    depth: AtomicUsize,
}

/// The contexts in which a thread took a lock before. They are atomics only so that no call of `memset` clears them for
/// the next thread: a sanitizer of the program would take that for a race.
pub(crate) struct Contexts([AtomicU64; CONTEXTS]);

impl Contexts {
    /// Forgets all contexts.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|known| known.store(0, Relaxed));
    }

    #[inline(always)]
    pub(crate) fn knows(&self, context: u64) -> bool {
        self.slot(context).load(Relaxed) == context
    }

    /// Remembers that the thread took a lock under all others of a context.
    pub(crate) fn remember(&self, context: u64) {
        self.slot(context).store(context, Relaxed);
    }

    #[inline(always)]
    fn slot(&self, context: u64) -> &AtomicU64 {
        &self.0[(context >> (64 - CONTEXTS.ilog2())) as usize]
    }
}

impl HeldLocks {
    /// Begins with the thread of this number.
    pub(crate) fn begin(&self, index: u32) {
        self.end();
        self.forgotten.store(0, Relaxed);
        self.held[0].lock.store(NEVER_HELD, Relaxed);
        self.held[0].context.store(u64::from(index) << 48 | u64::from(NO_LINE), Relaxed);
    }

    /// Forgets all locks.
    pub(crate) fn end(&self) {
        self.depth.store(0, Relaxed);
    }

    /// Returns whether the thread holds locks that are forgotten: under which of them it takes others is not known.
    #[inline(always)]
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten.load(Relaxed) != 0
    }

    /// Notes that the oldest lock is forgotten.
    pub(crate) fn forget_one(&self) {
        self.forgotten.store(self.forgotten.load(Relaxed) + 1, Relaxed);
    }

    /// Notes that the thread releases a lock that it is not known to hold: a forgotten one, if there are any.
    pub(crate) fn release_unknown(&self) {
        self.forgotten.store(self.forgotten.load(Relaxed).saturating_sub(1), Relaxed);
    }

    #[inline(always)]
    pub(crate) fn depth(&self) -> usize {
        self.depth.load(Relaxed)
    }

    /// Adds a lock that the thread has acquired and wrote down in this line of its journal.
    #[inline(always)]
    pub(crate) fn push_written(&self, address: u64, what: What, line: u64) {
        let depth = self.depth();
        let Some(held) = self.held.get(depth + 1) else { return };
        self.set_depth(depth + 1);
        compiler_fence(SeqCst);
        // Not earlier: a signal handler in between would have used the same place. (Until here, another thread sees the
        // lock that the thread last held there.)
        held.set_written(address, what, line);
    }

    #[inline(always)]
    pub(crate) fn set_depth(&self, depth: usize) {
        // ORDERING recorder.held: Release; a waiter that searches for the holder sees the lock before the depth.
        self.depth.store(depth, Release);
    }

    /// Returns the lock at a depth, from 1.
    #[inline(always)]
    pub(crate) fn at(&self, depth: usize) -> &Held {
        &self.held[depth]
    }

    /// Returns all locks that are held.
    pub(crate) fn all(&self) -> &[Held] {
        &self.held[1..=self.depth()]
    }

    /// Returns all locks that another thread holds.
    pub(crate) fn of_another(&self) -> &[Held] {
        // ORDERING recorder.held: Acquire; locks up to the depth are written. They may change during the search: then a
        // neighbour's site is counted once.
        &self.held[1..=self.depth.load(Acquire).min(HELD)]
    }

    /// Returns whether the thread is not known to hold a lock.
    pub(crate) fn lacks(&self, address: u64) -> bool {
        !self.has_forgotten() && self.find(address).is_none()
    }

    /// Returns the depth of a lock that the thread is known to hold.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        (1..=self.depth()).rfind(|depth| self.held[*depth].address() == address)
    }

    /// Returns the context of an entry, those that the thread holds below it, and the thread. `depth`: their number.
    #[inline(always)]
    pub(crate) fn context(&self, depth: usize, entry: *const Entry) -> u64 {
        let below = self.held[depth].context.load(Relaxed);
        match depth {
            0 => entry.addr() as u64 ^ below,
            _ => self.context_under(below, entry),
        }
    }

    /// Returns the context of an entry under others, whose context is `below`.
    #[inline(always)]
    pub(crate) fn context_under(&self, below: u64, entry: *const Entry) -> u64 {
        (below.rotate_left(32) ^ entry.addr() as u64).wrapping_mul(MIX)
    }

    /// Writes a lock that the thread is about to try into the place it will have if acquired. `ordered`: it would wait.
    /// `false`: it holds others, and takes this one under them for the first time; or it holds too many.
    #[inline(always)]
    pub(crate) fn announce(&self, contexts: &Contexts, entry: &Entry, address: u64, ordered: bool) -> bool {
        let depth = self.depth();
        if depth >= HELD {
            return false;
        }
        let context = self.context(depth, entry);
        if depth != 0 && ordered && entry.mutex_or_under.load(Relaxed) != context {
            if !contexts.knows(context) {
                return false;
            }
            entry.mutex_or_under.store(context, Relaxed);
        }
        self.held[depth + 1].set(address, entry, context);
        true
    }

    /// Confirms that the thread acquired the lock that it announced, without a wait. (If a signal handler forked in
    /// between, the child changes memory that it does not read before reinitialising it.)
    #[inline(always)]
    pub(crate) fn confirm(&self, entry: &Entry, address: u64) {
        let depth = self.depth();
        let Some(held) = self.held.get(depth + 1) else { return };
        self.set_depth(depth + 1);
        compiler_fence(SeqCst);
        // A signal handler in between used the same place, and has left it: later ones use the next.
        if !ptr::eq(held.entry.load(Relaxed), entry) {
            cold_path();
            held.set(address, entry, self.context(depth, entry));
        }
    }

    /// Removes the lock that the thread took last, if nothing is to be counted. `false`: it is another, or something
    /// is.
    #[inline(always)]
    pub(crate) fn pop(&self, address: u64) -> bool {
        let depth = self.depth();
        // The element before the first lock is never held.
        let last = self.held.get(depth).is_some_and(|held| held.lock.load(Relaxed) == address);
        if last {
            self.depth.store(depth.wrapping_sub(1), Relaxed);
        }
        last
    }
}
