//! What a snapshot says.

use super::rules::Rule;
use crate::layout::{BUCKETS, EVENTS};
use crate::{Kind, numbered};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What the contended locks of a process had come to, and who waited, at one moment. Counts go up from one snapshot of
/// a process to the next; a count may be a little lower if [`Snapshot::is_exact`] is not set.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The process.
    pub pid: u32,
    /// When it began, as its `/proc/PID/stat` says it: process numbers come again.
    pub start: u64,
    /// The program's name, without its folder.
    pub name: String,
    /// Whether the process runs, and this is its file. Otherwise this is its last state.
    pub alive: bool,
    /// When the snapshot was made, by `CLOCK_MONOTONIC`; so are all times.
    pub taken_ns: u64,
    /// The locks that threads waited for; the one with most wait time first.
    pub locks: Vec<Arc<Lock>>,
    /// The threads that ever waited, or that others wait for, and still run, by their numbers.
    pub threads: Vec<Thread>,
    /// What found no room.
    pub lost: Lost,
    /// Whether no count changed place while it was read: then none is missing.
    pub is_exact: bool,
    /// What is set for its locks.
    pub rules: Vec<Rule>,
    /// Which modules it has unloaded.
    pub unloads: Unloads,
}

/// Which modules a process has unloaded. Addresses of locks and call sites in a place where a module came after another
/// have the number of those that had gone before ([`crate::numbered`]).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Unloads {
    /// How often modules were unloaded.
    pub count: u64,
    /// Those of one place are in the order in which they lay there.
    pub modules: Vec<Unloaded>,
    /// No module of an address in there is sure: not all unloads are known.
    pub unsure: Range<u64>,
}

/// A module that was unloaded, or was there when the process ended. It may have come back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unloaded {
    /// Where it lay.
    pub range: Range<u64>,
    /// What to subtract for an address in the file.
    pub base: u64,
    /// The path by which the loader knew it.
    pub path: PathBuf,
    /// Its build id; empty: it has none.
    pub build_id: Vec<u8>,
    /// [`Unloads::count`] when it was unloaded, the last time.
    pub at: u64,
}

impl Unloads {
    /// An address as it was meant when there had been so many unloads.
    #[must_use]
    pub fn numbered(&self, address: u64, count: u64) -> u64 {
        let is_before = |module: &&Unloaded| module.range.contains(&address) && module.at <= count;
        numbered(address, self.modules.iter().filter(is_before).count() as u64)
    }
}

/// What the waits for a lock in one way come to. A readers-writer lock that is waited for to read and to write is two.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Where it lies.
    pub address: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// Waits that have ended.
    pub waits: u64,
    /// Length of these together.
    pub wait_ns: u64,
    /// Their lengths: bucket `n` has waits of `2^n` ns and more, below `2^(n+1)`; the first has shorter ones, too, the
    /// last longer ones.
    pub histogram: [u64; BUCKETS],
    /// Length of the longest.
    pub longest_ns: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// Acquisitions past threads that slept.
    pub steals: u64,
    /// Acquisitions by a promised turn.
    pub handoffs: u64,
    /// Waits that ended without the lock, at their deadline.
    pub gave_up: u64,
    /// The number of the policy file's rule for it ([`super::Target::FileRule`]); `None`: it has none.
    pub rule: Option<u32>,
    /// When the last wait of a thread for it ended, where no thread has begun another one since; `None`: not known.
    pub last_ns: Option<u64>,
    /// The call site with the longest wait; 0: unknown. It is the address to which the call returns.
    pub site: u64,
    /// All of its call sites; the one with most wait time first.
    pub sites: Vec<Site>,
}

/// What the waits for a lock at one call site come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The address to which the call returns; 0: unknown.
    pub address: u64,
    /// Waits that have ended.
    pub waits: u64,
    /// Length of these together.
    pub wait_ns: u64,
    /// Length of the longest.
    pub longest_ns: u64,
}

/// All that the waits for a lock in one way at one call site come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteSum {
    /// Where the lock lies.
    pub lock: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// The address to which the call returns; 0: unknown.
    pub address: u64,
    /// Length of the waits that have ended, together.
    pub wait_ns: u64,
    /// Length of the longest.
    pub longest_ns: u64,
    /// Sleeps, acquisitions past threads that slept, acquisitions by a promised turn.
    pub events: [u64; EVENTS],
    /// Waits that ended without the lock.
    pub gave_up: u64,
    /// The number of the policy file's rule for the lock; `None`: it has none.
    pub rule: Option<u32>,
    /// The lengths of the waits, as in [`Lock::histogram`].
    pub histogram: [u64; BUCKETS],
}

/// A thread that has waited for a lock, or has one that others wait for.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name; empty if the process is gone.
    pub name: String,
    /// What it waits for now.
    pub waiting: Option<Waiting>,
}

/// A wait that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Where the lock lies.
    pub lock: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// When the wait began.
    pub since_ns: u64,
    /// The thread that has the lock, as far as is known. Of readers none is known.
    pub owner: Option<u32>,
    /// Since when the owner has the lock, if it waited for it.
    pub owner_since_ns: Option<u64>,
    /// The call site; 0: unknown.
    pub site: u64,
}

/// What found no room, or is not known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lost {
    /// Threads without a place: none of their waits are counted.
    pub threads: u64,
    /// Waits whose lock found no room.
    pub waits: u64,
    /// Waits in signal handlers that interrupted another wait.
    pub nested: u64,
}
