//! The journal: every change of the file system is part of a transaction, and a transaction is committed as a whole.
//!
//! It has the shape that makes AIM7's `creat_clo` hard, which is that of ext4's journal (jbd2) in 2012 as we recall it:
//! a handle is started under a read lock of the journal's state, and writes three counters of the running transaction
//! that all CPUs share. Nothing is written to a disk; the cost of a commit is charged.
//!
//! The state's write lock is taken by
//! - a commit, when it locks the transaction and when it retires it; it wakes all threads that waited for that before
//!   it releases the lock, so that they come for the read lock while it still wakes others;
//! - a thread that comes for a handle and finds no running transaction, as after a commit all threads do that were
//!   woken at once: the first begins one, the others check and start over;
//! - a thread that finds no room in the running transaction, to request its commit, unless another did;
//! - a thread that ends a handle and finds more reserved than a transaction may have, as when many fail: for that, too.
//!
//! | what | ext4's | written by |
//! |---|---|---|
//! | `state` | `j_state_lock` and what it protects | handles read; writers: see above |
//! | `updates` | `t_updates`: open handles; the top bit means that a commit waits for them | every handle, twice |
//! | `credits` | `t_outstanding_credits`: blocks that open handles may still change | every handle, twice |
//! | `handles` | `t_handle_count` | every handle, once |
//! | `turns` | transactions retired; threads that wait for that sleep on it (`j_wait_transaction_locked`) | commits |
//! | `asked` | `j_commit_request`; the serving thread sleeps on it (`j_wait_commit`) | askers |
//! | `orphans` | `s_orphan` under the global `s_orphan_lock` | every truncation, twice |
//!
//! Invariants:
//! 1. The phase changes under the write lock; a handle joins under the read lock, and only a running transaction.
//! 2. A locked transaction gets no new handles, so its `updates` only fall; it is retired when they are 0. So no handle
//!    sees `turns` change.
//! 3. The thread that brings the `updates` of a locked transaction to 0 wakes the commit.
//! 4. `turns` changes under the write lock: a thread that saw it under the read lock and sleeps on that value is woken.
//! 5. One commit at a time: `committing`.
//! 6. A handle's owner takes no lock that a thread may hold while starting one. Inode locks come first.
//!
//! | file | what |
//! |---|---|
//! | `config.rs` | what handles are for, what they reserve, how the journal behaves |
//! | `handles.rs` | handles, and the transactions that they join |
//! | `committing.rs` | requesting commits, and making them |

mod committing;
mod config;
mod handles;
#[cfg(test)]
mod tests;

pub use config::{Change, Config, Credits};
pub use handles::Handle;

use crate::host::{Host, Work};
use crate::locks::{LockSet, Shared};
use core::sync::atomic::Ordering::Relaxed;
use handles::Transaction;
use std::collections::BTreeSet;
use turnwise::Lock;
use turnwise::platform::{Platform, Word};

/// What the transaction of this turn accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is none: a thread that wants a handle begins it.
    None,
    /// Handles.
    Running,
    /// Nothing: a commit has begun.
    Locked,
}

/// The journal of a file system.
#[repr(align(128))]
pub struct Journal<H: Host, L: LockSet<H::Platform>> {
    config: Config,
    state: Shared<L::RwSpin, Phase>,
    turns: <H::Platform as Platform>::U32,
    /// What the serving thread sleeps on: twice the number of turns that are wanted, plus [`STOP`].
    asked: <H::Platform as Platform>::U32,
    /// 1: a thread does nothing but commit.
    served: <H::Platform as Platform>::U32,
    committing: Lock<L::Mutex, ()>,
    /// Inodes of the files that are being shortened, which a crash would leave half done.
    orphans: Lock<L::Mutex, BTreeSet<u64>>,
    /// Of even and of odd turns: one may be written while the next runs.
    transactions: [Transaction<H::Platform>; 2],
}

impl<H: Host, L: LockSet<H::Platform>> Journal<H, L> {
    /// Makes an empty journal.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let word = <H::Platform as Platform>::U32::new;
        Journal {
            config,
            state: Shared::new_in(Phase::None),
            turns: word(0),
            asked: word(0),
            served: word(0),
            committing: Lock::new_in(()),
            orphans: Lock::new_in(BTreeSet::new()),
            transactions: [Transaction::new_in(), Transaction::new_in()],
        }
    }

    /// Transactions committed so far.
    pub fn commits(&self) -> u32 {
        self.turns.load(Relaxed)
    }

    /// Makes a change that shortens a file: until that is done the file is an orphan, so that a crash in between would
    /// be found.
    pub fn truncate<R>(&self, inode: u64, work: impl FnOnce() -> R) -> R {
        let handle = self.start(Change::Truncate);
        self.visit_orphans(|orphans| orphans.insert(inode));
        let result = work();
        self.visit_orphans(|orphans| orphans.remove(&inode));
        drop(handle);
        for _ in 1..self.config.truncate_handles {
            drop(self.start(Change::Attributes));
        }
        result
    }

    fn visit_orphans(&self, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) {
        let mut orphans = self.orphans.lock();
        H::charge(Work::Exactly { ns: self.config.orphan_ns });
        change(&mut orphans);
    }

    /// Files that are being shortened.
    pub fn orphans(&self) -> Vec<u64> {
        self.orphans.lock().iter().copied().collect()
    }

    /// Returns the transaction of a turn.
    fn transaction(&self, turn: u32) -> &Transaction<H::Platform> {
        &self.transactions[turn as usize % 2]
    }
}
