//! Requesting commits, and making them.

use super::handles::{DRAINING, Transaction};
use super::{Journal, Phase};
use crate::host::{Host, Work};
use crate::locks::LockSet;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Platform, Word};

/// In [`Journal::asked`]: the serving thread shall return.
const STOP: u32 = 1;

/// Returns what to ask for so that `turn` ends.
const fn end_of(turn: u32) -> u32 {
    turn.wrapping_add(1) << 1
}

impl<H: Host, L: LockSet<H::Platform>> Journal<H, L> {
    /// Commits whenever others ask for it, until [`Journal::dismiss`]; then each asker does it itself. Without a thread
    /// in here that is so from the start. To be dismissed when no handle is open or being started.
    pub fn serve(&self) {
        self.served.store(1, Relaxed);
        loop {
            // ORDERING journal.asked: pairs with the Release in `ask_for_commit`.
            let asked = self.asked.load(Acquire);
            let turn = self.turns.load(Relaxed);
            if asked & !STOP == end_of(turn) {
                self.commit(turn);
            } else if asked & STOP != 0 {
                break; // and no request is left
            } else {
                H::Platform::park(&self.asked, asked, Lane::Waiters, None);
            }
        }
        self.served.store(0, Relaxed);
        self.asked.fetch_and(!STOP, Relaxed);
    }

    /// Ends [`Journal::serve`]; also the next one, if none has begun.
    pub fn dismiss(&self) {
        // Relaxed: an exchange leaves what others published before it as it was, and we publish nothing.
        self.asked.fetch_or(STOP, Relaxed);
        H::Platform::wake(&self.asked, Lane::Waiters, 1);
    }

    /// Returns whether a thread serves.
    pub fn is_served(&self) -> bool {
        self.served.load(Relaxed) == 1
    }

    /// Returns whether the serving thread knows that the transaction of this turn shall be committed.
    pub(super) fn is_asked(&self, turn: u32) -> bool {
        end_of(turn).wrapping_sub(self.asked.load(Relaxed) & !STOP).cast_signed() <= 0
    }

    /// Has the serving thread commit the transaction of this turn, or does it.
    #[cold]
    pub(super) fn ask_for_commit(&self, turn: u32) {
        if !self.is_served() {
            return self.commit(turn);
        }
        // Only askers write it, except for STOP: what we see does not change.
        let _askers = self.state.write();
        if self.is_asked(turn) {
            return;
        }
        let more = end_of(turn).wrapping_sub(self.asked.load(Relaxed) & !STOP);
        // ORDERING journal.asked: pairs with the load in `serve`.
        self.asked.fetch_add(more, Release);
        H::Platform::wake(&self.asked, Lane::Waiters, 1);
    }

    /// Commits the transaction of this turn, unless another thread did.
    #[cold]
    fn commit(&self, turn: u32) {
        let _one_at_a_time = self.committing.lock();
        if self.turns.load(Relaxed) != turn {
            return;
        }
        *self.state.write() = Phase::Locked;
        self.drain(self.transaction(turn));
        self.retire();
        H::charge(Work::Exactly { ns: self.config.commit_ns });
    }

    /// Waits for the handles of a locked transaction.
    fn drain(&self, transaction: &Transaction<H::Platform>) {
        // ORDERING journal.drained: pairs with the Release in `Handle::drop`; shows what the handles changed.
        let mut updates = transaction.updates.fetch_or(DRAINING, Acquire) | DRAINING;
        while updates != DRAINING {
            H::Platform::park(&transaction.updates, updates, Lane::Waiters, None);
            // ORDERING journal.drained: as above.
            updates = transaction.updates.load(Acquire);
        }
    }

    /// Makes the locked transaction no longer the one of this turn; there is none until a thread wants a handle.
    fn retire(&self) {
        let mut state = self.state.write();
        *state = Phase::None;
        self.turns.fetch_add(1, Relaxed);
        H::Platform::wake(&self.turns, Lane::Readers, u32::MAX);
    }
}
