//! When a promise lapses.
//!
//! A lock may be free and kept for one thread: one that claimed the next turn, that was woken for it, or that sleeps
//! and goes before those that come. That thread may be kept from coming, by a signal handler, a debugger or its
//! scheduler. Who finds such a lock waits [`kept_ns`](super::Policy::kept_ns), and then takes the lock and the promise
//! out of its word.
//!
//! A word has no room for the time of a promise, so each thread goes by what it found itself, and notes it in its slot:
//! one that tries, or whose time is out sooner, goes on waiting when it comes again. Such a note may be older than the
//! promise: then that is cut short, and its thread waits as one that was never promised anything.

use super::policy;
use crate::platform::{Clock, Deadline, Platform};

/// A lock that a thread found free and kept for another, and since when.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    /// The address of the lock; 0: none.
    address: usize,
    since: u64,
}

impl Kept {
    pub(crate) const NONE: Kept = Kept { address: 0, since: 0 };

    /// Returns until when the lock at `address` is kept for another, as the calling thread finds now.
    fn until<P: Platform>(address: usize) -> u64 {
        let new = || Kept { address, since: P::now() };
        let kept = P::me().map_or_else(new, |me| {
            let kept = &me.slot.private.kept;
            if kept.get().address != address {
                kept.set(new());
            }
            kept.get()
        });
        kept.since.saturating_add(policy().kept_ns)
    }

    /// Whether a thread that tries may take the lock at `address`, which it finds free and kept for another.
    #[cold]
    pub(crate) fn has_lapsed<P: Platform>(address: usize) -> bool {
        let lapsed = P::now() >= Self::until::<P>(address);
        if lapsed {
            Self::forget::<P>(address);
        }
        lapsed
    }

    /// Forgets that the lock at `address` was kept.
    fn forget<P: Platform>(address: usize) {
        if let Some(me) = P::me()
            && me.slot.private.kept.get().address == address
        {
            me.slot.private.kept.set(Kept::NONE);
        }
    }
}

/// What a waiter knows of a promise to another.
#[derive(Clone, Copy)]
pub(crate) struct Lapse {
    /// When the promise lapses that it found on the free lock; 0: it found none.
    at: u64,
}

impl Lapse {
    pub(crate) const NONE: Lapse = Lapse { at: 0 };

    /// Whether the waiter may take the lock at `address` in spite of a promise. `kept`: the lock is free, but for that.
    pub(crate) fn has_come<P: Platform>(&mut self, address: usize, kept: bool) -> bool {
        if !kept {
            self.end::<P>(address);
            return false;
        }
        if self.at == 0 {
            self.at = Kept::until::<P>(address);
        }
        P::now() >= self.at
    }

    /// The promise that it found is no more.
    pub(crate) fn end<P: Platform>(&mut self, address: usize) {
        if self.at != 0 {
            self.at = 0;
            Kept::forget::<P>(address);
        }
    }

    /// Returns when a sleep ends: at the caller's deadline, or when the promise lapses.
    pub(crate) fn or_at<P: Platform>(self, deadline: Option<Deadline>) -> Option<Deadline> {
        match deadline {
            _ if self.at == 0 => deadline,
            Some(own) if own.monotonic::<P>() <= self.at => deadline,
            _ => Some(Deadline { clock: Clock::Monotonic, at: self.at }),
        }
    }
}
