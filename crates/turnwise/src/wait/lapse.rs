//! The lapse of a pending hand-off.
//!
//! A lock may be free but reserved for one thread: one that requested a hand-off, that was woken for it, or that sleeps
//! and precedes newcomers. A signal handler, a debugger or the scheduler may keep that thread from coming. A thread
//! that finds such a lock waits [`reserved_ns`](super::Policy::reserved_ns), then takes the lock and clears the
//! hand-off in its word.
//!
//! A word has no room for the time of a hand-off, so each thread goes by what it found itself, and notes it in its
//! slot: one that only tries, or that times out sooner, resumes that wait when it comes again. The note is void as soon
//! as the thread finds another word, and if it was not confirmed for the lifetime of a hand-off. Still it may be older
//! than the hand-off: then that is cut short, and its thread waits as if it had never been handed the lock.

use super::policy;
use crate::platform::{Clock, Deadline, Platform};

/// A lock that a thread found free but reserved for another.
#[derive(Clone, Copy)]
pub(crate) struct Reserved {
    /// The address of the lock, or 0 for none.
    address: usize,
    /// Its word.
    word: u32,
    /// When it was first found so.
    since: u64,
    /// When it was last found so.
    seen: u64,
}

impl Reserved {
    pub(crate) const NONE: Reserved = Reserved { address: 0, word: 0, since: 0, seen: 0 };

    /// Returns until when the lock at `address`, in whose word the calling thread finds it reserved now, stays so.
    fn until<P: Platform>(address: usize, word: u32) -> u64 {
        let now = P::now();
        let mut found = Reserved { address, word, since: now, seen: now };
        if let Some(me) = P::me() {
            let noted = me.slot.private.reserved.get();
            let is_void = now.saturating_sub(noted.seen) > policy().reserved_ns;
            if (noted.address, noted.word) == (address, word) && !is_void {
                found.since = noted.since;
            }
            me.slot.private.reserved.set(found);
        }
        found.since.saturating_add(policy().reserved_ns)
    }

    /// Forgets that the lock at `address` was reserved.
    fn forget<P: Platform>(address: usize) {
        if let Some(me) = P::me()
            && me.slot.private.reserved.get().address == address
        {
            me.slot.private.reserved.set(Reserved::NONE);
        }
    }
}

/// What a thread that waits, or tries, knows of a hand-off to another.
#[derive(Clone, Copy)]
pub(crate) struct Lapse {
    /// When the hand-off that it found pending on the free lock lapses; 0 if it found none.
    at: u64,
}

impl Lapse {
    pub(crate) const NONE: Lapse = Lapse { at: 0 };

    /// Returns whether the thread may take the lock at `address` despite a hand-off. `reserved`: by this word, it is
    /// free, but reserved.
    pub(crate) fn has_come<P: Platform>(&mut self, address: usize, word: u32, reserved: bool) -> bool {
        if !reserved {
            self.at = 0;
            Reserved::forget::<P>(address);
            return false;
        }
        let until = Reserved::until::<P>(address, word);
        if self.at == 0 {
            self.at = until;
        }
        P::now() >= self.at
    }

    /// Forgets the hand-off that it found, which is over.
    pub(crate) fn end<P: Platform>(&mut self, address: usize) {
        if self.at != 0 {
            self.at = 0;
            Reserved::forget::<P>(address);
        }
    }

    /// Returns when a sleep ends: at the caller's deadline, or when the hand-off lapses.
    pub(crate) fn or_at<P: Platform>(self, deadline: Option<Deadline>) -> Option<Deadline> {
        if self.at == 0 { deadline } else { earlier::<P>(deadline, self.at) }
    }
}

/// Returns the earlier of a deadline, if there is one, and the time `at`.
pub(super) fn earlier<P: Platform>(deadline: Option<Deadline>, at: u64) -> Option<Deadline> {
    match deadline {
        Some(own) if own.monotonic::<P>() <= at => deadline,
        _ => Some(Deadline { clock: Clock::Monotonic, at }),
    }
}
