//! The journal: every change of the file system is part of a transaction, and a transaction is committed as a whole.
//!
//! It has the shape that makes AIM7's `creat_clo` hard, which is that of ext4's journal (jbd2) in 2012 as we recall
//! it: a handle is started under a read lock of the journal's state, and writes three counters of the running
//! transaction that all CPUs share. Nothing is written to a disk; what a commit costs is charged.
//!
//! The state's write lock is taken by
//! - a commit, when it locks the transaction and when it retires it; it wakes all who waited for that before it
//!   releases the lock, so that they come for the read lock while it still wakes others;
//! - whoever comes for a handle and finds no running transaction, as after a commit all do who were woken at once: the
//!   first begins one, the others look and start over;
//! - whoever finds no room in the running transaction, to ask for its commit, unless somebody did;
//! - whoever ends a handle and finds more reserved than a transaction may have, as when many try in vain: to ask, too.
//!
//! | what | ext4's | who writes it |
//! |---|---|---|
//! | `state` | `j_state_lock` and what it protects | handles read; who writes: see above |
//! | `updates` | `t_updates`: open handles; the top bit says that a commit waits for them | every handle, twice |
//! | `credits` | `t_outstanding_credits`: blocks that open handles may yet change | every handle, twice |
//! | `handles` | `t_handle_count` | every handle, once |
//! | `turns` | transactions retired; those who wait for that sleep on it (`j_wait_transaction_locked`) | commits |
//! | `asked` | `j_commit_request`; who serves sleeps on it (`j_wait_commit`) | askers |
//! | `orphans` | `s_orphan` under the global `s_orphan_lock` | every truncation, twice |
//!
//! Invariants:
//! 1. The phase changes under the write lock; a handle joins under the read lock, and only a running transaction.
//! 2. A locked transaction gets no new handles, so its `updates` only fall; it is retired when they are 0. So no handle
//!    sees `turns` change.
//! 3. Whoever brings the `updates` of a locked transaction to 0 wakes the commit.
//! 4. `turns` changes under the write lock: who saw it under the read lock and then sleeps on that value is woken.
//! 5. One commit at a time: `committing`.
//! 6. A handle's owner takes no lock that somebody may hold while starting one. Inode locks come first.

use crate::host::{Host, Work};
use crate::locks::{Guarded, LockSet, ShGuarded};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Platform, Word};

/// What a handle is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A new file, directory or symbolic link.
    Create,
    /// Another name.
    Link,
    /// A name that goes.
    Remove,
    /// A name that moves.
    Rename,
    /// A file that is cut off or grows without data.
    Truncate,
    /// Data.
    Write,
    /// Times, owner, mode.
    Attributes,
}

/// Blocks that a handle may change, by what it is for: reserved while it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credits {
    /// For [`Change::Create`].
    pub create: u32,
    /// For [`Change::Link`].
    pub link: u32,
    /// For [`Change::Remove`].
    pub remove: u32,
    /// For [`Change::Rename`].
    pub rename: u32,
    /// For [`Change::Truncate`].
    pub truncate: u32,
    /// For [`Change::Write`].
    pub write: u32,
    /// For [`Change::Attributes`].
    pub attributes: u32,
}

impl Credits {
    /// Those of ext4 in 2012 with extents and without quotas, as we recall them (provisional): a change of data counts
    /// as 31 blocks, one of an index as 8 more, and a removal as two changes of data and 64; what is written gets its
    /// blocks later, in handles that we do not have.
    pub const EXT4: Credits =
        Credits { create: 42, link: 39, remove: 126, rename: 72, truncate: 8, write: 1, attributes: 2 };

    /// The same for all.
    #[must_use]
    pub const fn all(blocks: u32) -> Credits {
        Credits {
            create: blocks,
            link: blocks,
            remove: blocks,
            rename: blocks,
            truncate: blocks,
            write: blocks,
            attributes: blocks,
        }
    }

    const fn of(&self, change: Change) -> u32 {
        match change {
            Change::Create => self.create,
            Change::Link => self.link,
            Change::Remove => self.remove,
            Change::Rename => self.rename,
            Change::Truncate => self.truncate,
            Change::Write => self.write,
            Change::Attributes => self.attributes,
        }
    }
}

