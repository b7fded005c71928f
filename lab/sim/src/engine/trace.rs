//! The events of a run.

use crate::spec::Ps;

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// When it happened, in picoseconds.
    pub ps: Ps,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// The thread that it happened to.
    pub thread: u32,
    /// What happened.
    pub what: Happened,
}

/// Kinds of things that happen. Locks are numbers of [`super::Outcome::locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// The thread got the CPU.
    Runs,
    /// The thread lost its CPU to another, which is ready.
    Preempted,
    /// The thread gave its CPU to another.
    Yields,
    /// The thread sleeps.
    Sleeps,
    /// The thread was made ready.
    Woken {
        /// The thread that woke it; `None`: its alarm did.
        by: Option<u32>,
    },
    /// The thread has ended.
    Ends,
    /// The thread requests a lock.
    Asks {
        /// The lock's number.
        lock: u32,
    },
    /// The thread has the lock.
    Acquires {
        /// The lock's number.
        lock: u32,
        /// Whether the thread has it alone.
        exclusive: bool,
    },
    /// The thread has released the lock.
    Releases {
        /// The lock's number.
        lock: u32,
    },
    /// The CPU gets a line, which it requested some time ago.
    Transfer {
        /// The line's number.
        line: u32,
        /// Whether it comes from another node.
        remote: bool,
    },
}
