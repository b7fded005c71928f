//! The contents of a snapshot.

use super::rules::Rule;
use crate::layout::BUCKETS;
use crate::{Kind, numbered};
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;

/// The totals of a process's contended locks, and its waiters, at one moment. Counts increase from one snapshot of a
/// process to the next; a count may be a little lower if [`Snapshot::is_exact`] is not set.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The process.
    pub pid: u32,
    /// When it began, from its `/proc/PID/stat`: process numbers are reused.
    pub start: u64,
    /// The program's name, without its folder.
    pub name: String,
    /// Whether the process runs, and this is its file. Otherwise this is its last state.
    pub alive: bool,
    /// When the snapshot was made, by `CLOCK_MONOTONIC`; so are all times.
    pub taken_ns: u64,
    /// The locks that threads waited for; the one with most wait time first.
    pub locks: Vec<Arc<Lock>>,
    /// The threads that ever waited, or that others wait for, and that still run, by number.
    pub threads: Vec<Thread>,
    /// The data that found no room.
    pub lost: Lost,
    /// Whether no count moved during the reading: then none is missing.
    pub is_exact: bool,
    /// The settings for its locks.
    pub rules: Vec<Rule>,
    /// The modules that it has unloaded.
    pub unloads: Unloads,
}

/// The modules that a process has unloaded. Addresses of locks and call sites where one module replaced another include
/// the number of those unloaded before ([`crate::numbered`]).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Unloads {
    /// The number of times that modules were unloaded.
    pub count: u64,
    /// Those of one place are in the order of their loading.
    pub modules: Vec<Unloaded>,
    /// The range in which the module of an address is uncertain: not all unloads are known.
    pub unsure: Range<u64>,
}

/// A module that was unloaded, or was loaded when the process ended. It may have been loaded again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unloaded {
    /// Its addresses.
    pub range: Range<u64>,
    /// The difference between an address and the one in the file.
    pub base: u64,
    /// The path that the loader had for it.
    pub path: PathBuf,
    /// Its build id; empty: it has none.
    pub build_id: Vec<u8>,
    /// [`Unloads::count`] when it was last unloaded; [`crate::layout::STILL_LOADED`]: it was not, as far as the
    /// program's waits show.
    pub at: u64,
}

impl Unloads {
    /// Returns the address with the number of its module after `count` unloads.
    #[must_use]
    pub fn numbered(&self, address: u64, count: u64) -> u64 {
        let is_before = |module: &&Unloaded| module.range.contains(&address) && module.at <= count;
        numbered(address, self.modules.iter().filter(is_before).count() as u64)
    }
}

/// The totals of waits: for a lock, at one of its call sites, or for several locks together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Waits that have ended.
    pub waits: u64,
    /// The total length of these.
    pub wait_ns: u64,
    /// The length of the longest.
    pub longest_ns: u64,
    /// The number of sleeps.
    pub sleeps: u64,
    /// Acquisitions past threads that slept.
    pub steals: u64,
    /// Acquisitions by a hand-off.
    pub handoffs: u64,
    /// Waits that ended without the lock, at their deadline.
    pub gave_up: u64,
    /// Their lengths: bucket `n` has waits of `2^n` ns and more, below `2^(n+1)`; the first also has shorter ones, the
    /// last also longer ones.
    pub histogram: [u64; BUCKETS],
}

impl Totals {
    /// Adds others, without overflow, whatever a damaged file contains.
    pub fn add(&mut self, more: &Totals) {
        self.longest_ns = self.longest_ns.max(more.longest_ns);
        self.combine(more, u64::saturating_add);
    }

    /// Returns the change since an earlier look, with the longest wait of all. A look may miss counts that moved
    /// meanwhile, so counts may decrease: that is no change.
    #[must_use]
    pub fn since(mut self, earlier: &Totals) -> Totals {
        self.combine(earlier, u64::saturating_sub);
        self
    }

    fn combine(&mut self, other: &Totals, combine: fn(u64, u64) -> u64) {
        let Totals { waits, wait_ns, longest_ns: _, sleeps, steals, handoffs, gave_up, histogram } = self;
        let counts = [waits, wait_ns, sleeps, steals, handoffs, gave_up].into_iter().chain(histogram);
        let others = [other.waits, other.wait_ns, other.sleeps, other.steals, other.handoffs, other.gave_up];
        for (count, other) in counts.zip(others.into_iter().chain(other.histogram)) {
            *count = combine(*count, other);
        }
    }
}

/// A lock that threads waited for in one way. A readers-writer lock with waiting readers and writers counts as two.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its address; in a module that was loaded in the place of others, with their number ([`crate::unnumbered`]).
    pub address: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// The waits for it. They can be read like its own fields.
    pub totals: Totals,
    /// The number of the policy file's rule for it ([`super::Target::FileRule`]); `None`: it has none.
    pub rule: Option<u32>,
    /// When a thread's last wait for it ended, if no thread has begun another since; `None`: unknown.
    pub last_ns: Option<u64>,
    /// The call site with the longest wait; 0: unknown. It is the address to which the call returns.
    pub site: u64,
    /// All of its call sites; the one with most wait time first.
    pub sites: Vec<Site>,
}

impl Deref for Lock {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

/// The totals of the waits for a lock at one call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The address to which the call returns; 0: unknown.
    pub address: u64,
    /// Waits that have ended.
    pub waits: u64,
    /// The total length of these.
    pub wait_ns: u64,
    /// The length of the longest.
    pub longest_ns: u64,
}

/// All totals of the waits for a lock in one way at one call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteSum {
    /// The lock's address.
    pub lock: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// The address to which the call returns; 0: unknown.
    pub address: u64,
    /// The waits.
    pub totals: Totals,
    /// The number of the policy file's rule for the lock; `None`: it has none.
    pub rule: Option<u32>,
}

/// A thread that has waited for a lock, or holds one that others wait for.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its name; empty if the process has ended.
    pub name: String,
    /// Its current wait.
    pub waiting: Option<Waiting>,
}

/// A wait that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The lock's address.
    pub lock: u64,
    /// The way of waiting.
    pub kind: Kind,
    /// When the wait began.
    pub since_ns: u64,
    /// The thread that holds the lock, as far as known. Readers are unknown.
    pub owner: Option<u32>,
    /// The time since which the owner holds the lock, if it waited for it.
    pub owner_since_ns: Option<u64>,
    /// The call site; 0: unknown.
    pub site: u64,
}

/// The counts of data that found no room, or are unknown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lost {
    /// Threads without a place: none of their waits are counted.
    pub threads: u64,
    /// Waits whose lock found no room.
    pub waits: u64,
    /// Waits in signal handlers that interrupted another wait.
    pub nested: u64,
}