/// How the journal behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// A transaction is committed after so many handles.
    pub handles_per_commit: u32,
    /// Blocks that a handle may change: reserved while it is open.
    pub reserve: Credits,
    /// Of these, blocks that stay reserved in the transaction after it.
    pub keep: u32,
    /// Blocks of a transaction; a handle for which there is no room waits for the next one.
    pub capacity: u32,
    /// Handles that one truncation starts, one at least: those after the first are for the file's times.
    pub truncate_handles: u32,
    /// What either visit to the list of orphans costs, under its lock.
    pub orphan_ns: u32,
    /// What a commit costs, after the next transaction runs.
    pub commit_ns: u32,
}

/// A journal that nothing but the number of handles fills, with a truncation in one handle.
impl Default for Config {
    fn default() -> Config {
        Config {
            handles_per_commit: 1000,
            reserve: Credits::EXT4,
            keep: 0,
            capacity: u32::MAX,
            truncate_handles: 1,
            orphan_ns: 0,
            commit_ns: 100_000,
        }
    }
}

impl Config {
    /// A journal of so many MiB, in blocks of 4 KiB: a transaction may have a quarter of it, and is committed when that
    /// is reserved.
    #[must_use]
    pub fn of_mib(mib: u32) -> Config {
        Config { handles_per_commit: u32::MAX, capacity: mib.saturating_mul(64), ..Config::default() }
    }
}

/// In [`Transaction::updates`]: a commit waits for the open handles.
const DRAINING: u32 = 1 << 31;

/// A set of changes. A line of its own, which every handle writes.
#[repr(align(128))]
struct Transaction<P: Platform> {
    updates: P::U32,
    credits: P::U32,
    handles: P::U32,
}

impl<P: Platform> Transaction<P> {
    fn new_in() -> Self {
        Transaction { updates: P::U32::new(0), credits: P::U32::new(0), handles: P::U32::new(0) }
    }
}

/// What the transaction of this turn takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is none: whoever wants a handle begins it.
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
    state: ShGuarded<L::RwSpin, Phase>,
    turns: <H::Platform as Platform>::U32,
    /// What the thread that serves sleeps on: twice the number of turns that are wanted, plus [`STOP`].
    asked: <H::Platform as Platform>::U32,
    /// 1: a thread does nothing but commit.
    served: <H::Platform as Platform>::U32,
    committing: Guarded<L::Mutex, ()>,
    orphans: Guarded<L::Mutex, Orphans>,
    /// Of even and of odd turns: one may be written while the next runs.
    transactions: [Transaction<H::Platform>; 2],
}

/// In [`Journal::asked`]: the thread that serves shall return.
const STOP: u32 = 1;

/// What to ask for so that `turn` ends.
const fn end_of(turn: u32) -> u32 {
    turn.wrapping_add(1) << 1
}

