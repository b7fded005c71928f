//! Handles, and the transactions that they join.

use super::{Change, Config, Journal, Phase};
use crate::host::Host;
use crate::locks::LockSet;
use core::sync::atomic::Ordering::{Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Platform, Word};

/// In [`Transaction::updates`]: a commit waits for the open handles.
pub(super) const DRAINING: u32 = 1 << 31;

/// A set of changes. A line of its own, which every handle writes.
#[repr(align(128))]
pub(super) struct Transaction<P: Platform> {
    pub(super) updates: P::U32,
    credits: P::U32,
    handles: P::U32,
}

impl<P: Platform> Transaction<P> {
    pub(super) fn new_in() -> Self {
        Transaction { updates: P::U32::new(0), credits: P::U32::new(0), handles: P::U32::new(0) }
    }
}

/// A part of the running transaction; it stops when it is dropped.
#[must_use = "a handle that is dropped at once contains no change"]
pub struct Handle<'a, H: Host, L: LockSet<H::Platform>> {
    journal: &'a Journal<H, L>,
    transaction: &'a Transaction<H::Platform>,
    pub(super) turn: u32,
    /// Reserved.
    blocks: u32,
    /// The transaction has had its handles: it is to be committed.
    ends_turn: bool,
}

impl<H: Host, L: LockSet<H::Platform>> Drop for Handle<'_, H, L> {
    fn drop(&mut self) {
        let Config { keep, capacity, .. } = self.journal.config;
        let back = self.blocks.saturating_sub(keep);
        let crowded = self.transaction.credits.fetch_sub(back, Relaxed).wrapping_sub(back) > capacity;
        // ORDERING journal.drained: pairs with the Acquire in `Journal::drain`.
        if self.transaction.updates.fetch_sub(1, Release) == DRAINING | 1 {
            H::Platform::wake(&self.transaction.updates, Lane::Waiters, 1);
        }
        if self.ends_turn || crowded {
            self.journal.ask_for_commit(self.turn);
        }
    }
}

impl<H: Host, L: LockSet<H::Platform>> Journal<H, L> {
    /// Starts a handle: all changes until it is dropped belong to one transaction.
    pub fn start(&self, change: Change) -> Handle<'_, H, L> {
        loop {
            let state = self.state.read();
            let turn = self.turns.load(Relaxed);
            match *state {
                Phase::None => {
                    drop(state);
                    self.begin();
                    continue;
                }
                Phase::Running => {
                    if let Some(handle) = self.join(turn, self.config.reserve.of(change)) {
                        return handle;
                    }
                    let asked = self.is_asked(turn);
                    drop(state);
                    if !asked {
                        self.ask_for_commit(turn);
                    }
                }
                Phase::Locked => drop(state),
            }
            self.await_turn(turn);
        }
    }

    /// Returns a handle of the running transaction, if it has room. Under the read lock.
    fn join(&self, turn: u32, blocks: u32) -> Option<Handle<'_, H, L>> {
        let transaction = self.transaction(turn);
        if !self.reserve(transaction, blocks) {
            return None;
        }
        transaction.updates.fetch_add(1, Relaxed);
        let before = transaction.handles.fetch_add(1, Relaxed);
        let ends_turn = before.wrapping_add(1) == self.config.handles_per_commit;
        Some(Handle { journal: self, transaction, turn, blocks, ends_turn })
    }

    /// Reserves what a handle may change; returns whether there was room.
    fn reserve(&self, transaction: &Transaction<H::Platform>, blocks: u32) -> bool {
        let before = transaction.credits.fetch_add(blocks, Relaxed);
        // One handle always fits, or no thread would make progress.
        let fits = before == 0 || before.saturating_add(blocks) <= self.config.capacity;
        if !fits {
            transaction.credits.fetch_sub(blocks, Relaxed);
        }
        fits
    }

    /// Begins the transaction of this turn, unless another thread did: of all that found none, the first.
    #[cold]
    fn begin(&self) {
        let mut state = self.state.write();
        if *state != Phase::None {
            return;
        }
        let new = self.transaction(self.turns.load(Relaxed));
        new.updates.store(0, Relaxed);
        new.credits.store(0, Relaxed);
        new.handles.store(0, Relaxed);
        *state = Phase::Running;
    }

    /// Sleeps until another transaction runs than at `turn`.
    fn await_turn(&self, turn: u32) {
        while self.turns.load(Relaxed) == turn {
            // The state's lock orders everything else.
            H::Platform::park(&self.turns, turn, Lane::Readers, None);
        }
    }
}