impl<H: Host, L: LockSet<H::Platform>> Journal<H, L> {
    /// An empty journal.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let word = <H::Platform as Platform>::U32::new;
        Journal {
            config,
            state: ShGuarded::new(Phase::None),
            turns: word(0),
            asked: word(0),
            served: word(0),
            committing: Guarded::new(()),
            orphans: Guarded::new(Orphans::default()),
            transactions: [Transaction::new_in(), Transaction::new_in()],
        }
    }

    /// Transactions committed so far.
    pub fn commits(&self) -> u32 {
        self.turns.load(Relaxed)
    }

    /// Starts a handle: what is changed until it goes belongs to one transaction.
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

    /// Makes a change that is one handle.
    pub fn change<R>(&self, change: Change, work: impl FnOnce() -> R) -> R {
        let _handle = self.start(change);
        work()
    }

    /// Makes a change that shortens a file: until that is done the file is an orphan, so that a crash in between would
    /// be found.
    pub fn truncate<R>(&self, inode: u64, work: impl FnOnce() -> R) -> R {
        let handle = self.start(Change::Truncate);
        let orphan = self.add_orphan(inode);
        let result = work();
        self.remove_orphan(orphan);
        drop(handle);
        for _ in 1..self.config.truncate_handles {
            drop(self.start(Change::Attributes));
        }
        result
    }

    /// Puts a file on the list of those that a crash would leave half done.
    fn add_orphan(&self, inode: u64) -> u32 {
        let mut orphans = self.orphans.lock();
        H::charge(Work::Exactly { ns: self.config.orphan_ns });
        orphans.add(inode)
    }

    fn remove_orphan(&self, orphan: u32) {
        let mut orphans = self.orphans.lock();
        H::charge(Work::Exactly { ns: self.config.orphan_ns });
        orphans.remove(orphan);
    }

    /// Files that are being shortened.
    pub fn orphans(&self) -> Vec<u64> {
        self.orphans.lock().all()
    }

    /// Commits as long as others ask for it, until [`Journal::dismiss`]; then whoever asks does it alone. Without a
    /// thread in here that is so from the start. To be dismissed when nobody has a handle or starts one.
    pub fn serve(&self) {
        self.served.store(1, Relaxed);
        loop {
            // ORDERING journal.asked: pairs with the Release in `ask_for_commit`.
            let asked = self.asked.load(Acquire);
            let turn = self.turns.load(Relaxed);
            if asked & !STOP == end_of(turn) {
                self.commit(turn);
            } else if asked & STOP != 0 {
                break; // and nobody's wish is left
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

    /// Whether a thread serves.
    pub fn is_served(&self) -> bool {
        self.served.load(Relaxed) == 1
    }

    /// The transaction of a turn.
    fn transaction(&self, turn: u32) -> &Transaction<H::Platform> {
        &self.transactions[turn as usize % 2]
    }

    /// A handle of the running transaction, if it has room. Under the read lock.
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

    /// Reserves what a handle may change; whether there was room.
    fn reserve(&self, transaction: &Transaction<H::Platform>, blocks: u32) -> bool {
        let before = transaction.credits.fetch_add(blocks, Relaxed);
        // One handle always fits, or nobody would get on.
        let fits = before == 0 || before.saturating_add(blocks) <= self.config.capacity;
        if !fits {
            transaction.credits.fetch_sub(blocks, Relaxed);
        }
        fits
    }

    /// Begins the transaction of this turn, unless somebody did: of all who found none, the first.
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

    /// Whether who serves knows that the transaction of this turn shall be committed.
    fn is_asked(&self, turn: u32) -> bool {
        end_of(turn).wrapping_sub(self.asked.load(Relaxed) & !STOP).cast_signed() <= 0
    }

    /// Has the transaction of this turn committed, or does it.
    #[cold]
    fn ask_for_commit(&self, turn: u32) {
        if !self.is_served() {
            return self.commit(turn);
        }
        // Only askers write it, but for STOP: what we see does not change.
        let _askers = self.state.write();
        if self.is_asked(turn) {
            return;
        }
        let more = end_of(turn).wrapping_sub(self.asked.load(Relaxed) & !STOP);
        // ORDERING journal.asked: pairs with the load in `serve`.
        self.asked.fetch_add(more, Release);
        H::Platform::wake(&self.asked, Lane::Waiters, 1);
    }

    /// Commits the transaction of this turn, unless somebody did.
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

    /// The locked transaction is no longer the one of this turn; there is none until somebody wants a handle.
    fn retire(&self) {
        let mut state = self.state.write();
        *state = Phase::None;
        self.turns.fetch_add(1, Relaxed);
        H::Platform::wake(&self.turns, Lane::Readers, u32::MAX);
    }
}

/// A part of the running transaction; it stops when it is dropped.
#[must_use = "a handle that is dropped at once contains no change"]
pub struct Handle<'a, H: Host, L: LockSet<H::Platform>> {
    journal: &'a Journal<H, L>,
    transaction: &'a Transaction<H::Platform>,
    turn: u32,
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

/// A list of files, which are added and removed in constant time.
#[derive(Default)]
struct Orphans {
    slots: Vec<Slot>,
    /// The first of the slots that are free.
    free: Option<u32>,
    first: Option<u32>,
}

#[derive(Clone, Copy)]
struct Slot {
    inode: u64,
    previous: Option<u32>,
    /// In the list, or among those that are free.
    next: Option<u32>,
}

impl Orphans {
    fn add(&mut self, inode: u64) -> u32 {
        let slot = Slot { inode, previous: None, next: self.first };
        let at = match self.free {
            Some(at) => {
                self.free = self.slots[at as usize].next;
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        if let Some(next) = slot.next {
            self.slots[next as usize].previous = Some(at);
        }
        self.first = Some(at);
        at
    }

    fn remove(&mut self, at: u32) {
        let Slot { previous, next, .. } = self.slots[at as usize];
        match previous {
            Some(previous) => self.slots[previous as usize].next = next,
            None => self.first = next,
        }
        if let Some(next) = next {
            self.slots[next as usize].previous = previous;
        }
        self.slots[at as usize].next = self.free;
        self.free = Some(at);
    }

    fn all(&self) -> Vec<u64> {
        let slot = |at: u32| &self.slots[at as usize];
        std::iter::successors(self.first, |&at| slot(at).next).map(|at| slot(at).inode).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Metal;
    use crate::locks::{Linux37, Today};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Threads change things; a handle that sees two transactions, or a count that is off, is a bug.
    fn storm<L: LockSet<turnwise::platform::Native>>(config: Config, served: bool) -> u32 {
        const THREADS: u32 = 4;
        const ROUNDS: u32 = 500;
        let journal = Journal::<Metal, L>::new(config);
        let left = AtomicU32::new(THREADS);
        std::thread::scope(|scope| {
            if served {
                scope.spawn(|| journal.serve());
                while !journal.is_served() {
                    std::thread::yield_now();
                }
            }
            for thread in 0..THREADS {
                let (journal, left) = (&journal, &left);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let handle = journal.start(Change::Write);
                        let turn = journal.commits();
                        std::hint::black_box(round);
                        assert_eq!((journal.commits(), handle.turn), (turn, turn), "a handle in two transactions");
                        drop(handle);
                        journal.truncate(thread.into(), || assert!(journal.orphans().contains(&thread.into())));
                    }
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 && served {
                        journal.dismiss();
                    }
                });
            }
        });
        assert!(journal.orphans().is_empty());
        for transaction in &journal.transactions {
            assert_eq!(transaction.updates.load(Relaxed) & !DRAINING, 0, "an open handle");
        }
        journal.commits()
    }

    #[test]
    fn a_transaction_is_committed_after_so_many_handles() {
        let config = Config { handles_per_commit: 100, commit_ns: 0, ..Config::default() };
        for commits in [storm::<Linux37>(config, false), storm::<Today>(config, false), storm::<Today>(config, true)] {
            // 4000 handles; others may start between the one that ends a transaction and its commit.
            assert!((1..=40).contains(&commits), "{commits}");
        }
        let two = Config { truncate_handles: 2, ..config };
        assert!((1..=60).contains(&storm::<Today>(two, false)), "6000 handles");
    }

    #[test]
    fn a_full_transaction_is_committed_for_who_finds_it_full() {
        let reserve = Credits::all(8);
        let config = Config { reserve, keep: 1, ..Config::of_mib(4) };
        // Each of 4000 handles leaves a block in it.
        assert!(storm::<Linux37>(config, false) >= 4000 / 256);
        assert!(storm::<Today>(config, true) >= 4000 / 256);
        let tiny = Config { capacity: 1, ..config };
        assert!(storm::<Today>(tiny, false) > 0, "one handle fits into any transaction");
    }

    #[test]
    fn orphans_leave_in_any_order() {
        let mut orphans = Orphans::default();
        let [a, b, c] = [1, 2, 3].map(|inode| orphans.add(inode));
        orphans.remove(b);
        assert_eq!(orphans.all(), [3, 1]);
        let again = orphans.add(4);
        assert_eq!((again, orphans.all()), (b, vec![4, 3, 1]), "slots are used again");
        [c, again, a].into_iter().for_each(|at| orphans.remove(at));
        assert!(orphans.all().is_empty());
    }

    #[test]
    fn a_quarter_of_the_journal_is_a_transaction() {
        assert_eq!(Config::of_mib(4).capacity, 256);
    }
}
